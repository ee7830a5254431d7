#!/usr/bin/env bash
# usage: gpu_script.sh PROGRAM SOURCES   - runs every line of bench/gpu.sh and bench/pack.sh on the emulated GPU, in the
# smallest sizes, so that no line runs for the first time on a borrowed GPU. Stand-ins for NVIDIA's tools and PyTorch
# record their arguments and print plausible output. These stand-ins lie in folders that no program searches by default.
# The network is off if the system lets users switch it off. Each stage is made to fail once. TORCH=PYTHON: also runs
# the PyTorch programs on the CPU, with this interpreter.
set -u
program=$1 sources=$2
build=$(dirname -- "$program")
module=$build/tests/emulated_cuda.so
if [ ! -e "$module" ] || [ ! -x "$build/shim_test_select" ]
then echo "skipped: $module or shim_test_select is not built" && exit 77; fi
folder=$(mktemp -d)
trap '[ -n "${KEEP-}" ] && echo "kept: $folder" || rm -rf "$folder"' EXIT # KEEP keeps the folder for inspection
failed=0
wrong() { failed=$((failed + 1)) && printf 'WRONG: %s\n' "$*"; }
has() { grep -qE -- "$2" "$1" || { wrong "${1##*/} has no line like '$2':" && tail -n "${3:-40}" "$1"; }
} # FILE PATTERN

# ---- stand-ins -------------------------------------------------------------------------------------------------------
# A stand-in fails if its name matches the regular expression BROKEN.
mkdir "$folder/log" "$folder/tmp"
machine=$folder/machine kit=machine/opt/kit-13/bin env=machine/srv/deep/.venv
export SEARCH=$machine STAND_IN_LOG=$folder/log/tools.txt REAL_PYTHON=${TORCH:-$(command -v python3)} TMPDIR=$folder/tmp
export MPS_CALLS=$folder/log/mps.txt MPS_DEFAULT=$folder/no-daemon
unset VIRTUAL_ENV CONDA_PREFIX CUDA_HOME CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY PYTHON
stand_in() { # FOLDER NAME: writes the script on standard input, below a line that makes it fail on demand
    mkdir -p "$folder/$1"
    {
        echo '#!/usr/bin/env bash'
        echo '[[ ${0##*/} =~ ^(${BROKEN:-none})$ ]] && { echo "${0##*/} is broken" >&2; exit 9; }'
        cat
    } >"$folder/$1/$2"
    chmod +x "$folder/$1/$2"
}
stand_in machine/usr/bin nvidia-smi <<'SH'
echo "nvidia-smi $*" >>"$STAND_IN_LOG"
case $* in
*timestamp*) while :; do printf '%s, 1234, 1980, 345.6, 55, 0x0000000000000004\n' "$(date '+%Y/%m/%d %H:%M:%S.%3N')"; sleep 0.2; done ;;
*) echo "NVIDIA stand-in, 580.00, 143771 MiB" ;;
esac
SH
stand_in "$kit" nvcc <<<'echo "Cuda compilation tools, release 13.0"'
stand_in "$kit" nvidia-cuda-mps-control <"$sources/tests/shim/nvidia-cuda-mps-control"
stand_in "$kit" compute-sanitizer <<'SH'
echo "compute-sanitizer $*" >>"$STAND_IN_LOG"
echo "========= ERROR SUMMARY: 0 errors"
SH
stand_in machine/opt/nsight/2025.3 ncu <<'SH'
echo "ncu $*" >>"$STAND_IN_LOG"
while [[ $1 == -* ]]; do
    case $1 in
    --log-file) file=$2 && shift ;;
    --metrics) metrics=$2 && shift ;;
    --page | --launch-count | --target-processes | --clock-control) shift ;;
    esac
    shift
