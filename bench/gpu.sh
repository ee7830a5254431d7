#!/usr/bin/env bash
# Tests and measures ablate on a machine with a GPU, in calls of under 10 minutes each. None needs a network; only
# `rival` needs Python.
#
# usage: bench/gpu.sh first|rival|table3|again PACK [--only REGEX] [--seeds LIST]
#   PACK    the folder or archive that bench/pack.sh made
#   first   correctness and speed: the GPU tests (failed ones again with each fallback), `ablate check`, the sanitizers,
#           a row of Table 3 twice, training, decoding, cuBLASLt's algorithms, runs that share the GPU, Nsight Compute's
#           counters of one step
#   rival   PyTorch on the same work; ablate then uses cuBLASLt from PyTorch's packages
#   table3  Table 3 on Multi30k, all rows with --seeds (1..3): its JSON for experiments/recorded
#   again   after a repair: the tests, `ablate check`, the row of Table 3, training and decoding
#   --only  run the gate and only parts whose names match; with `again` any part of `first`
# Results: $OUT (./gpu-results), written as each part ends: parts.tsv, parts/N.out and .err, log.txt. At the end, if
# there is a Python: results.json and table.txt (or later elsewhere: bench/gpu_table.py OUT LENGTHS OUT/results.json).
# In the end at most eight files are left: report.txt, parts.tsv, log.txt, table.txt, results.json, the
# record of Table 3, and the others in rest.tar.gz.
#   LIMIT    seconds in total (530); parts that no longer fit are skipped and listed in the report
#   PYTHON   an interpreter; for rival with PyTorch for CUDA (python3, else any that has PyTorch)
#   SEARCH   folder in which NVIDIA's tools, libraries and PyTorch are searched if they are in no usual place (/)
#   BEFORE   results.json of an earlier call, for comparison in the table
#   WORKERS  simultaneous runs of Table 3 (4)
#   MINI     not empty: smallest sizes, to test this script on the emulated GPU (tests/cli/gpu_script.sh)
#   TABLE3   an INI to use instead of the pack's experiments/paper/table3-multi30k.ini
#   RECORD   a JSON whose base row is compared with the run's
# The gate comes first: if the device does not open or five training steps fail, only the fallbacks are tried (exit code
# 3). Exit code 1: a part failed. The script does not change the GPU's settings.
set -u
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
usage() { sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2; }
only='' seeds=1..3 arguments=()
while [ $# -gt 0 ]; do
    case $1 in
    --only | --seeds) [ $# -ge 2 ] || usage; printf -v "${1#--}" %s "$2" && shift ;;
    -*) usage ;;
    *) arguments+=("$1") ;;
    esac
    shift
