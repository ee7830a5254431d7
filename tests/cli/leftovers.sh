#!/usr/bin/env bash
# A run that failed at a checkpoint resumes from the last complete one; the next run removes unneeded checkpoints; a
# database on a read-only medium can be read; names too long for a folder are refused before anything runs.
source "$(dirname "$0")/common.bash" "$@"

tiny full 20 >full.ini
exits 0 ablate run full.ini --dry-run
folder=home/runs/full/$(grep -o 'config [0-9a-f]*' out | head -1 | cut -d' ' -f2)-s1
exits 0 ablate run full.ini --threads 1 --db calm.db

echo "a checkpoint that cannot be written: failed, and the run goes on from the one before"
mkdir -p "$folder-g0/step-20.safetensors"
exits 1 ablate run full.ini --threads 1
has err "step-20.safetensors: the checkpoint could not be written: Is a directory"
checks=$((checks + 1))
[ -f "$folder-g0/state.safetensors" ] || wrong "the state of step 15 is gone"
rmdir "$folder-g0/step-20.safetensors"
exits 0 ablate run full.ini --threads 1 --rerun failed
has "$folder-g0/log.txt" "resumed at step 15"
for what in "SELECT metric,quote(value),step FROM results ORDER BY 1" \
    "SELECT m.name,p.step,quote(p.value) FROM point p JOIN metric m
    ON m.id=p.metric_id ORDER BY 1,2"; do
    equal "$(sql "$what")" "$(sql "$what" calm.db)" "numbers beside those of a run that nothing befell"
done

echo "what a killed host left behind goes with the next run"
left() { ls "$folder"-g*/ | grep -c 'state\|step\|best\|tmp'; }
equal "$(left)" 0 "checkpoints of a done run"
touch "$folder"-g0/{state,step-5,best-5}.safetensors
exits 0 ablate run full.ini --threads 1
equal "$(left)" 0 "checkpoints of a done run whose host was killed before it removed them"
exits 0 ablate run full.ini --threads 1 --rerun all
touch "$folder"-g0/{state,step-5}.safetensors
exits 0 ablate run full.ini --threads 1
equal "$(left)" 0 "checkpoints of an earlier generation"
equal "$(ls "$folder"-g*/model.safetensors | wc -l)" 2 "models stay"

echo "a host killed at each removal of a file in turn"
library=${ABLATE_FAULTS:-$(dirname "$program")/tests/fault.so}
checks=$((checks + 1))
[ -f "$library" ] || wrong "found no $library; ninja -C build tests/fault.so"
export ABLATE_FAULT_COUNT=$work/count
sed 's/^name = .*/name = aimed/' full.ini >aimed.ini
left() { find home/runs/aimed -type f | grep -c '/\(state\|step-\|best\)[^/]*$\|tmp$'; }
kills=0
kept=0
for n in {1..20}; do
    rm -f count
    code=0
    ABLATE_FAULT=unlink:$n:kill LD_PRELOAD=$library ablate run aimed.ini --threads 1 --rerun all >out 2>err || code=$?
    again=()
    if [ $code = 1 ]; then # the worker was killed, while it removed a file
        again=(--rerun failed)
    else
        [ $code = 137 ] || break
        kills=$((kills + 1))
        [ "$(left)" = 0 ] || kept=$((kept + 1))
    fi
    exits 0 ablate run aimed.ini --threads 1 "${again[@]}"
    equal "$(left)" 0 "checkpoints after a kill at removal $n and the same command again"
done
equal "$code" 0 "exit code of a run with fewer removals than $n"
checks=$((checks + 1))
[ $kills -ge 3 ] && [ $kept -ge 3 ] || wrong "$kills kills, $kept of them left files: expected at least 3 of each"
for n in 1 2 3; do # if a removal fails, the file stays; the next run finds and removes it
    rm -f count
    ABLATE_FAULT=unlink:$n:on LD_PRELOAD=$library exits 0 ablate run aimed.ini --threads 1 --rerun all
    exits 0 ablate run aimed.ini --threads 1
    equal "$(left)" 0 "checkpoints after removals that failed from number $n on and the same command again"
done
unset ABLATE_FAULT_COUNT

echo "names"
sed "s/^name = .*/name = $(printf 'x%.0s' {1..300})/" full.ini >long.ini
exits 2 ablate run long.ini
has err "long.ini:2: name: found a name of 300 bytes, expected at most 100"

echo "a database on a read-only medium"
exits 0 ablate table full
cp out writable.txt
mkdir -p medium
cp results.db medium/x.db
if unshare -rm true 2>/dev/null &&
    unshare -rm sh -c "mount --bind medium medium && mount -o remount,bind,ro medium" 2>/dev/null; then
    exits 0 unshare -rm sh -c \
        "mount --bind medium medium && mount -o remount,bind,ro medium && '$program' table full --db medium/x.db"
    equal "$(diff out writable.txt)" "" "a table from a read-only medium"
    exits 1 unshare -rm sh -c \
        "mount --bind medium medium && mount -o remount,bind,ro medium && '$program' run full.ini --db medium/x.db"
    has err "read-only"
else
    echo "no mounts of one's own here: not tried"
fi
finish
