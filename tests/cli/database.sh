#!/usr/bin/env bash
# Databases, INIs and hosts own separate runs: run folders, names of databases, recorded files, several hosts on one
# sweep, and settings of the whole sweep.
source "$(dirname "$0")/common.bash" "$@"
fast=(--threads 1 --progress none)

echo "names that SQLite would take for databases of its own"
tiny small 12 >small.ini
for name in '' :memory: file:x.db; do
    exits 1 ablate run small.ini "${fast[@]}" --db "$name"
    exits 1 ablate ls --db "$name"
done
has err "file:x.db: expected a database file"

echo "standard output that cannot be written"
exits 0 ablate run small.ini "${fast[@]}"
if [ -e /dev/full ]; then
    "$program" ls >/dev/full 2>err
    equal $? 1 "exit code of ls > /dev/full"
    has err "cannot write standard output"
fi

echo "device and threads are the whole sweep's"
{ tiny device 12 && printf 'device = nowhere\n'; } >device.ini
exits 2 ablate run device.ini "${fast[@]}"
has err 'device'
exits 0 ablate run device.ini "${fast[@]}" --device cpu
exits 0 ablate run device.ini --dry-run # a dry run does not need the device
{ tiny device 12 && printf '[variant two]\nthreads = 2\n'; } >device.ini
exits 2 ablate run device.ini --progress none
has err "row two: threads = 2: device and threads apply to the whole sweep"
exits 2 ablate run small.ini --threads 100000
has err "expected a number from 1 to 4096"
exits 2 ablate run small.ini --workers 4294967297
has err "expected a number from 1 to 64"
exits 2 ablate run small.ini --dryrun
has err "did you mean --dry-run?"
exits 0 ablate run --help
has out "usage: ablate run SPEC.ini"

echo "data made from the run's own seed"
{ tiny seeds 12 && printf 'sequence.data_seed = run\n'; } >seeds.ini
exits 0 ablate run seeds.ini "${fast[@]}" --seeds 1,2
equal "$(cat home/runs/seeds/*/test.ref | sort -u | wc -l | awk '{print ($1 > 30)}')" 1 "two seeds have other data"
equal "$(sql "SELECT count(DISTINCT sha256) FROM artifact WHERE path LIKE '%/seeds/%test.ref'")" 2 \
    "references of two seeds"