done
"$@" || exit
IFS=, read -ra names <<<"$metrics"
row() { printf '"%s","%s"' "$1" "$2" && printf ',"%s"' "${@:3}" && echo; }
units=() && for name in "${names[@]}"; do case $name in *time*) units+=(us) ;; *bytes*) units+=(Mbyte) ;; *) units+=(inst) ;; esac done
{
    echo '==PROF== Connected to process 1'
    row ID 'Kernel Name' "${names[@]}"
    row '' '' "${units[@]}"
    for id in 0 1 2; do row $id "void kernel_$((id / 2))<float>(int)" "${names[@]/*/1,20$id.5}"; done
} >"$file"
SH
# A Python environment with a stand-in for PyTorch, which prints lines like those of bench/*_gpu.py.
mkdir -p "$folder/$env/lib/python3.12/site-packages/torch"
touch "$folder/$env/lib/python3.12/site-packages/torch/version.py"
stand_in "$env/bin" python3 <<'SH'
echo "python $*" >>"$STAND_IN_LOG"
case $* in
*gpu_table.py* | *gpu_counters.py* | '-c ') exec "$REAL_PYTHON" "$@" ;;
*find_spec*) ;;
*import\ torch*) echo "${ABLATE_CUBLASLT-}" ;;
*ceilings*) echo '{"what":"ceilings","bf16_tflops":700,"fp32_tflops":50,"copy_tb_s":4,"tf32_tflops":300}' ;;
*warm-only* | *--check*) ;;
*train_gpu*) echo '{"who":"torch 2","what":"train","config":"small","mode":"bf16-eager-packed","ms_per_step":3.5}' ;;
*attention_gpu*) echo '{"who":"torch 2","what":"attention","role":"cross","mode":"cudnn","lengths":"wmt-like-25k.txt","forward_ms":1.5,"backward_ms":2.5}' ;;
*decode_gpu*) echo '{"who":"torch 2","what":"decode","config":"base","mode":"graph","target_tokens_per_s":1000}' ;;
*) echo "python: what is $*?" && exit 1 ;;
esac
SH
[ -z "${TORCH:-}" ] || export PYTHON=$TORCH

# ---- the pack --------------------------------------------------------------------------------------------------------
BUILD=$build XZ_OPT=-0 ABLATE_DATA=$folder/no-data bash "$sources/bench/pack.sh" "$folder/packed" --emulated \
    >"$folder/log/pack.txt" 2>&1 || wrong "pack.sh failed"
has "$folder/log/pack.txt" 'ablate-gpu.tar.xz: [0-9]+ MB'
has "$folder/log/pack.txt" 'no .*no-data/multi30k: the rows of Table 3 cannot be trained there'
pack=$folder/packed/ablate-gpu
# The real tests take minutes and are run elsewhere: here quick scripts have their names. One more test is added, which
# passes only with our own kernels.
mkdir "$folder/kept"
mv "$pack"/bin/gpu_test_* "$folder/kept/"
for name in attend rows select; do cp "$folder/kept/gpu_test_select" "$pack/bin/gpu_test_$name"; done
printf '#!/bin/sh\n[ "$ABLATE_PRODUCT" = own ] || { echo "planted: fails unless our own kernels multiply"; exit 1; }\n' >"$pack/bin/gpu_test_planted"
chmod +x "$pack/bin/gpu_test_planted"
if [ -e "$build/fake_cublaslt.so" ]; then export ABLATE_PRODUCT=library ABLATE_CUBLASLT=$build/fake_cublaslt.so; fi

cat >"$folder/table.ini" <<'INI'
[experiment]
name = tiny
seeds = 1
[base]
task = sequence
layers = 1
d_model = 16
d_ff = 24
heads = 2
batch_tokens = 64
steps = 4
eval_every = 4
warmup = 2
beam_size = 2
max_extra_tokens = 5
sequence.train_examples = 60
sequence.test_examples = 4
sequence.alphabet = 5
sequence.max_length = 5
sequence.test_length = 7
[sweep A]
d_ff = 16
INI
unset ABLATE_DATA ABLATE_DB
(cd "$folder" && "$program" run table.ini --only base --device cpu --no-check --db cpu.db &&
    "$program" record tiny cpu.json --db cpu.db) >"$folder/log/cpu.txt" 2>&1 ||
    wrong "the row of the table on the CPU failed: $(tail -3 "$folder/log/cpu.txt")"

echo "PS4='+\${BASH_SOURCE##*/}:\$LINENO:'" >"$folder/trace.env"
offline=()
unshare -rn true 2>/dev/null && offline=(unshare -rn)
# call NAME EXPECTED ARGUMENTS...: runs gpu.sh and expects its exit code; results go to $folder/NAME, its output to
# log/NAME.txt. Records which lines of gpu.sh run. The script must leave files that can be copied from a borrowed
# machine: at most eight, none large, with plain names. `call` then unpacks the archive of results.
call() {
    local name=$1 expected=$2 rc=0 odd
    shift 2
    (cd "$folder" && exec 9>>log/trace.txt &&
        BASH_XTRACEFD=9 BASH_ENV=$folder/trace.env MINI=1 OUT=$folder/$name TABLE3=$folder/table.ini \
        RECORD=$folder/cpu.json \
        "${offline[@]}" bash -x "${SCRIPT:-$pack/bench/gpu.sh}" "$@" >"log/$name.txt" 2>&1) || rc=$?
    [ $rc = "$expected" ] || { wrong "gpu.sh $*: exit code $rc, expected $expected:" && tail -40 "$folder/log/$name.txt"
    }
    [ -d "$folder/$name" ] || return
    odd=$(find "$folder/$name" -mindepth 1 \( -type d -o -size +15M -o -name '*[^A-Za-z0-9._-]*' \))
    [ -z "$odd" ] && [ "$(find "$folder/$name" -type f | wc -l)" -le 8 ] ||
        wrong "gpu.sh $* left: $(cd "$folder/$name" && find . -size +0 | tr '\n' ' ')"
    tar -C "$folder/$name" -xzf "$folder/$name/rest.tar.gz" || wrong "gpu.sh $* left no archive"
}

