#!/usr/bin/env bash
# A run that failed at a checkpoint resumes from the last complete one; the next run removes unneeded checkpoints; a database on a
# read-only medium can be read; names too long for a folder are refused before anything runs.
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
for what in "SELECT metric,quote(value),step FROM results ORDER BY 1" "SELECT m.name,p.step,quote(p.value) FROM point p JOIN metric m
    ON m.id=p.metric_id ORDER BY 1,2"; do
    equal "$(sql "$what")" "$(sql "$what" calm.db)" "numbers beside those of a run that nothing befell"
done

echo "what a killed host left behind goes with the next run"
left() { ls "$folder"-g*/ | grep -c 'state\|step\|best\|tmp'; }
equal "$(left)" 0 "checkpoints of a done run"
touch "$folder"-g0/{state,step-5,best}.safetensors
exits 0 ablate run full.ini --threads 1
equal "$(left)" 0 "checkpoints of a done run whose host was killed before it removed them"
exits 0 ablate run full.ini --threads 1 --rerun all
touch "$folder"-g0/{state,step-5}.safetensors
exits 0 ablate run full.ini --threads 1
equal "$(left)" 0 "checkpoints of an earlier generation"
equal "$(ls "$folder"-g*/model.safetensors | wc -l)" 2 "models stay"

echo "names"
sed "s/^name = .*/name = $(printf 'x%.0s' {1..300})/" full.ini >long.ini
exits 2 ablate run long.ini
has err "long.ini:2: name: found a name of 300 bytes, expected at most 100"

echo "a database on a read-only medium"
exits 0 ablate table full
cp out writable.txt
mkdir -p medium
cp results.db medium/x.db
if unshare -rm true 2>/dev/null && unshare -rm sh -c "mount --bind medium medium && mount -o remount,bind,ro medium" 2>/dev/null; then
    exits 0 unshare -rm sh -c "mount --bind medium medium && mount -o remount,bind,ro medium && '$program' table full --db medium/x.db"
    equal "$(diff out writable.txt)" "" "a table from a read-only medium"
    exits 1 unshare -rm sh -c "mount --bind medium medium && mount -o remount,bind,ro medium && '$program' run full.ini --db medium/x.db"
    has err "read-only"
else
    echo "no mounts of one's own here: not tried"
fi
finish
