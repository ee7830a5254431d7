#!/usr/bin/env bash
# usage: gpu_script.sh PROGRAM SOURCES   - runs bench/gpu.sh and bench/pack.sh completely on the emulated GPU in the
# smallest sizes, so that no line of them runs for the first time on a borrowed GPU. Stand-ins replace NVIDIA's tools
# and PyTorch: they record their arguments and print plausible output. TORCH: an interpreter with PyTorch, to run its
# programs too, on the CPU.
set -u
program=$1 sources=$2
build=$(dirname -- "$program")
module=$build/tests/emulated_cuda.so
if [ ! -e "$module" ] || [ ! -x "$build/shim_test_select" ]
then echo "skipped: $module or shim_test_select is not built" && exit 77; fi
folder=$(mktemp -d)
trap '[ -n "${KEEP-}" ] && echo "kept: $folder" || rm -rf "$folder"' EXIT # KEEP: to look at
failed=0
wrong() { failed=$((failed + 1)) && printf 'WRONG: %s\n' "$*"; }
has() { grep -qE -- "$2" "$1" || { wrong "${1##*/} has no line like '$2':" && tail -n "${3:-40}" "$1"; }
} # FILE PATTERN

# ---- stand-ins -------------------------------------------------------------------------------------------------------
mkdir "$folder/tools" "$folder/log"
export PATH=$folder/tools:$PATH STAND_IN_LOG=$folder/log/tools.txt REAL_PYTHON=${TORCH:-$(command -v python3)}
stand_in() { cat >"$folder/tools/$1" && chmod +x "$folder/tools/$1"; }
stand_in nvidia-smi <<'SH'
#!/usr/bin/env bash
echo "nvidia-smi $*" >>"$STAND_IN_LOG"
case $* in
*timestamp*) while :; do printf '%s, 1234, 1980, 345.6, 55, 0x0000000000000004\n' "$(date '+%Y/%m/%d %H:%M:%S.%3N')"; sleep 0.2; done ;;
*) echo "NVIDIA stand-in, 580.00, 143771 MiB" ;;
esac
SH
stand_in nvcc <<<'#!/bin/sh
echo "Cuda compilation tools, release 13.0"'
stand_in compute-sanitizer <<'SH'
#!/usr/bin/env bash
echo "compute-sanitizer $*" >>"$STAND_IN_LOG"
echo "========= ERROR SUMMARY: 0 errors"
SH
stand_in ncu <<'SH'
#!/usr/bin/env bash
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
# A Python without PyTorch: bench/*_gpu.py are answered with what they print.
stand_in python <<'SH'
#!/usr/bin/env bash
echo "python $*" >>"$STAND_IN_LOG"
case $* in
*gpu_table.py* | *gpu_counters.py* | '-c ') exec "$REAL_PYTHON" "$@" ;;
*import\ torch*) echo "${ABLATE_CUBLASLT-}" ;;
*ceilings*) echo '{"what":"ceilings","bf16_tflops":700,"fp32_tflops":50,"copy_tb_s":4,"tf32_tflops":300}' ;;
*warm-only* | *--check*) ;;
*train_gpu*) echo '{"who":"torch 2","what":"train","config":"small","mode":"bf16-eager-packed","ms_per_step":3.5}' ;;
*attention_gpu*) echo '{"who":"torch 2","what":"attention","role":"cross","mode":"cudnn","lengths":"wmt-like-25k.txt","forward_ms":1.5,"backward_ms":2.5}' ;;
*decode_gpu*) echo '{"who":"torch 2","what":"decode","config":"base","mode":"graph","target_tokens_per_s":1000}' ;;
*) echo "python: what is $*?" && exit 1 ;;
esac
SH
export PYTHON=${TORCH:-$folder/tools/python}

# ---- the pack --------------------------------------------------------------------------------------------------------
BUILD=$build XZ_OPT=-0 ABLATE_DATA=$folder/no-data bash "$sources/bench/pack.sh" "$folder/packed" --emulated \
    >"$folder/log/pack.txt" 2>&1 || wrong "pack.sh failed"
