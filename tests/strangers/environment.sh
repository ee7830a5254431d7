#!/usr/bin/env bash
# Environment variables that launchers set for a job, with hostile values: values that are not numbers are refused with
# the variable's name or reported; no control byte reaches a terminal, and no shell runs a value.
source "$(dirname "$0")/../cli/common.bash" "$@"
values=("" " " -1 -9223372036854775808 99999999999999999999 1e400 nan 0x10 "1;touch TOUCHED" '$(touch TOUCHED)' "--help"
    "../../../up" $'\033[2J\r\nup' "$(printf 'x%.0s' {1..5000})")
# obeys FILE: true if it has a byte that a terminal would obey.
obeys() { LC_ALL=C grep -aqP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$1"; }

echo "numbers of ablate's own variables"
for name in ABLATE_CHECK_SECONDS ABLATE_DATABASE_WAIT ABLATE_KEEP_FREE ABLATE_LANDLOCK ABLATE_TASK_LEASE; do
    for value in "${values[@]:1}"; do
        [ "$value" != 99999999999999999999 ] || continue # a valid number
        exits 2 env "$name=$value" "$program" --version
        has err "ablate: $name: found \""
        checks=$((checks + 1))
        obeys err && wrong "$name: its message has control characters: $(cat -v err | head -2)"
    done
    for value in "" 0 1e3 99999999999999999999; do exits 0 env "$name=$value" "$program" --version; done
done

echo "Slurm's words in a task: its batch script and the task that it starts"
tiny hostile 4 >hostile.ini
mkdir bin
printf '#!/bin/sh\necho 17\n' >bin/sbatch
printf '#!/bin/sh\nprintf "%%s\\n" "$@" >>%s/told\n' "$work" | tee bin/scontrol bin/squeue bin/scancel >bin/sacct
chmod +x bin/*
export PATH=$work/bin:$PATH
run() { # the sweep's runs, away
    rm -rf s.db*
    exits 0 ablate run hostile.ini --db s.db --launcher slurm --detach
    script=$(find s.db.runs -name job.sh)
}
run
for shell in sh bash; do
    for value in "${values[@]}" 'a[$(touch TOUCHED)]' '${x:=$(touch TOUCHED)}' 0+1; do
        exits 1 env "SLURM_ARRAY_TASK_ID=$value" $shell "$script"
        has out "SLURM_ARRAY_TASK_ID: expected a number"
    done
done
for value in "${values[@]}"; do
    run
    env SLURM_ARRAY_TASK_ID=0 "SLURM_CPUS_PER_TASK=$value" "SLURM_JOB_ID=$value" "SLURM_ARRAY_JOB_ID=$value" \
        "SLURM_NTASKS=$value" "SLURM_PROCID=$value" "OMPI_COMM_WORLD_RANK=$value" "OMPI_COMM_WORLD_SIZE=$value" \
        "PMI_RANK=$value" "PMI_SIZE=$value" timeout 60 sh "$script" >out 2>err
    equal $? 0 "exit code of a task with $(cat -v <<<"$value")"
    checks=$((checks + 1))
    obeys err && wrong "its message has control characters: $(cat -v err | head -2)"
    [ -z "$value" ] || has err "SLURM_CPUS_PER_TASK: found \""
    exits 0 ablate sync hostile --db s.db
    equal "$(sql "SELECT status FROM run" s.db)" done "its run"
    exits 0 ablate show hostile/base --db s.db
    obeys out && wrong "show prints control characters: $(cat -v out | grep -m1 up)"
done
echo "at its end a task asks Slurm by the number of its job only"
tiny hostile 10000000 | sed 's/^save_every.*/save_every = 100/; s/^eval_every.*/eval_every = 1000000/' >hostile.ini
run
trains() { find s.db.runs -name state.safetensors -newer mark | grep -q .; }
for value in 17 "${values[@]:1}"; do
    touch mark
    : >told
    SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_JOB_ID=$value sh "$script" >out 2>err &
    task=$!
    wait_for 60 trains || wrong "the task trains nothing: $(cat err)"
    kill -USR1 $task
    wait $task
    [ "$value" != 17 ] || equal "$(xargs <told)" "requeue 17_0" "Slurm was asked"
    [ "$value" = 17 ] || { equal "$(cat told)" "" "Slurm was asked" && has err "Slurm did not requeue this task"; }
done
equal "$(ls TOUCHED 2>/dev/null)" "" "what the environment made a shell run"
finish
