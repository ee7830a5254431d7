#!/usr/bin/env bash
# Array jobs are split to stay below MaxArraySize and MaxJobCount; a stand-in for Slurm runs the tasks here. All runs
# are trained; if sbatch refuses a part, its message is shown and the part's runs stay queued.
source "$(dirname "$0")/common.bash" "$@"
mkdir bin queue
export PATH=$work/bin:$PATH ABLATE_TASK_LEASE=1 W=$work
cat >bin/scontrol <<'S'
#!/bin/sh
echo "$@" >>"$W/asked"
printf 'Configuration data\nMaxArraySize            = %s\nMaxJobCount             = %s\n' "$ARRAY" "$JOBS"
S
cat >bin/sbatch <<'S'
#!/usr/bin/env bash
for script; do :; done
id=$(($(wc -l <"$W/submitted") + 100))
[ "$id" -lt "${REFUSE:-1000}" ] || { echo "sbatch: error: QOSMaxSubmitJobPerUserLimit" >&2; exit 1; }
last=$(sed -n 's/^#SBATCH --array=0-//p' "$script")
for k in $(seq 0 "$last"); do touch "$W/queue/${id}_$k"; done
echo "0-$last $(ls "$W/queue" | wc -l)" >>"$W/submitted"
(for k in $(seq 0 "$last"); do SLURM_ARRAY_TASK_ID=$k sh "$script"; rm "$W/queue/${id}_$k"; done) >"$W/tasks" 2>&1 3>&- &
echo "$id"
S
cat >bin/squeue <<'S'
#!/bin/sh
ls "$W/queue" | sed 's/$/ RUNNING/'
S
printf '#!/bin/sh\n' >bin/scancel
chmod +x bin/*
begin() {
    : >submitted
    rm -f "$ABLATE_DB"* asked
    tiny "$1" 3 >$1.ini
}
done_runs() { sql "SELECT count(*) FROM run WHERE status='done'"; }

begin arrays
ARRAY=4 JOBS=1000 exits 0 ablate run arrays.ini --seeds 1..10 --threads 1 --launcher slurm --progress plain
equal "$(cut -d' ' -f1 submitted | tr '\n' ' ')" "0-2 0-2 0-2 0-0 " "arrays below MaxArraySize"
equal "$(done_runs)" 10 "runs done in four parts"
equal "$(sql "SELECT group_concat(slurm_job,' ') FROM (SELECT slurm_job FROM attempt ORDER BY run_id)" | tr -d '"')" \
    "100_0 100_1 100_2 101_0 101_1 101_2 102_0 102_1 102_2 103_0" "tasks of the runs"

begin jobs
ARRAY=1001 JOBS=5 exits 0 ablate run jobs.ini --seeds 1..10 --runs-per-task 2 --threads 1 --launcher slurm
equal "$(cut -d' ' -f1 submitted | tr '\n' ' ')" "0-3 0-0 " "jobs below MaxJobCount, one after the other"
equal "$(done_runs)" 10 "runs done in two rounds"
equal "$(wc -l <asked)" 1 "questions for the limits"

begin refused
export REFUSE=102
ARRAY=4 JOBS=1000 exits 0 ablate run refused.ini --seeds 1..10 --threads 1 --launcher slurm --detach --progress plain
has err "sbatch did not accept the job: sbatch: error: QOSMaxSubmitJobPerUserLimit: 6 of 10 tasks were submitted"
equal "$(sql "SELECT count(*) FROM run WHERE status='queued'")" 4 "runs of the parts that were refused"
exits 0 ablate sync refused --wait
equal "$(done_runs)" 6 "runs of the parts that were taken"
: >submitted
REFUSE=100 ARRAY=4 JOBS=1000 exits 1 ablate run refused.ini --seeds 1..10 --threads 1 --launcher slurm --progress plain
has err "sbatch did not accept the job: sbatch: error: QOSMaxSubmitJobPerUserLimit"
equal "$(sql "SELECT count(*) FROM run WHERE status='queued'")" 4 "queued runs where sbatch takes nothing"
finish
