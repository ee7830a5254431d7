#!/usr/bin/env bash
# usage: mutate.sh BUILD [PATTERN]   - tests the kernels' tests: deletes the CUDA backend's barriers, fences and waits
# one by one, and runs the tests of the changed kernels under the race detector (races.cc). If none fails, the barrier
# is not needed or a test is missing. PATTERN: only places (FILE:LINE) that match it. BUILD/mutants.txt keeps verdicts,
# so that an interrupted call can be resumed; a place is tested again if its line has changed. Ends with 1 and the
# places whose deletion no test finds.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd) build=$(cd "$1" && pwd) pattern=${2:-.}
kept=$build/mutants.txt work=$build/mutant
touch "$kept"
keys=()
ninja -C "$build" race_tests cuda_test_runtime >/dev/null || exit 2

# places: prints FILE:LINE of each barrier, fence and wait
places() {
    cd "$root" || exit 2
    grep -nHE '__syncthreads\(\)|__syncwarp\(\)|__threadfence\(\)' core/tensor/cuda/*.cu core/tensor/cuda/*.h
    grep -nHE 'cudaEventRecord\(|cudaStreamWaitEvent\(' core/tensor/cuda/runtime.cu
    grep -nHE 'gpu_side_join\(' core/tensor/cuda/nccl.c
    grep -nHE '^    act\(\{(RECORD|WAIT)' tests/shim/gpu_streams.cc
}
# of_file FILE: sets `units`, the files to compile again, and `tests`
of_file() {
    units=$1
    case $1 in
    */attend.cu | */attend_back.cu | */attend_tiles.cu) tests=attend ;;
    */attend_tile.h) units="attend.cu attend_back.cu" tests=attend ;;
    */attend_score.h) units="attend_score.cu attend_score_delta.cu" tests=score ;;
    */attend_score_step.cu) tests="score" ;;
    */attend_step.cu) tests="step" ;;
    */attend_wgmma.h) units= tests="wgmma" ;; # the test compiles this file when it runs
    */parts.h) units="norm.cu" tests=rows ;;
    */gpu.h) units="reduce.cu norm.cu optim.cu attend_score_step.cu" tests="generic rows optim score" ;;
    */norm.cu | */ce.cu) tests="rows" ;;
    */norm_product.cu) tests="norm_product" ;;
    */embedding_back.cu) tests="rows shape" ;;
    */gather.cu | */shape.cu) tests=shape ;;
    */services.cu) tests=training ;;
    */reduce.cu) tests="generic" ;;
    */optim.cu | */product.cu | */select.cu) tests=$(basename "$1" .cu) ;;
    */nccl.c | */gpu_streams.cc) tests="ranks" ;;
    */runtime.cu) tests="runtime" ;;
    *) echo "no tests are named for $1" >&2 && exit 2 ;;
    esac
}
# command TARGET: prints ninja's command for it
command_of() { ninja -C "$build" -t commands "$1" | tail -1; }
compile() { # UNIT: compiles an object into $work, with the changed files there
    local at object from
    at=$(basename "$1")
    case $at in
    *.cu)
        object=$(ninja -C "$build" -t targets all | sed -nE "s/^(.*ab_race_(short|long)_objects.*\/$at[.]o): .*/\1/p")
        from=core/tensor/cuda/$at
        ;;
    *) object=CMakeFiles/ab_shim_objects.dir/$1.o from=$1 ;;
    esac
    [ -f "$work/${from#core/}" ] && from=$work/${from#core/} || from=$root/$from
    (cd "$build" && eval "$(command_of "$object" | sed -E "s# -M[DTF]( [^ ]+\.o(\.d)?)?##g; s# -D# -I$work -D#; \
        s# -o [^ ]+ -c .*# -o $work/$at.o -c $from#")") >"$work/log" 2>&1
}

mutant() { # FILE LINE: deletes the line's barrier; sets `verdict`, and `by`, the test that failed
    local file=$1 line=$2 name unit objects= out rc words
    rm -rf "$work" && mkdir -p "$work/tensor/cuda" "$work/tests/shim"
    sed -E "$line{s/__sync(threads|warp)\(\)|__threadfence\(\)/(void)0/; s/cuda(EventRecord|StreamWaitEvent)\([^)]*\)/\
cudaSuccess/; s/gpu_side_join\([^)]*\)/0/; s/act\(\{.*\}\)/(void)0/}" "$root/$file" >"$work/${file#core/}"
    ! cmp -s "$root/$file" "$work/${file#core/}" || { echo "$file:$line was not changed" && exit 2; }
    of_file "$file"
    verdict="NOT FOUND" by=$tests
    if [ "$tests" = runtime ]; then
        (cd "$build" && eval "$(command_of CMakeFiles/cuda_test_runtime.dir/tests/cuda/test_runtime.cc.o |
            sed -E "s# -M[DTF]( [^ ]+\.o(\.d)?)?##g; s# -D# -I$work -D#; s# -o [^ ]+ # -o $work/run.o #")" &&
            c++ -o "$work/run" "$work/run.o") >"$work/log" 2>&1 || { verdict="DOES NOT COMPILE" && return; }
        timeout 300 "$work/run" >"$work/out" 2>&1 || verdict=runtime
        return
    fi
    for unit in $units; do
        compile "$unit" || { verdict="DOES NOT COMPILE" && return; }
        objects+=" $work/$(basename "$unit").o"
    done
    for name in $tests; do
        by=$name
        (cd "$build" && eval "$(command_of "races_test_$name" | sed "s# -o races_test_$name# -o $work/run$objects#")") \
            >"$work/log" 2>&1 || { verdict="DOES NOT LINK" && return; }
        out=$(cd "$build" && ABLATE_BROKEN_KERNELS=$work ABLATE_SCHEDULE=1 timeout 1200 "$work/run" 2>&1)
        rc=$?
        if grep -q '^RACE: ' <<<"$out"; then
            words=$(grep -m1 '^RACE: ' <<<"$out")
            verdict=detector by="$name, ${words#RACE: }"
            return
        fi
        [ $rc -eq 0 ] || [ $rc -eq 77 ] || { verdict="values" && return; }
    done
}

while IFS=: read -r file line text; do
    [[ $file:$line =~ $pattern ]] || continue
    key="$file:$line:$(cksum <<<"$text" | cut -d' ' -f1)"
    keys+=("$key")
    grep -qF "$key|" "$kept" && continue
    mutant "$file" "$line"
    echo "$key|$verdict|$by" | tee -a "$kept"
done < <(places)
rm -rf "$work"
found_by() { printf '%s|\n' "${keys[@]}" | grep -F -f - "$kept" | cut -d'|' -f2 | grep -c "^$1"; }
echo "${#keys[@]} places: $(found_by detector) found by the detector, $(found_by values) by values," \
    "$(found_by runtime) by cuda/test_runtime"
! printf '%s|\n' "${keys[@]}" | grep -F -f - "$kept" | grep '|[A-Z ]*|'