# ---- calls -----------------------------------------------------------------------------------------------------------
call usage 2 second "$pack"
has "$folder/log/usage.txt" '^usage: bench/gpu.sh first'
ABLATE_CUDA_MODULE=$folder/none.so call closed 3 first "$pack"
has "$folder/log/closed.txt" 'no GPU can be opened'
has "$folder/log/closed.txt" '2 parts, none failed'
FAKE_CUBLASLT=none ABLATE_PRODUCT=neither call gate 3 first "$pack"
has "$folder/log/gate.txt" 'gate: five steps of small, memcheck'
has "$folder/log/gate.txt" 'ABLATE_PRODUCT is "neither", expected "own", "library" or "plain"|parts'

call first 1 first "$folder/packed/ablate-gpu"
for part in 'gate: five steps of small' 'test select' 'test planted, ABLATE_PRODUCT=own' 'test rows, other numbers' \
    'ablate check' 'table 3 base' \
    'table 3 base, dev PPL' 'table 3 base, the same bits' 'train small bf16 stream' \
    'train base bf16 graph, odd vocabulary' 'train base bf16 graph, plain products' \
    'train base bf16 graph, with a batch of pairs' \
    'decode base, the same outputs' 'decode base bf16 64, plain products' 'sanitizer racecheck attend' 'sanitizer synccheck optim' \
    'table 3 base, the same bits beside another run' 'train big bf16 graph, algorithms chosen by time' \
    'together 8' 'together 8, MPS' 'ncu small' \
    'attention long cross cudnn' 'attention long cross wgmma'; do
    has "$folder/log/first.txt" "rc 0 +$part\$" 5
done
has "$folder/log/first.txt" 'rc 1 +test planted, CUDA_LAUNCH_BLOCKING=1'
has "$folder/log/first.txt" 'rc 0 +test planted, memcheck'
others=$(grep -E ' rc ([1-9]|skipped)' "$folder/log/first.txt" | grep -v planted)
[ -z "$others" ] || { wrong "parts of first failed: $others" && tail -60 "$folder/first/log.txt"; }
has "$folder/first/log.txt" 'every byte of the two models is the same'
has "$folder/first/log.txt" '^mps +2 workers share 1 GPU through a daemon started for them'
has "$folder/first/log.txt" "^compute-sanitizer: $folder/$kit/compute-sanitizer"
has "$folder/first/log.txt" "^ncu: $machine/opt/nsight/2025.3/ncu"
has "$folder/first/table.txt" '^8 small runs at once, MPS .* of one run'
[ "$(cut -d' ' -f1 "$MPS_CALLS" | tr '\n' ' ')" = "start quit start quit start quit " ] ||
    wrong "MPS daemons of first: $(cat "$MPS_CALLS")"
[ -z "$(ls "$TMPDIR")" ] || wrong "left in the folder for temporary files: $(ls "$TMPDIR")"
has "$folder/first/table.txt" '^train base bf16, graph .* ms/step'
has "$folder/first/results.json" '"clock_least": 1980'
has "$folder/first/ncu-base.txt" '^3 launches, .* ms of kernels'
[ -z "${ABLATE_CUBLASLT-}" ] || has "$folder/first/choices-base.tsv" '	m=[0-9]* n=[0-9]* k=[0-9]* .*	id='

# Runs from the packed archive, and with gpu.sh of a checkout.
tar -C "$folder/packed" -cf "$folder/pack.tar" ablate-gpu
mkdir "$folder/checkout" && cp -r "$sources/bench" "$folder/checkout/"
SCRIPT=$folder/checkout/bench/gpu.sh call table3 0 table3 "$folder/pack.tar" --seeds 1..2
has "$folder/log/table3.txt" 'rc 0 +table 3, seeds 1..2'
has "$folder/table3/tiny.json" '"ablate_export"'

rm "$pack/bin/gpu_test_planted"
BEFORE=$folder/first/results.json call again 0 again "$pack"
has "$folder/again/table.txt" '^ .*before +now'
call only 0 again "$pack" --only 'ncu|synccheck optim|together 1|small bf16 graph, algo'
has "$folder/log/only.txt" 'rc 0 +ncu base'
# Breaks each stage once: the other stages run, and their results are in the table.
BROKEN='ncu|compute-sanitizer|nvidia-cuda-mps-control|nvidia-smi|nvcc' call broken 1 again "$pack" --only \
    'test select|ncu base|synccheck optim|together|base bf16 64'
