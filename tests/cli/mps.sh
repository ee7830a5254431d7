#!/usr/bin/env bash
# Several workers on one GPU, with an MPS daemon that the host starts, with a daemon that runs already, and without a
# daemon. The GPU is emulated; a stand-in for nvidia-cuda-mps-control records its commands.
source "$(dirname "$0")/common.bash" "$@"
build=$(dirname "$program")
export ABLATE_CUDA_MODULE=$build/tests/emulated_cuda.so
[ -e "$ABLATE_CUDA_MODULE" ] || { echo "skipped: the tests were not built (ninja unit_tests)"; exit 77; }
unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY CUDA_VISIBLE_DEVICES
mkdir places tools default
export TMPDIR=$work/places MPS_CALLS=$work/calls MPS_DEFAULT=$work/default

cp "$source/tests/shim/nvidia-cuda-mps-control" tools/
with_tool() { PATH=$work/tools:$PATH "$@"; }
calls() { cut -d' ' -f1 calls 2>/dev/null | tr '\n' ' '; }
daemons() { pgrep -fx 'sleep 1000' | while read -r p; do grep -qz "^MPS_CALLS=$work/calls$" "/proc/$p/environ" && echo "$p"; done; }

spec() { # NAME STEPS
    tiny "$1" "$2" | sed 's/^sequence.test_examples.*/sequence.test_examples = 1/; s/^beam_size.*/beam_size = 1/; s/^eval_every.*/eval_every = 1000/; s/^save_every.*/save_every = 1000/'
    printf 'precision = fp32\nmax_extra_tokens = 5\n[sweep A]\nd_ff = 16\n'
}
spec two 1 >two.ini
spec long 4000 >long.ini
run() { : >calls && rm -f results.db* && "$program" run "$@" --device cuda --threads 1 --no-check --progress plain; }
trained() { sql "SELECT count(*) FROM runs WHERE status='done'"; }

echo "no program"
exits 0 run two.ini --workers 2
has err "mps     2 workers take turns on 1 GPU (time slices)"
has err "nvidia-cuda-mps-control, which comes with NVIDIA's driver"

echo "a daemon started for the workers"
CUDA_VISIBLE_DEVICES=3 exits 0 with_tool run two.ini --workers 2
has err "mps     2 workers share 1 GPU through a daemon started for them"
equal "$(trained)" 2 "runs that are done"
equal "$(calls)" "start quit " "what the daemon was asked"
has calls " 700 visible none" # the daemon sees all GPUs; a worker sees the GPU that its CUDA_VISIBLE_DEVICES names
place=$(sed -n 's/^start \(.*\) 700 .*/\1/p' calls)
has calls "quit -t 120 $place"
checks=$((checks + 1))
[[ $place == "$work"/places/ablate-mps-*/pipe ]] || wrong "the daemon's folder is '$place'"
equal "$(ls places)" "" "folders that are left"
equal "$(daemons)" "" "daemons that are left"

echo "where none is wanted"
exits 0 with_tool run two.ini --workers 2 --only base
exits 0 with_tool run two.ini --workers 2 --no-mps
hasnt err "mps "
exits 0 with_tool "$program" run two.ini --workers 2 --device cpu --threads 1 --no-check --db cpu.db
equal "$(calls)" "" "calls of the daemon"

echo "a daemon that is there"
mkdir -p theirs/pipe
CUDA_MPS_PIPE_DIRECTORY=$work/theirs/pipe with_tool nvidia-cuda-mps-control -d
CUDA_MPS_PIPE_DIRECTORY=$work/theirs/pipe exits 0 with_tool run two.ini --workers 2
has err "mps     2 workers share 1 GPU through the daemon of $work/theirs/pipe"
equal "$(calls)" "" "what a daemon of others was asked"
equal "$(daemons | wc -l)" 1 "daemons of others"
CUDA_MPS_PIPE_DIRECTORY=$work/theirs/pipe with_tool nvidia-cuda-mps-control <<<quit
with_tool nvidia-cuda-mps-control -d
exits 0 with_tool run two.ini --workers 2
has err "through the daemon of /tmp/nvidia-mps"
equal "$(calls)" "" "what the usual daemon was asked"
with_tool nvidia-cuda-mps-control <<<quit

echo "no daemon comes"
CUDA_MPS_PIPE_DIRECTORY=$work/theirs/pipe exits 1 with_tool run two.ini --workers 2
has err "CUDA_MPS_PIPE_DIRECTORY is $work/theirs/pipe, where no MPS daemon answers"
MPS_FAULT=refuses exits 1 with_tool run two.ini --workers 2
has err "nvidia-cuda-mps-control -d ended with status 1: An instance of this daemon is already running; its log: stand-in: starting"
has err "with --no-mps the 2 workers take turns on 1 GPU"
equal "$(sql 'SELECT count(*) FROM attempt')" 0 "attempts without a daemon"
MPS_FAULT=silent exits 1 with_tool run two.ini --workers 2
has err "nvidia-cuda-mps-control -d started no daemon that answers"
equal "$(ls places)" "" "folders that are left after a daemon that did not start"

echo "runs that fail: the daemon's logs stay"
CUDA_VISIBLE_DEVICES=GPU-8f2c ABLATE_PRODUCT=neither exits 1 with_tool run two.ini --workers 2
has err "mps     logs of the daemon: $work/places/ablate-mps-"
equal "$(cd places && find . -type f)" "$(cd places && echo ./*/log/control.log)" "files that are left"
equal "$(calls)$(daemons)" "start quit " "what the daemon was asked after failed runs"
has calls " 700 visible GPU-8f2c" # a name
rm -r places/*

echo "what the workers get; Ctrl-C; a host that is killed"
start() {
    : >calls
    rm -f results.db*
    : >err
    PATH=$work/tools:$PATH setsid env --default-signal=INT,TERM,HUP "$program" run long.ini --workers 2 --device cuda \
        --threads 1 --no-check --progress plain >out 2>err &
    host=$!
}
both_train() { [ "$(sql "SELECT count(*) FROM tag WHERE tag='precision'")" = 2 ]; }
gone() { [ -z "$(ls places)" ] && [ -z "$(daemons)" ]; }
start
wait_for 60 both_train || wrong "no training began: $(cat err)"
place=$(sed -n 's/^start \(.*\) 700 .*/\1/p' calls)
for p in $(leftovers); do
    tr '\0' '\n' <"/proc/$p/environ" | grep '^CUDA_MPS'
done | sort >environment
equal "$(sort -u environment | tr '\n' ' ')" "CUDA_MPS_LOG_DIRECTORY=${place%pipe}log CUDA_MPS_PIPE_DIRECTORY=$place " \
    "the workers' environment"
equal "$(wc -l <environment)" 4 "variables of two workers"
equal "$(daemons | wc -l)" 1 "daemons while they train"
kill -INT -- "-$host"
code=0
wait $host || code=$?
equal $code 130 "exit code after Ctrl-C"
equal "$(calls)" "start quit " "what the daemon was asked when Ctrl-C came"
equal "$(ls places)$(daemons)" "" "what is left after Ctrl-C"
start
wait_for 60 both_train || wrong "no training began: $(cat err)"
kill -KILL $host
wait $host 2>/dev/null
wait_for 60 gone || wrong "the daemon outlived its host: $(ls places) $(daemons)"
equal "$(calls)" "start quit " "what the daemon was asked when the host was killed"
finish
