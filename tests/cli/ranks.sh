#!/usr/bin/env bash
# Runs of two and four MPI ranks on this machine agree with one process but for rounding; runs with equal ranks give
# equal bits. If a rank is killed, the job ends and the same command resumes it. An interrupt leaves a checkpoint.
source "$(dirname "$0")/common.bash" "$@"
source "$source/tests/mpi.bash"
build=$(dirname "$program")
why=$(mpi_missing "$build" "$source")
[ -z "$why" ] || { echo "skipped: $why"; exit 77; }
mpi_use "$build"

curve() { # ROW STEP: prints dev perplexity at that step
    sql "SELECT printf('%.17g',value) FROM curves WHERE row='$1' AND metric='dev_PPL' AND step=$2"
}
near() { # FOUND EXPECTED WHAT: fails if their relative difference is 1e-6 or more
    checks=$((checks + 1))
    awk -v a="$1" -v b="$2" 'BEGIN {d = (a - b) / b; exit !(b > 0 && d < 1e-6 && d > -1e-6)}' ||
        wrong "$3: found '$1', expected '$2' but for rounding"
}

# The global batch is the same, whatever the number of ranks.
{ tiny agree 12
printf 'dropout = 0\nword_dropout = 0.1\nprecision = fp32\n[sweep a]\nranks = 2, 4\n[sweep b]\ncombine = grid\ngradient_accumulation = 2\nranks = 1, 2\n'; } >agree.ini
exits 0 ablate run agree.ini --threads 1 --progress plain
for ranks in 2 4
do near "$(curve "a/ranks=$ranks" 10)" "$(curve base 10)" "perplexity of $ranks ranks after 10 updates"; done
near "$(curve "b/gradient_accumulation=2 ranks=2" 10)" "$(curve "b/gradient_accumulation=2 ranks=1" 10)" \
    "the same with two batches an update"
equal "$(sql "SELECT count(DISTINCT config_hash) FROM runs")" 5 "runs with other ranks are other runs"

# Equal ranks give equal bits: when run twice, after a kill, and after an interrupt.
{ tiny bits 1000; printf 'ranks = 2\ndropout = 0.1\naverage_checkpoints = 2\n'; } >bits.ini
points() { sql "SELECT metric,step,printf('%.17g',value) FROM curves ORDER BY 1,2" "$1"; }
ABLATE_HOME=$work/calm exits 0 ablate run bits.ini --threads 1 --progress plain --db calm.db
model() { echo "$1"/bits/*-s1-g*/model.safetensors; }

worker_of_rank() { # prints the process number of rank 1
    local p
    for p in $(pgrep -f "worker --folder $work/"); do
        grep -qz '^OMPI_COMM_WORLD_RANK=1$' "/proc/$p/environ" 2>/dev/null && echo "$p"
    done
}
training() { [ -n "$(find own.db.runs -name state.safetensors)" ] && [ -n "$(worker_of_rank)" ]; }
"$program" run bits.ini --threads 1 --progress plain --db own.db >out 2>err &
host=$!
wait_for 60 training || wrong "no second rank trains: $(cat err)"
start=$SECONDS
kill -9 "$(worker_of_rank)"
wait $host
equal $? 1 "exit code after a rank was killed"
[ $((SECONDS - start)) -lt 60 ] || wrong "the job went on for $((SECONDS - start)) s after a rank was killed"
has err "a rank was ended by signal 9"
equal "$(sql "SELECT status FROM runs" own.db)" killed "the run whose rank was killed"
equal "$(leftovers)" "" "ranks that are left"

"$program" run bits.ini --threads 1 --progress plain --db own.db >out 2>err &
host=$!
wait_for 60 training || wrong "no second rank trains again: $(cat err)"
kill -TERM $host
wait $host
equal $? 143 "exit code after SIGTERM"
equal "$(sql "SELECT status FROM runs" own.db)" queued "the run that was interrupted"

exits 0 ablate run bits.ini --threads 1 --progress plain --db own.db
grep -q "resumed at step" own.db.runs/bits/*/log.txt || wrong "the run began anew"
equal "$(points own.db)" "$(points calm.db)" "curves of an undisturbed run and of a resumed one"
cmp "$(model own.db.runs)" "$(model calm.db.runs)" || wrong "models of an undisturbed run and of a resumed one differ"
equal "$(find own.db.runs calm.db.runs -type p)" "" "pipes that are left"

# An mpirun that ignores the first signal and outlives its ranks gets a second signal, then SIGKILL; the run is
# unharmed.
cat >stays <<'END'
#!/usr/bin/env bash
trap 'asked=$((asked + 1)); [ $asked -lt 2 ] || kill -USR1 $ranks' USR1
mpirun "$@" &
ranks=$!
while kill -0 $ranks 2>/dev/null; do wait $ranks; done
exec sleep 1000
END
chmod +x stays
ABLATE_MPIRUN=$work/stays "$program" run bits.ini -s steps=1000000 --threads 1 --progress plain --db own.db >out 2>err &
host=$!
trains() { [ -n "$(sql "SELECT 1 FROM curves JOIN runs USING (run) WHERE status = 'running' LIMIT 1" own.db)" ]; }
wait_for 60 trains || wrong "the run under an mpirun that stays does not train: $(cat err)"
start=$SECONDS
kill -TERM $host
wait $host
equal $? 143 "exit code after SIGTERM under an mpirun that stays"
[ $((SECONDS - start)) -lt 60 ] || wrong "the job went on for $((SECONDS - start)) s under an mpirun that stays"
equal "$(sql "SELECT status FROM runs ORDER BY run DESC LIMIT 1" own.db)" queued "the run under an mpirun that stays"

# error messages
ABLATE_MPIRUN=no-such-mpirun exits 1 ablate run agree.ini --only a/ranks=2 -s steps=3 --progress plain
has err "mpirun, which starts a run's ranks"
ABLATE_MPI_MODULE=$work/none.so exits 1 ablate run agree.ini --only a/ranks=2 -s steps=4 --progress plain
has err "ABLATE_MPI_MODULE = $work/none.so"
exits 2 ablate run agree.ini -s ranks=0
exits 1 ablate run agree.ini --only a/ranks=2 -s steps=5 --launcher slurm --runs-per-task 2 --progress plain
has err "found 2 runs per task and a run with ranks = 2, expected one run per task for runs with ranks"
finish
