#!/usr/bin/env bash
# start_step: a run continues from another run's state, with its parameters, optimizer, step and position in the data.
# If its settings equal the other run's, it gives that run's bits; with changed settings it gives results of its own.
source "$(dirname "$0")/common.bash" "$@"
fast=(--threads 1 --progress none)
some() { tiny "$1" 120 | sed 's/^save_every.*/save_every = 20/; s/^schedule.*/schedule = linear/'; printf '%s\n' "${@:2}"; }
some first 'keep_states = 3' >first.ini
exits 0 ablate run first.ini "${fast[@]}"
equal "$(cd home/runs/first/*/ && echo state-*)" "state-100.safetensors state-120.safetensors state-80.safetensors" "states"
fork=(start_from=first/base@1 start_step=80)
from=("${fork[@]/=/ = }")

echo "without a change it is the rest of the same run"
some fork "${from[@]}" '[variant cold]' 'lr = 0.0001' '[variant free]' 'dropout = 0' >fork.ini
exits 0 ablate run fork.ini "${fast[@]}"
rest() { sql "SELECT group_concat(s||'='||printf('%.17g',value)) FROM (SELECT p.step s,value FROM point p
    JOIN metric m ON m.id=p.metric_id JOIN run r ON r.id=p.run_id JOIN variant v ON v.id=r.variant_id
    JOIN experiment x ON x.id=v.experiment_id WHERE x.name='$1' AND v.name='$2' AND m.name='$3' AND p.step>80 ORDER BY p.step)"; }
for curve in dev_PPL train_PPL lr; do equal "$(rest fork base $curve)" "$(rest first base $curve)" "$curve"; done
equal "$(sql "SELECT min(p.step) FROM point p JOIN run r ON r.id=p.run_id JOIN variant v ON v.id=r.variant_id
    JOIN experiment x ON x.id=v.experiment_id WHERE x.name='fork'")" 90 "the other's curve stays its own"
for row in cold free; do [ "$(rest fork $row dev_PPL)" != "$(rest first base dev_PPL)" ] || wrong "$row changes nothing"; done
exits 0 ablate show fork/cold
has out "step 80 of $work/home/runs/first/"
has out "parameters, optimizer and place in the data"
exits 0 ablate replay fork/cold --step 100
has out "curves: 4 of 4 points are as recorded"
exits 1 ablate replay fork/cold --step 80
has err "step 80: the run starts after step 80 of another run"
exits 0 ablate replay fork.ini/free --step 81 -s threads=1
has out "loss "

echo "other batches go on with the next epoch"
some other "${from[@]}" 'max_length = 4' | sed 's/^batch_tokens.*/batch_tokens = 4000/' >other.ini
exits 0 ablate run other.ini "${fast[@]}"
exits 0 ablate show other/base
has out "parameters, optimizer; the data from the next epoch on"

echo "what does not fit is said"
some late 'start_from = first/base@1' 'start_step = 60' >late.ini
exits 2 ablate run late.ini "${fast[@]}"
has err "run first/base@1 has no state of step 60 left, only of 80, 100, 120"
some none "${from[@]}" | sed 's/first.base@1/fork\/base/' >none.ini
exits 2 ablate run none.ini "${fast[@]}"
has err "run fork/base has no state left; with keep_states = N"
some wide "${from[@]}" | sed 's/^d_ff.*/d_ff = 48/' >wide.ini
exits 1 ablate run wide.ini "${fast[@]}"
exits 0 ablate watch wide/base --log
has out "start_step = 80: "
some sgd "${from[@]}" 'optimizer = sgd' >sgd.ini
exits 1 ablate run sgd.ini "${fast[@]}"
exits 0 ablate watch sgd/base --log
has out "has the state of optimizer = adam, not of sgd"
some far 'start_from = first/base@1' 'start_step = 120' >far.ini
exits 2 ablate run far.ini "${fast[@]}"
has err "start_step: found 120 with start_from = first/base@1 and steps = 120"
finish
