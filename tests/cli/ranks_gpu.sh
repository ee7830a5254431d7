#!/usr/bin/env bash
# Runs of two ranks on emulated GPUs, with a stand-in for NCCL: they agree with one process but for rounding. A killed
# rank ends the job within a minute; the same command resumes it and gives the bits of an undisturbed run. mpirun starts
# the ranks, but none of them opens MPI.
source "$(dirname "$0")/common.bash" "$@"
source "$source/tests/mpi.bash"
build=$(dirname "$program")
export ABLATE_CUDA_MODULE=$build/tests/emulated_cuda.so ABLATE_NCCL=$build/tests/libnccl.so.2
[ -e "$ABLATE_CUDA_MODULE" ] || { echo "skipped: the tests were not built (ninja unit_tests)"; exit 77; }
mpi_install
command -v mpirun >/dev/null || { echo "skipped: mpirun is not here (Debian: openmpi-bin)"; exit 77; }
export ABLATE_MPI_MODULE=none # only ranks on CPUs open the MPI module

spec() { # NAME STEPS: prints the head of an INI with short runs
    tiny "$1" "$2" | sed 's/^sequence.test_examples.*/sequence.test_examples = 1/; s/^beam_size.*/beam_size = 1/; s/^save_every.*/save_every = 2/; s/^eval_every.*/eval_every = 100/'
    printf 'dropout = 0\nprecision = fp32\nmax_extra_tokens = 5\n'
}
run() { "$program" run "$@" --device cuda --threads 1 --progress plain; }
curve() { sql "SELECT printf('%.17g',value) FROM curves WHERE row='$1' AND metric='dev_PPL' ORDER BY step DESC LIMIT 1"
}

{ spec agree 3; printf '[sweep a]\nranks = 2\n'; } >agree.ini
exits 0 run agree.ini
one=$(curve base) two=$(curve a/ranks=2)
checks=$((checks + 1))
awk -v a="$two" -v b="$one" 'BEGIN {d = (a - b) / b; exit !(b > 0 && d < 1e-5 && d > -1e-5)}' ||
    wrong "perplexity of 2 ranks: found '$two', expected '$one' but for rounding"
equal "$(sql "SELECT count(DISTINCT config_hash) FROM runs")" 2 "a run with other ranks is another run"
equal "$(sql "SELECT value FROM tag WHERE tag='communicator'")" '"2 ranks, NCCL 2.28.9"' "what the ranks talked by"
equal "$(find . -name meeting)" "" "places to meet that are left"

# killed, resumed
{ spec bits 8; printf 'ranks = 2\n'; } >bits.ini
points() { sql "SELECT metric,step,printf('%.17g',value) FROM curves ORDER BY 1,2" "$1"; }
exits 0 run bits.ini --db calm.db
second_rank() {
    local p
    for p in $(pgrep -f "worker --folder $work/"); do
        grep -qz '^OMPI_COMM_WORLD_RANK=1$' "/proc/$p/environ" 2>/dev/null && echo "$p"
    done
}
training() { [ -n "$(find own.db.runs -name state.safetensors)" ] && [ -n "$(second_rank)" ]; }
run bits.ini --db own.db >out 2>err &
host=$!
wait_for 60 training || wrong "no second rank trains: $(cat err)"
start=$SECONDS
kill -9 "$(second_rank)"
wait $host
equal $? 1 "exit code after a rank was killed"
[ $((SECONDS - start)) -lt 60 ] || wrong "the job went on for $((SECONDS - start)) s after a rank was killed"
equal "$(sql "SELECT status FROM runs" own.db)" killed "the run whose rank was killed"
equal "$(leftovers)" "" "ranks that are left"
exits 0 run bits.ini --db own.db
grep -q "resumed at step" own.db.runs/bits/*/log.txt || wrong "the run began anew"
equal "$(points own.db)" "$(points calm.db)" "curves of an undisturbed run and of a resumed one"

# no library
ABLATE_NCCL=$work/none.so exits 1 run agree.ini --only a/ranks=2 -s steps=4
has err "NCCL: ABLATE_NCCL names a file that cannot be loaded"
finish