echo "a difference and its p are of the same seeds; p only over the same sentences"
{ tiny rows 12 && printf 'sequence.data_seed = 1\n[variant other]\nsequence.data_seed = 2\n[variant same]\nlr = 0.004\n'
} >rows.ini
exits 0 ablate run rows.ini "${fast[@]}" --seeds 1
exits 0 ablate table rows --format csv
p_of() { tr -d '\r' <out |
    awk -F, -v row="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "p_models") c = i } $2 == row { print ($c == "" ? "none" : "some") }'; }
equal "$(p_of base) $(p_of other) $(p_of same)" "none none some" \
    "p of base, of the row with other data, of the row with the same"

echo "two databases in one folder have run folders of their own"
exits 0 ablate run small.ini "${fast[@]}" --db other.db
equal "$(ls other.db.runs/small/*/model.safetensors | wc -l)" 1 "models of the other database"
equal "$(ls home/runs/small/*/model.safetensors | wc -l)" 1 "models of the first one"
exits 0 ablate ls small --db other.db
equal "$(sql "SELECT count(*) FROM artifact WHERE path NOT LIKE '/%'" other.db)" 0 \
    "artifacts whose place depends on where one stands"
rm other.db.runs/small/*/model.safetensors
exits 0 ablate translate --run small/base <<<"s0001"

echo "a setting that cannot change a result leaves a run its checkpoint; a run that is queued afresh begins afresh"
tiny long 100000 >long.ini
training() { grep -q 'dev PPL' home/runs/long/*/log.txt; }
stop_it() { # ARGUMENTS...: starts a run, waits for its first checkpoint, and stops it as Ctrl-C would
    rm -f home/runs/long/*/log.txt
    "$program" run long.ini "${fast[@]}" "$@" >/dev/null 2>&1 &
    wait_for 30 training || wrong "no training was seen"
    kill -TERM $!
    wait
}
stop_it
folders=$(ls home/runs/long | wc -l)
stop_it -s decode_batch=7
equal "$(ls home/runs/long | wc -l)" "$folders" "folders after another decode_batch"
has "$(ls home/runs/long/*/log.txt)" "resumed at step"
for run in home/runs/small/*-g0; do
    left=${run%-g0}-g1
    mkdir "$left"
    echo "of a run that was removed" | tee "$left/log.txt" >"$left/state.safetensors"
done
exits 0 ablate run small.ini "${fast[@]}" --rerun all
hasnt "$left/log.txt" "of a run that was removed"

echo "recorded files: no folder of this machine, and statistics as they were"
mkdir -p "$work/d"
exits 0 env ABLATE_DATA="$work/d" "$program" run small.ini "${fast[@]}" --rerun all
exits 0 env ABLATE_DATA=/ "$program" record small one.json
exits 0 env ABLATE_DATA="$work/d" ABLATE_HOME="$work/home" "$program" record small two.json
hasnt two.json "$work"
has two.json '\"file\":\"plugins/optimizer/adam.so\"'
hasnt two.json "/plugins/"
statistics() { sed -n '/^"columns"/,$p' "$1"; }
has one.json '"columns":['
equal "$(statistics one.json)" "$(statistics two.json)" "statistics in both files"
for k in {1..80}; do echo "word$k and more"; done | tee d/text.en >d/text.de
{ tiny pairs 4 | grep -v '^task\|^sequence' && printf 'translation.data = %s\nvocab = words\n' "$work/d/text.en+$work/d/text.de"; } >pairs.ini
exits 0 env ABLATE_DATA="$work/d" "$program" run pairs.ini "${fast[@]}"
exits 0 env ABLATE_DATA="$work/d" "$program" record pairs pairs.json
has pairs.json '"$ABLATE_DATA/text.en+$ABLATE_DATA/text.de"'
hasnt pairs.json "$work"
exits 0 env ABLATE_DATA="$work/d" "$program" verify pairs.json
has out "retrained: 1 of 1 runs with the same digits"
exits 0 ablate import two.json --db new.db
equal "$(sql "SELECT count(*) FROM results WHERE experiment='small.recorded' AND value IS NOT NULL" new.db |
    awk '{print ($1 > 0)}')" 1 "imported results"
exits 1 ablate record small none.json --db none.db
has err "no database at none.db"
exits 1 ablate sync --db none.db
has err "no database at none.db"
exits 1 test -e none.db
exits 1 ablate sync smal
has err 'found no experiment "smal"'
exits 0 ablate sync small
exits 2 ablate ls small --recorded
has err "--recorded cannot be combined with an experiment"

echo "another host's spec does not take rows away"
tiny shared 100000 >shared.ini
printf '[sweep A]\nheads = 1, 4\n' >>shared.ini
"$program" run shared.ini "${fast[@]}" >/dev/null 2>&1 &
host=$!
wait_for 30 test -e home/runs/shared || wrong "the first host did not begin"
wait_for 30 sh -c "ls home/runs/shared/*/log.txt" || wrong "no run began"
tiny shared 12 >changed.ini
exits 1 ablate run changed.ini "${fast[@]}"
has err "another process is training this experiment"
exits 1 ablate run shared.ini --threads 1 --progress plain --only base
has err "running in another process"
kill -TERM $host
wait

echo "a host that was killed holds nothing"
"$program" run shared.ini "${fast[@]}" >/dev/null 2>&1 &
host=$!
is_running() { [ "$(sql "SELECT count(*) FROM run WHERE status='running'")" = 1 ]; }
wait_for 30 is_running || wrong "the host to be killed did not begin"
kill -9 $host
wait 2>/dev/null
exits 0 ablate run changed.ini "${fast[@]}"

echo "early stopping between checkpoints, and an average that ends at the best"
{ tiny early 600 && printf 'eval_every = 30\nsave_every = 100\npatience = 1\naverage_checkpoints = 3\nlr = 0.5\n'; } |
    awk '!/^(eval_every|save_every) = (10|5)$/ && !/^lr = 0.005/' >early.ini
exits 0 ablate run early.ini "${fast[@]}"
{ tiny best 200 && printf 'checkpoint = best\naverage_checkpoints = 2\n'; } >best.ini
exits 0 ablate run best.ini "${fast[@]}"
equal "$(sql "SELECT checkpoint FROM result q JOIN run r ON r.id=run_id JOIN variant v ON v.id=variant_id JOIN experiment x ON x.id=experiment_id
    JOIN metric m ON m.id=metric_id WHERE x.name='best' AND m.name='PPL'" |
        tr -d '"')" "average of 2, best" "weights of the result"
# A small `ablate-bench host` prints every figure and leaves no files.
mkdir bench
exits 0 "${ABLATE_BENCH:-$program-bench}" host --folder bench --runs 20 --points 30 --workers 5 --events 200 --rows 6 --seeds 5 \
    --watched 100 --queued 200
for key in events_second points_second host_run_seconds_of_100 host_run_seconds bytes_point table_seconds ls_seconds; do
    grep -q "\"$key\":[0-9.]*[1-9]" out || wrong "ablate-bench host gave no $key: $(cat out)"
done
equal "$(ls bench)" "" "what ablate-bench host left"
finish