has "$folder/log/pack.txt" 'ablate-gpu.tar.xz: [0-9]+ MB'
has "$folder/log/pack.txt" 'no .*no-data/multi30k: the rows of Table 3 cannot be trained there'
pack=$folder/packed/ablate-gpu
# The real tests are tests of their own, and take minutes here: quick ones under their names, and one that only our own
# kernels pass.
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
# call NAME EXPECTED ARGUMENTS...: gpu.sh in the folder, results in $folder/NAME, its words in log/NAME.txt. Traced:
# which of its lines were run?
call() {
    local name=$1 expected=$2 rc=0
    shift 2
    (cd "$folder" && exec 9>>log/trace.txt &&
        BASH_XTRACEFD=9 BASH_ENV=$folder/trace.env MINI=1 OUT=$folder/$name TABLE3=$folder/table.ini \
        RECORD=$folder/cpu.json \
        bash -x "$pack/bench/gpu.sh" "$@" >"log/$name.txt" 2>&1) || rc=$?
    [ $rc = "$expected" ] || { wrong "gpu.sh $*: exit code $rc, expected $expected:" && tail -40 "$folder/log/$name.txt"
    }
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
    'decode base, the same outputs' 'sanitizer racecheck attend' 'sanitizer synccheck optim' \
    'train big bf16 graph, algorithms chosen by time' 'together 8' 'ncu small' \
    'attention long cross cudnn'; do
    has "$folder/log/first.txt" "rc 0 +$part\$" 5
done
has "$folder/log/first.txt" 'rc 1 +test planted, CUDA_LAUNCH_BLOCKING=1'
has "$folder/log/first.txt" 'rc 0 +test planted, memcheck'
others=$(grep -E ' rc ([1-9]|skipped)' "$folder/log/first.txt" | grep -v planted)
[ -z "$others" ] || { wrong "parts of first failed: $others" && tail -60 "$folder/first/log.txt"; }
has "$folder/first/log.txt" 'every byte of the two models is the same'
has "$folder/first/table.txt" '^train base bf16, graph .* ms/step'
has "$folder/first/results.json" '"clock_least": 1980'
has "$folder/first/ncu-base.txt" '^3 launches, .* ms of kernels'
[ -z "${ABLATE_CUBLASLT-}" ] || has "$folder/first/choices-base.tsv" '	m=[0-9]* n=[0-9]* k=[0-9]* .*	id='

tar -C "$folder/packed" -cf "$folder/pack.tar" ablate-gpu # an archive, as it travels
call table3 0 table3 "$folder/pack.tar" --seeds 1..2
has "$folder/log/table3.txt" 'rc 0 +table 3, seeds 1..2'
has "$folder/table3/tiny.json" '"ablate_export"'

rm "$pack/bin/gpu_test_planted"
BEFORE=$folder/first/results.json call again 0 again "$pack"
has "$folder/again/table.txt" '^ .*before +now'
call only 0 again "$pack" --only 'ncu|synccheck optim|together 1|small bf16 graph, algo'
has "$folder/log/only.txt" 'rc 0 +ncu base'
call rival 0 rival "$pack"
has "$folder/log/rival.txt" 'rc 0 +torch decode'
has "$folder/rival/table.txt" 'torch|bf16-'
LIMIT=1 call short 3 rival "$pack"
has "$folder/log/short.txt" 'no time was left for:'
grep -q 'ncu --csv .*--clock-control none' "$STAND_IN_LOG" ||
    wrong "ncu was not called so that it leaves the clocks alone"

# ---- was every function run? -----------------------------------------------------------------------------------------
while IFS=: read -r line name; do
    awk -v line="$line" 'NR > line && /^}/ {print NR; exit}' "$pack/bench/gpu.sh" >"$folder/end"
    awk -F: -v from="$line" -v to="$(cat "$folder/end")" \
        '$1 ~ /gpu.sh$/ && $2 >= from && $2 <= to {found = 1; exit} END {exit !found}' "$folder/log/trace.txt" ||
        wrong "gpu.sh's function $name was never run"
done < <(grep -nE '^[a-z_]+\(\) \{' "$pack/bench/gpu.sh" | sed 's/() {.*//')
[ "$failed" = 0 ] && echo "gpu.sh ran to its end in $SECONDS s"
exit $((failed > 0))
