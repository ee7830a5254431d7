#!/usr/bin/env bash
# A sweep of 12 runs on a real Slurm with two nodes: one worker is killed, one task cancelled, and one task requeued.
# All 12 results equal those of a local sweep, bit for bit. Then a detached sweep runs, and `ablate sync` reads its
# results.
source "$(dirname "$0")/common.bash" "$@"
source "$source/tests/slurm.bash"
why=$(slurm_missing)
[ -z "$why" ] || { echo "skipped: $why"; exit 77; }
cluster=$(mktemp -d)
trap 'slurm_stop "$cluster"; sleep 0.5; rm -rf "$cluster"; clean_up' EXIT
slurm_start "$cluster" 2 1 ||
    { echo "skipped: Slurm does not start here: $(tail -n 3 "$cluster"/*.out "$cluster"/*.log 2>/dev/null |
    tr '\n' ' ')"; exit 77; }

sweep() { # NAME STEPS
    tiny "$1" "$2"
    printf '[sweep a]\ncombine = grid\nheads = 1, 2, 4, 8, 16\ndropout = 0, 0.1\n[sweep b]\nd_ff = 16, 24\n'
}
sweep far 1500 >far.ini
sed 's/^name = far/name = near/' far.ini >near.ini
exits 0 ablate run near.ini --threads 1 --workers 2 --progress none

ablate run far.ini --threads 1 --launcher slurm --progress plain >far.out 2>far.err &
host=$!
running() { [ "$(squeue -h -r -t R | wc -l)" -ge "$1" ]; }
wait_for 60 running 2 || { wrong "no two tasks run: $(squeue -h -r; cat far.err)"; finish; }
job=$(sed -n 's/.*Slurm job \([0-9]*\):.*/\1/p' far.err)
[ -n "$job" ] || wrong "the host named no job: $(cat far.err)"
worker_of() { for p in $(pgrep -f "ablate worker .*$work"); do echo "$p"; done | head -n 1; }
wait_for 30 eval '[ -n "$(worker_of)" ]' &&
    kill -9 "$(worker_of)"           # a worker is killed: its run must end as killed
later() { squeue -h -r -t R -o %i | tail -n 1; }
wait_for 60 running 1; cancelled=$(later); scancel "$cancelled"               # a task that is cancelled
sleep 1
wait_for 60 running 1; again=$(later); scontrol requeue "$again"              # a task that Slurm queues again
waits_again() { [ "$(squeue -h -j "$again" -o %T)" = PENDING ]; }
wait_for 30 waits_again &&
    scontrol update JobId="$again" StartTime=now       # runs now; Slurm would wait two minutes
wait $host
code=$?
[ $code = 1 ] || wrong "after a kill and a cancellation: found exit code $code, expected 1; $(cat far.err)"
left=$(sql "SELECT count(*) FROM runs WHERE experiment='far' AND status='done'")
[ "$left" -ge 9 ] && [ "$left" -lt 12 ] || wrong "found $left runs done after the faults, expected 9 to 11"
exits 0 ablate run far.ini --threads 1 --launcher slurm --progress plain
equal "$(sql "SELECT count(*) FROM runs WHERE experiment='far' AND status='done'")" 12 "runs done in the end"
figures() { sql "SELECT variant,metric,printf('%.17g',value) FROM results WHERE experiment='$1' ORDER BY 1,2"; }
equal "$(figures far)" "$(figures near)" "results through Slurm and on this machine"
equal "$(ls "$ABLATE_HOME"/runs/far/slurm 2>/dev/null)" "" "folders of finished jobs"

sweep away 300 >away.ini
exits 0 ablate run away.ini --threads 1 --launcher slurm --detach --runs-per-task 4 --progress plain
has err "are in Slurm"
equal "$(sql "SELECT count(*) FROM runs WHERE experiment='away' AND status='running'")" 12 "runs away"
exits 0 ablate sync away --wait
has out "12 runs ended, 0 not finished"
equal "$(sql "SELECT count(*) FROM runs WHERE experiment='away' AND status='done'")" 12 "runs done by a detached sweep"
exits 0 ablate sync
exits 1 ablate run away.ini --threads 1 --launcher slurm --slurm-args "-p no_such_partition" -s steps=301
has err "sbatch did not accept the job"

# sbatch gets the options in [slurm] of the INI.
{ tiny asks 10; printf '[slurm]\npartition = all\ntime = 7\nextra = --comment=from-the-ini\n'; } >asks.ini
exits 0 ablate run asks.ini --threads 1 --launcher slurm --detach --progress plain
equal "$(squeue -h -o '%P %l %k')" "all 7:00 from-the-ini" "what Slurm was asked for"
exits 0 ablate sync asks --wait

# `ls` asks squeue which submitted runs are waiting.
sweep shown 3000 >shown.ini
exits 0 ablate run shown.ini --threads 1 --launcher slurm --detach --progress plain
wait_for 60 running 2
ablate ls shown >out
equal "$(grep -c 'queued, Slurm: PENDING' out)" 10 "runs whose tasks wait"
equal "$(ablate ls | awk '$1 == "shown" {print $5, $6}')" "2 10" "running and queued in ls"
equal "$(PATH=$work ablate ls shown | grep -c ' running')" 12 "runs that are away, without squeue"
scancel -u "$(id -un)"
exits 0 ablate sync shown --wait

# Two ranks on two nodes give the bits of two ranks on this machine, also if one rank is killed.
source "$source/tests/mpi.bash"
why=$(mpi_missing "$(dirname "$program")" "$source")
[ -z "$why" ] || { echo "ranks were left out: $why"; finish; }
mpi_use "$(dirname "$program")"
{ tiny pair 40; printf 'ranks = 2\n'; } >pair.ini
sed 's/^name = pair/name = here/' pair.ini >here.ini
exits 0 ablate run here.ini --threads 1 --progress none
exits 0 ablate run pair.ini --threads 1 --launcher slurm --progress plain
equal "$(figures pair)" "$(figures here)" "results of two ranks through Slurm and on this machine"
{ tiny lost 3000; printf 'ranks = 2\n'; } >lost.ini
ablate run lost.ini --threads 1 --launcher slurm --progress plain >out 2>err &
host=$!
second() { for p in $(pgrep -f "worker --folder $work/")
do grep -qz '^OMPI_COMM_WORLD_RANK=1$' "/proc/$p/environ" 2>/dev/null && echo "$p"; done; }
wait_for 60 eval '[ -n "$(second)" ] && [ -n "$(find home/runs/lost -name state.safetensors)" ]' ||
    wrong "no second rank trains: $(cat err)"
start=$SECONDS
kill -9 "$(second)"
wait $host
equal $? 1 "exit code after a rank was killed"
[ $((SECONDS - start)) -lt 60 ] || wrong "the job went on for $((SECONDS - start)) s after a rank was killed"
equal "$(sql "SELECT status FROM runs WHERE experiment='lost'")" killed "the run whose rank was killed"
finish
