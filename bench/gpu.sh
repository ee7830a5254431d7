#!/usr/bin/env bash
# Everything a machine with a GPU has to tell about ablate, in one call of under 10 minutes: is it right, and how fast is it beside PyTorch.
#
# usage: bench/gpu.sh PACK [LENGTHS] [--quick] [--only REGEX]
#   PACK     the folder or archive that bench/pack.sh made
#   LENGTHS  folder with multi30k-8k.txt, wmt-like-25k.txt, newstest2014.txt (the pack's)
#   --quick  shorter timings, fewer rivals: about 3 minutes
#   --only   just the parts whose names match
# Results: $OUT (./gpu-results): results.json has everything, raw output too, and the table last; log.txt what every part printed.
#   LIMIT    seconds in all (570); parts that do not fit are left out, and the table says so
#   PYTHON   an interpreter with PyTorch for CUDA (python3)
# Each part has its own time limit; one that fails does not end the others. The GPU's settings are left as they are.
set -u
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
quick= only=. arguments=()
while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=1 ;;
    --only) only=$2 && shift ;;
    *) arguments+=("$1") ;;
    esac
    shift
done
[ ${#arguments[@]} -ge 1 ] || { sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2; }
work=$(mktemp -d)
pids=()
sampler=
trap 'kill "${pids[@]}" $sampler 2>/dev/null; rm -rf "$work"' EXIT
pack=${arguments[0]}
if [ -f "$pack" ]; then
    tar -C "$work" -xf "$pack" 2>/dev/null || "${PYTHON:-python3}" -m tarfile -e "$pack" "$work" || exit 1 # without xz
    pack=$work/ablate-gpu
fi
pack=$(cd -- "$pack" && pwd) || exit 1
lengths=${arguments[1]:-$pack/lengths}
[ -x "$pack/ablate" ] && [ -f "$lengths/wmt-like-25k.txt" ] || { echo "gpu.sh: no ablate in $pack, or no lengths in $lengths" >&2; exit 1; }
lengths=$(cd -- "$lengths" && pwd)
out=${OUT:-./gpu-results}
mkdir -p "$out" && out=$(cd -- "$out" && pwd)
python=${PYTHON:-python3} limit=${LIMIT:-570}
[ -n "${VIRTUAL_ENV:-}" ] || VIRTUAL_ENV=$("$python" -c 'import sys; print(sys.prefix)') # where ablate looks for PyTorch's cuBLASLt
export VIRTUAL_ENV
ablate=$pack/ablate with=$pack/with small=$lengths/multi30k-8k.txt wmt=$lengths/wmt-like-25k.txt news=$lengths/newstest2014.txt long=$lengths/long-25k.txt
export PATH=$PATH:/usr/local/cuda/bin PYTHONUNBUFFERED=1 TORCHINDUCTOR_CACHE_DIR=$work/inductor TRITON_CACHE_DIR=$work/triton PYTHONDONTWRITEBYTECODE=1
: >"$out/log.txt"
: >"$work/parts.tsv"
number=0

# run NUMBER LIMIT NAME COMMAND...: output to $work/NUMBER.out and .err, a line to parts.tsv, all of it to the log.
run() {
    local n=$1 most=$2 name=$3 left=$((limit - SECONDS)) rc=0 began=$EPOCHREALTIME
    shift 3
    : >"$work/$n.out"
    : >"$work/$n.err"
    ((left < most)) && most=$left
    if ((most < 4)); then
        rc=skipped
    else
        timeout -k 5 "$most" "$@" >"$work/$n.out" 2>"$work/$n.err" </dev/null || rc=$?
    fi
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$n" "$rc" "$began" "$EPOCHREALTIME" "$most" "$name" >>"$work/parts.tsv"
    {
        printf '\n==== %s (rc %s)\n$ %s\n' "$name" "$rc" "$*"
        tail -c 20000 "$work/$n.out"
        tail -c 8000 "$work/$n.err"
    } >"$work/$n.log"
    cat "$work/$n.log" >>"$out/log.txt"
    printf '%4ds  %-9s %s\n' "$SECONDS" "rc $rc" "$name"
}
# part LIMIT NAME COMMAND...; `beside` is the same in the background, until `join`.
part() {
    [[ $2 =~ $only ]] || return 0
    number=$((number + 1))
    run "$number" "$@"
}
beside() {
    [[ $2 =~ $only ]] || return 0
    number=$((number + 1))
    run "$number" "$@" &
    pids+=($!)
}
join() {
    [ ${#pids[@]} = 0 ] || wait "${pids[@]}"
    pids=()
}

# ---- the machine ------------------------------------------------------------------------------------------------------
part 20 "facts" bash -c 'nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.max.sm,clocks.mem,power.limit,temperature.gpu --format=csv
    nvidia-smi | tail -15; nvcc --version | tail -2; uname -a; nproc; cat "$0/version.txt"' "$pack"
part 20 "devices" "$ablate" devices
nvidia-smi --query-gpu=timestamp,memory.used --format=csv,noheader,nounits -l 1 >"$work/memory.csv" 2>/dev/null &
sampler=$!

# ---- is it right? Nothing here is timed, so that all may run at once ------------------------------------------------------
torch_modes() { # CONFIG -> modes of the rival, the promising ones first
    local all
    case $1 in
    small) all=bf16-compilegraph-packed,bf16-graph-packed,bf16-compile-padded,bf16-eager-packed,autocast-compilegraph-packed,bf16-eager-padded ;;
    base) all=bf16-compilegraph-packed,bf16-eager-packed,bf16-compile-padded,autocast-compilegraph-packed,bf16-eager-padded ;;
    big) all=bf16-compilegraph-packed,bf16-eager-packed,bf16-eager-padded ;;
    esac
    [ -n "$quick" ] && all=$(cut -d, -f1,2 <<<"$all")
    echo "$all"
}
fp32_modes=fp32-compile-scattered,fp32-eager-scattered
compiled() { tr , '\n' <<<"$1" | grep compile | sed 's/compilegraph/compile/' | sort -u | paste -sd,; }
configs="small base big"
[ -n "$quick" ] && configs="small base"
file_of() { [ "$1" = small ] && echo "$small" || echo "$wmt"; }
cd "$pack/bin" || exit 1 # the tests look for plugins/ here
export OMP_NUM_THREADS=2 # many at once
for test in gpu_test_*; do
    beside 100 "test ${test#gpu_test_}" "$with" "./$test"
done
beside 60 "test rows, other numbers" env ABLATE_TEST_SEED=$RANDOM "$with" ./gpu_test_rows
beside 60 "test attend, other numbers" env ABLATE_TEST_SEED=$RANDOM "$with" ./gpu_test_attend
for tool in memcheck racecheck; do
    for test in rows attend; do
        beside 100 "sanitizer $tool $test" compute-sanitizer --tool $tool --target-processes all --error-exitcode 9 "$with" "./gpu_test_$test"
    done
done
beside 60 "torch check" "$python" "$here/train_gpu.py" --check
for config in $configs; do # fills the compiler's cache for the timings
    beside 150 "torch compiles $config" "$python" "$here/train_gpu.py" --lengths "$(file_of $config)" --config $config \
        --modes "$(compiled "$(torch_modes $config)")" --warm-only
done
join
unset OMP_NUM_THREADS

# ---- how fast? One after another --------------------------------------------------------------------------------------------
seconds=3
[ -n "$quick" ] && seconds=1.5
part 40 "ceilings" "$python" "$here/ceilings_gpu.py"
train() { # LIMIT CONFIG PRECISION GRAPH WAIT
    local name="train $2 $3 $([ "$4" = 1 ] && echo graph || echo stream)"
    [ "$5" = each ] && name+=" waiting"
    part "$1" "$name" env ABLATE_GRAPH="$4" "$ablate" bench train --lengths "$(file_of "$2")" --config "$2" --precision "$3" --device cuda \
        --seconds $seconds --wait "$5"
}
for config in $configs; do
    train 40 $config bf16 1 pass
    train 40 $config bf16 0 pass
done
train 30 small bf16 1 each
part 60 "torch small" "$python" "$here/train_gpu.py" --lengths "$small" --config small --modes "$(torch_modes small)" --seconds $seconds
part 75 "torch base" "$python" "$here/train_gpu.py" --lengths "$wmt" --config base --modes "$(torch_modes base)" --seconds $seconds
for role in encoder decoder cross; do
    part 20 "attention $role" "$ablate" bench attention --lengths "$wmt" --role $role --heads 8 --d-k 64 --device cuda --seconds 1
done
part 60 "torch attention" "$python" "$here/attention_gpu.py" --lengths "$wmt" --seconds 0.3
for role in encoder decoder cross; do # sentences of 512 tokens: our kernels and cuDNN
    for how in own cudnn; do
        part 20 "attention long $role $how" env ABLATE_ATTENTION=$how "$ablate" bench attention --lengths "$long" --role $role --heads 8 \
            --d-k 64 --device cuda --seconds 0.5
    done
done
part 60 "torch attention long" "$python" "$here/attention_gpu.py" --lengths "$long" --seconds 0.3
for batch in 256 512; do
    part 40 "decode base bf16 $batch" "$ablate" bench decode --config base --lengths "$news" --beam 4 --batch $batch --device cuda --seconds $seconds
done
part 60 "torch decode" "$python" "$here/decode_gpu.py" --config base --lengths "$news" --beam 4 --batch 256 --seconds $seconds
# Runs of the small model at once, each its own process; all measure over the same seconds.
together='at=$(date +%s.%N -d "+$((5 + $1)) seconds"); for i in $(seq $1); do "$2" bench train --lengths "$3" --config small --device cuda \
    --seconds "$4" --start-at "$at" & pids+=($!); done; for p in "${pids[@]}"; do wait $p || bad=1; done; exit ${bad:-0}'
counts="1 2 4 8"
[ -n "$quick" ] && counts="1 4"
for n in $counts; do
    part 40 "together $n" bash -c "$together" _ $n "$ablate" "$small" 4
done
for config in $configs; do
    [ -z "$quick" ] && train 40 $config fp32 1 pass
done
[ -z "$quick" ] && part 70 "torch big" "$python" "$here/train_gpu.py" --lengths "$wmt" --config big --modes "$(torch_modes big)" --seconds $seconds
[ -z "$quick" ] && part 40 "torch small fp32" "$python" "$here/train_gpu.py" --lengths "$small" --config small --modes $fp32_modes --seconds $seconds
[ -z "$quick" ] && part 60 "torch base fp32" "$python" "$here/train_gpu.py" --lengths "$wmt" --config base --modes fp32-eager-scattered --seconds $seconds
kill "$sampler" 2>/dev/null && wait "$sampler" 2>/dev/null
sampler=

"$python" "$here/gpu_table.py" "$work" "$lengths" "$out/results.json" | tee "$out/table.txt"