done
[ ${#arguments[@]} = 2 ] || usage
what=${arguments[0]} pack=${arguments[1]}
[[ $what =~ ^(first|rival|table3|again)$ ]] || usage
work=$(mktemp -d)
pids=()
sampler=
out=
trap 'kill "${pids[@]}" $sampler 2>/dev/null; [ -z "$out" ] || few_files; rm -rf "$work"' EXIT
# Leaves few files in $out: all others go into an archive.
few_files() {
    local rest
    cd "$out" || return
    mapfile -t rest < <(find . -mindepth 1 -maxdepth 1 ! -name log.txt ! -name parts.tsv ! -name report.txt \
        ! -name table.txt ! -name '*.json' ! -name rest.tar.gz)
    tar -czf "$work/rest.tar.gz" "${rest[@]}" && cp "$work/rest.tar.gz" . && rm -rf "${rest[@]}"
    cd - >/dev/null || return
}
if [ -f "$pack" ]; then
    # for machines without xz
    tar -C "$work" -xf "$pack" 2>/dev/null || "${PYTHON:-python3}" -m tarfile -e "$pack" "$work" || exit 1
    pack=$work/ablate-gpu
fi
pack=$(cd -- "$pack" && pwd) || exit 1
lengths=$pack/lengths
[ -x "$pack/ablate" ] && [ -f "$lengths/wmt-like-25k.txt" ] || { echo "gpu.sh: no ablate or no lengths in $pack" >&2
exit 1; }
mkdir -p "${OUT:=./gpu-results}" && out=$(cd -- "$OUT" && pwd) || exit 1
rm -rf "$out/parts" "$out/rest.tar.gz"
mkdir "$out/parts" || exit 1
python=${PYTHON:-python3} limit=${LIMIT:-530} mini=${MINI:-} number=0
ablate=$pack/ablate measure=$pack/ablate-bench with=$pack/with
table3=${TABLE3:-$pack/experiments/paper/table3-multi30k.ini}
small=$lengths/multi30k-8k.txt wmt=$lengths/wmt-like-25k.txt news=$lengths/newstest2014.txt long=$lengths/long-25k.txt
export PATH=$PATH:/usr/local/cuda/bin PYTHONUNBUFFERED=1 TORCHINDUCTOR_CACHE_DIR=$work/inductor \
    TRITON_CACHE_DIR=$work/triton PYTHONDONTWRITEBYTECODE=1
export ABLATE_DATA=${ABLATE_DATA:-$pack/data}
: >"$out/log.txt"
: >"$out/parts.tsv"
cp "$pack/version.txt" "$out/" 2>/dev/null

# ---- parts -----------------------------------------------------------------------------------------------------------

# run NUMBER LIMIT NAME COMMAND...: writes output to parts/NUMBER.out and .err, a line to parts.tsv, and all of it to
# the log. Returns the exit code, 0 for a part that is left out.
run() {
    local n=$1 most=$2 name=$3 left=$((limit - SECONDS)) rc=0 began=$EPOCHREALTIME
    shift 3
    : >"$out/parts/$n.out"
    : >"$out/parts/$n.err"
    ((left < most)) && most=$left
    if ((most < 4)); then
        rc=skipped
    else
        timeout -k 5 "$most" "$@" >"$out/parts/$n.out" 2>"$out/parts/$n.err" </dev/null || rc=$?
    fi
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$n" "$rc" "$began" "$EPOCHREALTIME" "$most" "$name" >>"$out/parts.tsv"
    { # one write, since parts may end at the same time
        printf '\n==== %s (rc %s)\n$ %s\n' "$name" "$rc" "$*"
        tail -c 20000 "$out/parts/$n.out"
        tail -c 8000 "$out/parts/$n.err"
    } >"$work/$n.log"
    cat "$work/$n.log" >>"$out/log.txt"
    printf '%4ds  %-10s %s\n' "$SECONDS" "rc $rc" "$name"
    [ $rc = skipped ] || return $rc
}
# part LIMIT NAME COMMAND...: runs a part. `beside` does so in the background, until `join`.
wanted() { [ -z "$only" ] || [[ $1 =~ $only ]]; }
part() {
    wanted "$2" || return 0
    number=$((number + 1))
    run "$number" "$@"
}
beside() {
    wanted "$2" || return 0
    number=$((number + 1))
    run "$number" "$@" &
    pids+=($!)
}
join() {
    [ ${#pids[@]} = 0 ] || wait "${pids[@]}"
    pids=()
}

# Repeats the first few failed tests with each fallback, since a fallback that helps shows where the fault is, and then
# with memcheck.
reruns=4
fallbacks() { # LIMIT NAME COMMAND...
    local most=$1 name=$2 fallback
    shift 2
    ((reruns-- > 0)) || return 0
    for fallback in CUDA_LAUNCH_BLOCKING=1 ABLATE_PRODUCT=own ABLATE_CUDNN=none ABLATE_GRAPH=0; do
        part "$most" "$name, $fallback" env $fallback "$@"
    done
    part 100 "$name, memcheck" compute-sanitizer --tool memcheck --target-processes all --error-exitcode 9 "$@"
}
checked() { # LIMIT NAME COMMAND...
    local rc=0
    part "$@" || rc=$?
    case $rc in
    0 | 77) ;;                      # 77: the test skipped itself
    124) fallbacks 30 "${@:2}" ;;   # it hung until the time limit
    *) fallbacks "$@" ;;
    esac
    return $rc
}

size_of() { [ -n "$mini" ] && echo mini || echo "$1"; }
file_of() { [ "$1" = small ] && echo "$small" || echo "$wmt"; }
seconds=8 configs="small base big" most_batch=512
if [ -n "$mini" ]; then
    seconds=0.01 most_batch=8
    for file in "$small" "$wmt" "$news" "$long"; do # one batch of a few short sentences
        printf '3:4 5:6 2:2\n' >"$work/${file##*/}"
    done
    small=$work/${small##*/} wmt=$work/${wmt##*/} news=$work/${news##*/} long=$work/${long##*/}
fi
brief() { [ -n "$mini" ] && echo 0.01 || echo "$1"; } # SECONDS: time to measure, short if MINI is set
[ $what = again ] && seconds=$(brief 4)
train() { # CONFIG PRECISION GRAPH MORE_OF_THE_NAME ARGUMENTS...
    local how=stream
    [ "$3" = 1 ] && how=graph
    local name="train $1 $2 $how$4"
    part 50 "$name" env ABLATE_GRAPH="$3" "$measure" train --config "$(size_of "$1")" --precision "$2" --device \
        cuda --lengths "$(file_of "$1")" --seconds $seconds --wait pass "${@:5}"
}

# ---- the machine, and the gate ---------------------------------------------------------------------------------------

sample() { # records clocks, power and memory every second; the table shows them for each part
    nvidia-smi --query-gpu=timestamp,memory.used,clocks.sm,power.draw,temperature.gpu,clocks_throttle_reasons.active \
        --format=csv,noheader,nounits -l 1 >"$out/samples.csv" 2>/dev/null &
    sampler=$!
}
# Searches the whole file system once, when a file that is in no usual place is first needed.
everywhere() { # REGEX: prints the shortest matching path, or nothing
    local names=(-name nvcc -o -name ncu -o -name compute-sanitizer -o -name nvidia-smi -o -name nvidia-cuda-mps-control
        -o -name 'libcublasLt.so.1[23]*' -o -name 'libcudnn.so.9*' -o -path '*/torch/version.py')
    [ -e "$work/everywhere" ] || timeout 30 find "${SEARCH:-/}" \( -path /proc -o -path /sys -o -path /dev -o \
        -path "$work" -o -path "$pack" \) -prune -o \( -type f -o -type l \) \( "${names[@]}" \) -print \
        2>/dev/null >"$work/everywhere"
    grep -E -- "$1" "$work/everywhere" | awk '{print length, $0}' | sort -n | head -n 1 | cut -d' ' -f2-
}
say() { echo "$*" | tee -a "$out/log.txt"; }
find_tools() {
    local tool file
    for tool in nvidia-smi nvcc compute-sanitizer ncu nvidia-cuda-mps-control; do
        command -v $tool >/dev/null && continue
        file=$(everywhere "/$tool\$")
        [ -n "$file" ] && [ -x "$file" ] && PATH=$PATH:${file%/*}
        say "$tool: ${file:-nowhere}"
    done
    file=$(command -v nvcc) && [ -z "${CUDA_HOME:-}" ] && export CUDA_HOME=${file%/bin/nvcc}
}
has_torch() { "$1" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' 2>/dev/null; }
# Finds an interpreter with PyTorch, whose environment also has NVIDIA's libraries for ablate.
find_torch() {
    local file root each
    [ -z "${PYTHON:-}" ] && ! has_torch "$python" && [ -z "${torch_sought:-}" ] || return 0
    torch_sought=1
    file=$(everywhere '/python3[^/]*/(site|dist)-packages/torch/version.py$')
    root=${file%/lib*/python3*}
    for each in "$root/bin/python3" "$root/bin/python"; do
        [ -n "$file" ] && has_torch "$each" || continue
        python=$each
        [ -n "${VIRTUAL_ENV:-}" ] || export VIRTUAL_ENV=$root
        say "PyTorch: $python" && return
    done
    say "PyTorch: ${file:-nowhere}"
}
# Finds cuBLASLt and other libraries. Without cuBLASLt our own kernels can still be tested.
find_libraries() {
    local file name
    [ -z "${ABLATE_CUBLASLT:-}${ABLATE_PRODUCT:-}" ] || return 0
    missing() { "$ablate" list devices 2>&1 | grep -qi "$1.*was not found"; }
    missing cublasLt && find_torch
    for name in cublasLt cudnn; do
        missing $name || continue
        file=$(everywhere "/lib$name\.so[^/]*\$")
        [ -n "$file" ] && export "ABLATE_${name^^}=$file"
        [ -z "$file" ] && [ $name = cublasLt ] && export ABLATE_PRODUCT=own
        say "$name: ${file:-nowhere}"
    done
}
gate() {
    local keep=$only rc=0
    local steps=("$measure" train --config "$(size_of small)" --device cuda --lengths "$small" --steps 5 --warmup \
        1)
    only=
    find_tools
    part 30 "facts" bash -c \
        'nvidia-smi --format=csv --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.max.sm,clocks.mem,power.limit
        nvidia-smi | tail -15; nvcc --version | tail -2; uname -a; nproc; cat "$0/version.txt"; true' "$pack"
    sample
    find_libraries
    part 30 "devices" "$ablate" list devices
    if ! grep -q '^cuda:0 .*compute capability' "$out/parts/$number.out"; then
        echo "gpu.sh: no GPU can be opened, or there was no time to:" &&
            cat "$out/parts/$number.out" "$out/parts/$number.err"
        rc=3
    elif ! part 60 "gate: five steps of small" "${steps[@]}"; then
        fallbacks 60 "gate: five steps of small" "${steps[@]}"
        rc=3
    fi
    only=$keep
    [ $rc = 0 ] || { report; exit 3; }
}

# ---- correctness -----------------------------------------------------------------------------------------------------

tests() {
    local test
    cd "$pack/bin" || exit 1 # the tests expect the folder plugins/ here
    for test in gpu_test_*; do
        checked 100 "test ${test#gpu_test_}" "$with" "./$test"
    done
    for test in rows attend; do
        part 40 "test $test, other numbers" env ABLATE_TEST_SEED=$((RANDOM + 2)) "$with" "./gpu_test_$test"
    done
    cd - >/dev/null || exit 1
}
plugins() { # all plugins; on the emulated GPU one
    checked 120 "ablate check" "$ablate" check --device cuda ${mini:+position/learned}
}
# These sanitizers run at the same time, since nothing is timed.
sanitizers() {
    local tool test
    cd "$pack/bin" || exit 1
    for tool in racecheck synccheck; do
        for test in attend select generic rows optim; do
            beside 110 "sanitizer $tool $test" compute-sanitizer --tool $tool --target-processes all --error-exitcode \
                9 "$with" "./gpu_test_$test"
        done
    done
    cd - >/dev/null || exit 1
    join
}

# Trains Table 3's base row twice: compares the runs bit by bit, and dev perplexity with the CPU's record.
base_row() { # NAME DATABASE SEEDS WORKERS
    part 100 "$1" "$ablate" run "$table3" --only base --seeds "$3" --device cuda --workers "$4" --no-check --progress \
        plain --db "$2"
}
bits() {
    local a=$out/base-1.db b=$out/base-2.db c=$out/base-3.db
    if [ ! -f "$table3" ] || { [ -z "${TABLE3:-}" ] && [ ! -d "$ABLATE_DATA/multi30k" ]; }; then
        echo "      no row of Table 3: no $table3, or no Multi30k in $ABLATE_DATA" | tee -a "$out/log.txt"
        return
    fi
    rm -rf "$out"/base-*.db*
    base_row "table 3 base" "$a" 1 1 || return
    part 20 "table 3 base, dev PPL" bash "$here/gpu_compare.sh" ppl "$ablate" "$a" \
        "${RECORD:-$pack/experiments/recorded/table3-multi30k.json.gz}"
    if [ $what = first ]; then
        base_row "table 3 base, once more" "$b" 1 1
        part 20 "table 3 base, the same bits" bash "$here/gpu_compare.sh" models "$a" "$b"
        base_row "table 3 base, beside another run" "$c" 1,2 2 # with MPS, if it is installed
        part 20 "table 3 base, the same bits beside another run" bash "$here/gpu_compare.sh" models "$a" "$c"
    fi
    find "$out" -name '*.safetensors' -delete
}

# ---- speed: one after another ----------------------------------------------------------------------------------------

timings() {
    local config odd=37003 pairs=12000
    [ -n "$mini" ] && odd=61 pairs=6
    for config in $configs; do
        train $config bf16 1 ""
        [ $what = again ] && [ -z "$only" ] || train $config bf16 0 ""
    done
    train base bf16 1 ", odd vocabulary" --vocab $odd
    # fused gradients (BGRADA, DRELU) against plain products and our own kernels, since a fused algorithm may be slower
    for config in $configs; do ABLATE_PRODUCT=plain train $config bf16 1 ", plain products"; done
    # one batch of the smallest sentences: a graph is captured for that many sentences
    { cat "$wmt"; yes 2:2 | head -n $pairs | paste -sd' '; } >"$work/pairs.txt"
    wmt=$work/pairs.txt train base bf16 1 ", with a batch of pairs"
}
decode() { # MORE_OF_THE_NAME LENGTHS BATCH ARGUMENTS...
    part 60 "decode base$1" "$measure" decode --config "$(size_of base)" --lengths "$2" --beam-size 4 --batch \
        "$3" --device cuda "${@:4}"
}
decoding() {
    local batch
    head -n 40 "$news" >"$work/some.txt"
    for batch in 1 7 $most_batch; do # the bits of a sentence do not depend on its batch: "outputs" must be the same
        decode ", outputs at batch $batch" "$work/some.txt" $batch --steps 1
    done
    part 10 "decode base, the same outputs" bash "$here/gpu_compare.sh" outputs "$out/parts/$((number - 2)).out" \
        "$out/parts/$((number - 1)).out" "$out/parts/$number.out"
    for batch in 64 256 $most_batch; do
        decode " bf16 $batch" "$news" $batch --seconds $seconds
        # plain products, followed by separate norms of attention's results
        ABLATE_PRODUCT=plain decode " bf16 $batch, plain products" "$news" $batch --seconds $seconds
    done
}
attention() { # sentences of 512 tokens: our kernels, cuDNN, and the kernel that is off until it has been seen here
    local role how of # the GPU's compute capability
    of=$(sed -n 's/^cuda:0 .*, compute capability \([0-9.]*\),.*/\1/p' "$out"/parts/*.out | head -n 1)
    for role in encoder decoder cross; do
        part 25 "attention $role" "$measure" attention --lengths "$wmt" --role $role --heads 8 --d-k 64 --device \
            cuda --seconds "$(brief 1)"
        for how in own cudnn wgmma; do
            if [ $how = wgmma ] && [ "$of" != 9.0 ]; then
                part 25 "attention long $role $how" bash -c \
                    "echo 'this GPU has compute capability $of, and wgmma needs 9.0'; exit 77"
                continue
            fi
            part 25 "attention long $role $how" env ABLATE_ATTENTION=$how "$measure" attention --lengths "$long" \
                --role $role --heads 8 --d-k 64 --device cuda --seconds "$(brief 0.5)"
        done
    done
}
# Runs several processes with the small model at once; all measure the same seconds.
together_script='at=$(date +%s.%N -d "+$6 seconds"); for i in $(seq $1); do "$2" train --lengths "$3" --config "$5" --device cuda \
    --seconds "$4" --start-at "$at" & pids+=($!); done; for p in "${pids[@]}"; do wait $p || bad=1; done; exit ${bad:-0}'
# The same under MPS, whose daemon lets their kernels overlap.
mps_script='command -v nvidia-cuda-mps-control >/dev/null || { echo "nvidia-cuda-mps-control is not here"; exit 77; }
place=$(mktemp -d) && mkdir "$place/pipe" "$place/log" || exit 1
export CUDA_MPS_PIPE_DIRECTORY=$place/pipe CUDA_MPS_LOG_DIRECTORY=$place/log
(unset CUDA_VISIBLE_DEVICES && nvidia-cuda-mps-control -d) ||
    { cat "$place"/log/* 2>/dev/null; rm -rf "$place"; echo "no MPS daemon starts" >&2; exit 1; }
bash -c "$@" || rc=$?
echo quit -t 5 | nvidia-cuda-mps-control
[ -z "${rc-}" ] || tail -n 20 "$place"/log/* >&2
rm -rf "$place" && exit "${rc-0}"'
together() {
    local n early arguments
    for n in 1 4 8; do
        early=$((5 + n)) # seconds until all processes have started and measure
        [ -n "$mini" ] && early=1
        arguments=("$together_script" _ $n "$measure" "$small" "$(brief 4)" "$(size_of small)" $early)
        part 50 "together $n" bash -c "${arguments[@]}"
        [ $n = 1 ] || part 60 "together $n, MPS" bash -c "$mps_script" _ "${arguments[@]}"
    done
}
# Times the eight algorithms that cuBLASLt's heuristic ranks first, for every shape; choices-CONFIG.tsv lists them.
choices() {
    local config
    for config in $configs; do
        rm -f "$out/choices-$config.tsv"
        ABLATE_CUBLASLT_CHOICES=$out/choices-$config.tsv train $config bf16 1 ", algorithms chosen by time"
    done
}
# Measures a step's kernels, launched one after another: time, bytes, instructions, use of the tensor cores. Nsight
# Compute runs each kernel several times; it must not lock the clocks.
metrics=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,smsp__inst_executed.sum
metrics+=,sm__inst_executed_pipe_tensor.sum
metrics+=,sm__throughput.avg.pct_of_peak_sustained_elapsed,dram__throughput.avg.pct_of_peak_sustained_elapsed
metrics+=,sm__warps_active.avg.pct_of_peak_sustained_active,launch__registers_per_thread
metrics+=,launch__occupancy_limit_registers
counters() {
    local config
    for config in base small; do
        grep -v '^#' "$(file_of $config)" | head -n 1 >"$work/one-$config.txt"
        part 40 "time per operation, $config" env ABLATE_GRAPH=0 "$measure" train --config "$(size_of $config)" \
            --precision bf16 --device cuda --lengths "$(file_of $config)" --steps 6 --profile
        part 110 "ncu $config" env ABLATE_GRAPH=0 ncu --csv --page raw --target-processes all --clock-control none \
            --metrics $metrics --launch-count 1500 --log-file "$out/ncu-$config.csv" "$with" "$pack/bin/ablate-bench" \
            train --config "$(size_of $config)" --precision bf16 --device cuda --lengths \
            "$work/one-$config.txt" --steps 1 --warmup 0
    done
}

# ---- PyTorch ---------------------------------------------------------------------------------------------------------

torch_modes() { # CONFIG: prints the rival's modes, promising ones first
    case $1 in
    small)
        printf %s bf16-compilegraph-packed,bf16-graph-packed,bf16-compile-padded,bf16-eager-packed, \
            autocast-compilegraph-packed,bf16-eager-padded
        ;;
    base)
        printf %s bf16-compilegraph-packed,bf16-eager-packed,bf16-compile-padded, \
            autocast-compilegraph-packed,bf16-eager-padded
        ;;
    big) echo bf16-compilegraph-packed,bf16-eager-packed,bf16-eager-padded ;;
    esac
}
compiled() { tr , '\n' <<<"$1" | grep compile | sed 's/compilegraph/compile/' | sort -u | paste -sd,; }
torch() { # LIMIT NAME PROGRAM ARGUMENTS...: runs a PyTorch program; with the emulated GPU on the CPU
    part "$1" "$2" "$python" "$here/$3" "${@:4}" ${mini:+--device cpu}
}
torch_train() { # LIMIT NAME CONFIG MODES
    torch "$1" "$2" train_gpu.py --lengths "$(file_of "$3")" --config "$(size_of "$3")" --modes "$4" --seconds \
        "$(brief 3)"
}
torch_cublaslt() { # prints the path of the cuBLASLt that PyTorch itself loads
    ABLATE_CUBLASLT=${ABLATE_CUBLASLT:-$("$python" -c 'import torch
if torch.cuda.is_available(): torch.ones(16, 16, device="cuda") @ torch.ones(16, 16, device="cuda")
print(next((line.split()[-1] for line in open("/proc/self/maps") if "libcublasLt.so" in line), ""))' 2>>"$out/log.txt")}
    [ -n "$ABLATE_CUBLASLT" ] && export ABLATE_CUBLASLT
    echo "cuBLASLt: ${ABLATE_CUBLASLT:-the one that ablate finds}" | tee -a "$out/log.txt"
}
rival() {
    local config
    seconds=$(brief 3)
    torch 90 "torch check" train_gpu.py --check
    for config in $configs; do # fills the compiler's cache before the timings
        beside 170 "torch compiles $config" "$python" "$here/train_gpu.py" --lengths "$(file_of $config)" --config \
            "$(size_of $config)" --modes "$(compiled "$(torch_modes $config)")" --warm-only ${mini:+--device cpu}
    done
    join
    torch 40 "ceilings" ceilings_gpu.py
    for config in $configs; do
        train $config bf16 1 ""
        torch_train 80 "torch $config" $config "$(torch_modes $config)"
    done
    attention
    torch 60 "torch attention" attention_gpu.py --lengths "$wmt" --seconds "$(brief 0.3)"
    torch 60 "torch attention long" attention_gpu.py --lengths "$long" --seconds "$(brief 0.3)"
    decode " bf16 256" "$news" 256 --seconds $seconds
    torch 60 "torch decode" decode_gpu.py --config "$(size_of base)" --lengths "$news" --beam-size 4 --batch 256 \
        --seconds $seconds
    for config in small base; do
        train $config fp32 1 ""
        torch_train 50 "torch $config fp32" $config fp32-eager-scattered
    done
}

# ---- Table 3 ---------------------------------------------------------------------------------------------------------

# Trains as many runs as fit into the time; the same call with other seeds continues (`ablate import` joins the
# records).
whole_table() {
    local db=$out/table3.db name
    name=$(sed -n 's/^name *= *//p' "$table3" | head -1)
    rm -rf "$db"*
    part $((limit - SECONDS - 25)) "table 3, seeds $seeds" timeout -s INT -k 20 $((limit - SECONDS - 45)) "$ablate" \
        run "$table3" --seeds "$seeds" --device cuda \
        --workers "${WORKERS:-4}" --no-check --progress plain --db "$db"
    find "$out" -name '*.safetensors' -delete
    part 15 "table 3, the table" "$ablate" table "$name" --db "$db"
    part 15 "table 3, the record" "$ablate" record "$name" "$out/$name.json" --db "$db"
}

. "$here/gpu_report.sh"

[ $what = rival ] && find_torch && torch_cublaslt
gate
case $what in
rival) rival ;;
table3) whole_table ;;
first | again)
    tests; plugins; bits; timings; decoding
    [ "$what$only" = again ] || { sanitizers; choices; together; counters; attention; }
    ;;
esac
report
awk -F'\t' '$2 != "skipped" && $2 != 0 && $2 != 77 {bad = 1} END {exit bad}' "$out/parts.tsv"
