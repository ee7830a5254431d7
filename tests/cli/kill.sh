#!/usr/bin/env bash
# kill -9 of the worker, the host, or both, at random points of a sweep: repeating the command finishes the missing
# runs, loses and duplicates nothing, and gives the numbers of an undisturbed sweep. ABLATE_TEST_KILLS=N: N kills [15;
# `ablate test --all`: 50]. ABLATE_TEST_HOSTS=N: N hosts work on the sweep at the same time.
source "$(dirname "$0")/common.bash" "$@"
kills=15
[ -z "${ABLATE_TEST_LONG-}" ] || kills=50
kills=${ABLATE_TEST_KILLS:-$kills}
RANDOM=$(date +%N | sed 's/^0*//')
seed=$RANDOM
RANDOM=$seed
echo "random numbers from $seed"

tiny kills 150 >spec.ini
printf 'average_checkpoints = 3\n[sweep A]\ncombine = each\nheads = 1, 4\ncheckpoint = best\nattention_dropout = 0.1\n' >>spec.ini
hosts=${ABLATE_TEST_HOSTS:-1}
sweep=(run spec.ini --seeds 1..$((2 * hosts)) --threads 1 --progress plain)

ABLATE_HOME=$work/calm exits 0 ablate "${sweep[@]}" --db calm.db

# Prints the process of a host's worker, or nothing if it has none.
worker_of() {
    local p line
    for p in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
        line=$(tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline")
        [[ $line == *" worker "* ]] && echo "$p"
    done
}
alive() { [ -d "/proc/$1" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }

host=() done_times=0 n=0 n_worker=0 n_host=0 n_both=0
for ((h = 0; h < hosts; h++)); do host+=(0); done
again=()
# Handles the end of host number $1: decides which command starts it again.
ended() {
    local code=0
    wait "${host[$1]}" 2>/dev/null || code=$?
    host[$1]=0
    case $code in
    # the sweep ended before all kills were done: start the sweep again
    0) done_times=$((done_times + 1)) again=(--rerun all) ;;
    1 | 137) ;; # a worker or the host was killed: repeat the command
    *) wrong "the sweep ended with $code" && tail -5 err.txt && finish ;;
    esac
}
shoot() { # PID...: kills these processes; succeeds if the first one was alive
    local first=$1 hit=1
    alive "$first" && kill -9 "$first" 2>/dev/null && hit=0
    shift
    [ $# = 0 ] || kill -9 "$@" 2>/dev/null
    return $hit
}
while [ $n -lt $kills ]; do
    for h in "${!host[@]}"; do
        if [ "${host[$h]}" != 0 ] && ! alive "${host[$h]}"; then ended "$h"; fi
        [ "${host[$h]}" = 0 ] || continue
        "$program" "${sweep[@]}" "${again[@]}" >>out.txt 2>>err.txt &
        host[$h]=$!
        again=()
    done
    sleep "0.$(printf %03d $((RANDOM % 400)))"
    h=$((RANDOM % ${#host[@]})) one=${host[h]}
    alive "$one" || continue
    worker=$(worker_of "$one")
    [ -n "$worker" ] || [ $((RANDOM % 8)) = 0 ] || [ $hosts = 1 ] || continue # mostly kills hosts that are training
    case $((RANDOM % 4))$worker in
    0?*) shoot $worker && n_worker=$((n_worker + 1)) n=$((n + 1)) ;;
    1*) shoot "$one" && n_host=$((n_host + 1)) n=$((n + 1)) && ended $h ;;
    2?*) shoot "$one" $worker && n_both=$((n_both + 1)) n=$((n + 1)) && ended $h ;;
    3?*) shoot $worker "$one" && n_both=$((n_both + 1)) n=$((n + 1)) && ended $h ;;
    esac
done
for h in "${!host[@]}"; do [ "${host[h]}" = 0 ] || ended "$h"; done
echo "killed $n_worker workers, $n_host hosts, $n_both of both; the sweep was done $done_times times meanwhile"
exits 0 ablate "${sweep[@]}"

gone() { [ -z "$(leftovers)" ]; }
wait_for 20 gone || wrong "workers are left: $(leftovers)"
equal "$(sql 'PRAGMA integrity_check')" ok "integrity_check"
equal "$(sql 'PRAGMA foreign_key_check')" "" "foreign_key_check"
equal "$(sql 'SELECT count(*) FROM run')" "$(sql 'SELECT count(*) FROM run' calm.db)" "number of runs"
equal "$(sql "SELECT count(*) FROM run WHERE status<>'done'")" 0 "runs that are not done"
equal "$(sql 'SELECT count(*) FROM attempt WHERE ended_at IS NULL')" 0 "attempts without an end"
equal "$(sql 'SELECT count(*)>=(SELECT count(*) FROM run)+'$((hosts > 1 ? n_worker + n_both : n / 3))' FROM attempt')" 1 "attempts are more than runs"
for what in \
    "SELECT variant,seed,metric,quote(value),step FROM results ORDER BY 1,2,3" \
    "SELECT v.name,r.seed,m.name,q.checkpoint,hex(q.stats) FROM result q JOIN run r ON r.id=q.run_id JOIN variant v ON v.id=r.variant_id
        JOIN metric m ON m.id=q.metric_id ORDER BY 1,2,3" \
    "SELECT v.name,r.seed,m.name,p.step,quote(p.value) FROM point p JOIN run r ON r.id=p.run_id JOIN variant v ON v.id=r.variant_id
        JOIN metric m ON m.id=p.metric_id ORDER BY 1,2,3,4" \
    "SELECT v.name,r.seed,a.kind,a.bytes,a.sha256 FROM artifact a JOIN run r ON r.id=a.run_id JOIN variant v ON v.id=r.variant_id
        ORDER BY 1,2,3"; do
    sql "$what" calm.db >calm.txt
    sql "$what" >killed.txt
    checks=$((checks + 1))
    [ -s calm.txt ] || wrong "nothing to compare: $what"
    diff calm.txt killed.txt >diff.txt || { wrong "differs from the undisturbed sweep: $what" && head -20 diff.txt; }
done
equal "$(find home/runs -name '*.tmp' -path '*-g*' -newer calm.db | head -3)" "" "half-written files left"
equal "$(find home/runs -name 'state.safetensors' -path "*-g$(sql 'SELECT max(generation) FROM run')/*" |
    head -3)" "" "checkpoints left"
grep -q 'resumed at step' home/runs/*/*/log.txt || wrong "no run was ever resumed from a checkpoint"
finish
