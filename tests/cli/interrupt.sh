#!/usr/bin/env bash
# Ctrl-C once, twice, three times; SIGTERM and SIGHUP: exit codes, messages, remaining files, and the numbers after
# resuming.
source "$(dirname "$0")/common.bash" "$@"

tiny long 1800 >long.ini
printf 'dropout = 0.2\n[sweep A]\nheads = 4\n' >>long.ini
sed -i 's/^save_every.*/save_every = 1400/; s/^eval_every.*/eval_every = 300/' long.ini
tiny stuck 1000 >stuck.ini
printf 'gradient_accumulation = 60000\n' >>stuck.ini # one update takes minutes

# start SPEC...: starts the host in its own process group, as a terminal does. The output files are emptied first, so
# that text in them shows that this host runs and has its process group and handlers.
start() {
    : >out
    : >err
    setsid env --default-signal=INT,TERM,HUP "$program" run "$@" --threads 1 --progress plain >out 2>err &
    host=$!
}
ctrl_c() { kill -INT -- "-$host"; }
# ends CODE SECONDS WHAT: waits until the host ends, and checks its exit code.
ended() { ! [ -d "/proc/$host" ] || grep -q '^State:.Z' "/proc/$host/status"; }
ends() {
    wait_for "$2" ended || wrong "$3: still there after $2 s"
    local code=0
    wait "$host" || code=$?
    equal $code "$1" "$3: exit code"
}
training() { grep -q 'step [1-9][0-9]*: dev PPL' home/runs/long/*/log.txt; }
in_phase() { [ "$(ls home/runs/"$1"/*/lock 2>/dev/null | wc -l)" -ge 1 ]; }
numbers="SELECT variant,seed,metric,quote(value),step FROM results ORDER BY 1,2,3"
curves="SELECT v.name,m.name,p.step,quote(p.value) FROM point p JOIN run r ON r.id=p.run_id JOIN variant v ON v.id=r.variant_id
    JOIN metric m ON m.id=p.metric_id ORDER BY 1,2,3"

ABLATE_HOME=$work/calm exits 0 ablate run long.ini --threads 1 --db calm.db

echo "one Ctrl-C"
start long.ini -s d_ff=32
wait_for 60 training || wrong "no training began: $(cat err)"
ctrl_c
ends 130 30 "Ctrl-C"
has err "interrupted"
has err "to resume: $program run long.ini -s d_ff=32 --threads 1 --progress plain"
hasnt err "killed"
equal "$(sql "SELECT status||' '||count(*) FROM run GROUP BY status")" "queued 2" "runs after Ctrl-C"
equal "$(sql 'SELECT count(*) FROM attempt')" 1 "attempts after Ctrl-C: no further run was begun"
equal "$(sql 'SELECT exit_code FROM attempt')" 75 "exit status of the worker"
equal "$(ls home/runs/long/*/state.safetensors | wc -l)" 1 "checkpoints after Ctrl-C"

echo "SIGTERM in a later run, SIGHUP"
start long.ini -s d_ff=32
second_trains() { [ "$(grep -l 'step [1-9][0-9]*: dev PPL' home/runs/long/*/log.txt | wc -l)" -ge 2 ]; }
wait_for 60 second_trains || wrong "no second run: $(cat err)"
kill -TERM $host
ends 143 30 "SIGTERM"
has err "to resume: "
start long.ini -s d_ff=32
wait_for 60 grep -q eval err || wrong "no evaluation: $(cat err)"
kill -HUP $host
ends 129 30 "SIGHUP"

echo "Ctrl-C while a worker starts"
for pause in 0.02 0.05 0.1; do
    start long.ini -s d_ff=32
    wait_for 30 grep -qE '^(start|resume) ' err
    sleep $pause
    ctrl_c
    ends 130 30 "early Ctrl-C"
done
exits 0 ablate run long.ini -s d_ff=32 --threads 1
cat home/runs/long/*/log.txt >log
grep -o 'resumed at step [0-9]*' log | sort | uniq -c | tr '\n' ';'
checks=$((checks + 1))
grep 'resumed at step' log | grep -qv 'step 1[48]00 from' || wrong "no run went on from where it was interrupted"
for what in "$numbers" "$curves"; do
    sql "$what" >found.txt
    sql "$what" calm.db >calm.txt
    checks=$((checks + 1))
    cmp found.txt calm.txt || { wrong "numbers differ from those of an undisturbed sweep" && diff calm.txt found.txt; }
done

echo "one SIGTERM while a step takes minutes: the worker leaves where it stands"
start stuck.ini
wait_for 30 in_phase stuck || wrong "no worker began: $(cat err)"
training_alone() { [ "$(sql \
    "SELECT count(*) FROM tag t JOIN run r ON r.id=t.run_id WHERE tag='precision' AND r.status='running'")" = 1 ]; }
wait_for 30 training_alone || wrong "no training began: $(cat err)"
sleep 0.3
kill -TERM $host
ends 143 20 "SIGTERM in a long step"
equal "$(leftovers)" "" "workers left"

echo "two Ctrl-C"
start stuck.ini
wait_for 30 in_phase stuck || wrong "no worker began: $(cat err)"
training_stuck() { [ "$(sql \
    "SELECT count(*) FROM tag t JOIN run r ON r.id=t.run_id WHERE tag='precision' AND r.status='running'")" = 1 ]; }
wait_for 30 training_stuck || wrong "no training began: $(cat err)"
sleep 0.3
ctrl_c
sleep 0.7
checks=$((checks + 1))
ended && wrong "one Ctrl-C did not wait for the checkpoint: $(cat err)"
ctrl_c
ends 130 10 "second Ctrl-C"
has err "again to stop them at once"
has err "interrupted again"
equal "$(sql "SELECT status FROM run r JOIN variant v ON v.id=r.variant_id JOIN experiment x ON x.id=v.experiment_id
    WHERE x.name='stuck'")" queued "status after two Ctrl-C"

echo "three Ctrl-C"
start stuck.ini
again() { [ "$(sql "SELECT count(*) FROM run WHERE status='running'")" = 1 ] && [ -n "$(leftovers)" ]; }
wait_for 30 again
worker=$(leftovers)
kill -STOP $worker # a stopped process ends by SIGKILL only
for i in 1 2; do ctrl_c && sleep 0.4; done
checks=$((checks + 1))
ended && wrong "two Ctrl-C ended a worker that was stopped: $(cat err)"
ctrl_c
ends 130 10 "third Ctrl-C"
has err "killing the workers"
equal "$(leftovers)" "" "workers left"
equal "$(sql "SELECT status FROM run r JOIN variant v ON v.id=r.variant_id JOIN experiment x ON x.id=v.experiment_id
    WHERE x.name='stuck'")" killed "status after three Ctrl-C"
equal "$(sql 'PRAGMA integrity_check')" ok "integrity_check"

echo "a host that was told to ignore hang-ups (nohup) goes on"
exits 0 ablate rm --experiment long --yes
: >err
(trap '' HUP && exec setsid "$program" run long.ini --only base --threads 1 --progress plain >out 2>err) &
host=$!
wait_for 60 grep -q eval err
kill -HUP $host
ends 0 60 "nohup"
finish