for part in 'rc 0 +test select' 'rc 9 +sanitizer synccheck optim' 'rc 0 +together 4' 'rc 1 +together 4, MPS' 'rc 9 +ncu base' \
    'rc 0 +decode base bf16 64' '^failed:$'; do has "$folder/log/broken.txt" "$part"; done
has "$folder/broken/table.txt" '^decode base, beam 4, batch 64'
PYTHON=$folder/no-python call snakeless 0 again "$pack" --only 'test select'
has "$folder/log/snakeless.txt" 'no Python here: bench/gpu_table.py makes the table'
"$REAL_PYTHON" "$sources/bench/gpu_table.py" "$folder/snakeless" "$pack/lengths" "$folder/snakeless/results.json" |
    grep 'checks: 1 of 1 passed' >/dev/null || wrong "no table of a call without Python"
ABLATE_EMULATED_CAPABILITY=80 SEARCH=$folder/log call bare 1 again "$pack" --only \
    'test select|ncu base|together 8|attention long cross'
has "$folder/log/bare.txt" '^ncu: nowhere'
has "$folder/log/bare.txt" 'rc 127 +ncu base'
has "$folder/log/bare.txt" 'rc 77 +together 8, MPS'
has "$folder/log/bare.txt" 'rc 0 +attention long cross own'
has "$folder/log/bare.txt" 'rc 77 +attention long cross wgmma'
has "$folder/bare/log.txt" '^this GPU has compute capability 8.0, and wgmma needs 9.0'

# NVIDIA's libraries lie in a folder that ablate does not search.
mkdir -p "$machine/opt/kit-13/odd" && touch "$machine/opt/kit-13/odd/libcublasLt.so.13.1"
mv "$pack/ablate" "$pack/real"
cat >"$pack/ablate" <<'SH'
#!/bin/sh
[ "$1 ${2-}" = "list devices" ] && [ -z "${ABLATE_CUBLASLT-}" ] && echo "        cuBLASLt (libcublasLt.so.13) was not found; cuDNN"
exec "$(dirname "$0")/real" "$@"
SH
chmod +x "$pack/ablate"
ABLATE_CUBLASLT='' ABLATE_PRODUCT='' call lost 0 again "$pack" --only 'test select'
has "$folder/log/lost.txt" "^cublasLt: $machine/opt/kit-13/odd/libcublasLt.so.13.1"
rm "$machine/opt/kit-13/odd/libcublasLt.so.13.1"
ABLATE_CUBLASLT='' ABLATE_PRODUCT='' call lost_for_good 0 again "$pack" --only 'test select'
has "$folder/log/lost_for_good.txt" '^cublasLt: nowhere'
mv "$pack/real" "$pack/ablate"

call rival 0 rival "$pack"
has "$folder/log/rival.txt" "^PyTorch: $folder/$env/bin/python3"
has "$folder/log/rival.txt" 'rc 0 +torch decode'
has "$folder/rival/table.txt" 'torch|bf16-'
# A test that hangs takes no more than the time left.
printf '#!/bin/sh\nsleep 1000\n' >"$pack/bin/gpu_test_hangs" && chmod +x "$pack/bin/gpu_test_hangs"
began=$SECONDS
LIMIT=20 call hangs 1 again "$pack" --only 'test (hangs|select)'
rm "$pack/bin/gpu_test_hangs"
has "$folder/log/hangs.txt" 'rc 124 +test hangs'
has "$folder/log/hangs.txt" 'rc skipped +test select'
((SECONDS - began < 35)) || wrong "LIMIT=20: the call took $((SECONDS - began)) s"
LIMIT=1 call short 3 rival "$pack"
has "$folder/log/short.txt" 'no time was left for:'
grep -q 'ncu --csv .*--clock-control none' "$STAND_IN_LOG" ||
    wrong "ncu was not called so that it leaves the clocks alone"

# ---- every function of the scripts has run ---------------------------------------------------------------------------
for script in gpu.sh gpu_report.sh; do
    while IFS=: read -r line name; do
        awk -v line="$line" 'NR > line && /^}/ {print NR; exit}' "$pack/bench/$script" >"$folder/end"
        awk -F: -v from="$line" -v to="$(cat "$folder/end")" -v script="$script" \
            '{sub(/^[+]+/, "", $1)} $1 == script && $2 >= from && $2 <= to {found = 1; exit} END {exit !found}' \
            "$folder/log/trace.txt" ||
            wrong "$script's function $name was never run"
    done < <(grep -nE '^[a-z_]+\(\) \{' "$pack/bench/$script" | sed 's/() {.*//')
done
[ "$failed" = 0 ] && echo "gpu.sh ran to its end in $SECONDS s"
exit $((failed > 0))
