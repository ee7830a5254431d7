#!/usr/bin/env bash
# verify and publish that end by a signal leave neither a folder, nor a part of one, nor a training process.
source "$(dirname "$0")/../cli/common.bash" "$@"
tiny ended 3000 >ended.ini
sed -i 's/^eval_every.*/eval_every = 1000/; s/^save_every.*/save_every = 1000/' ended.ini
exits 0 ablate run ended.ini --threads 1 --progress none
exits 0 ablate publish ended pub
mkdir tmp && export TMPDIR=$work/tmp
gone() { [ -z "$(ls "$TMPDIR")" ] && ! ls -d ./*.part >/dev/null 2>&1; }
trains() { compgen -G "$TMPDIR/*/retrain.db" && children; }
children() { pgrep -f "$TMPDIR/ablate-" >/dev/null; }

for signal in TERM INT HUP KILL; do
    "$program" verify pub >out 2>err &
    pid=$!
    checks=$((checks + 1))
    wait_for 20 trains || wrong "verify trains nothing: $(cat out err)"
    kill -$signal $pid
    wait $pid 2>/dev/null
    wait_for 20 gone || wrong "after SIG$signal verify leaves $(ls "$TMPDIR")"
    children && wrong "after SIG$signal its training goes on: $(pgrep -fa "$TMPDIR/ablate-")"
done
# stops SECONDS: a signal ends publish after that pause; SECONDS "part": as soon as a part of the folder exists
stops() {
    "$program" publish ended "new$1" >out 2>err &
    pid=$!
    wait_for 5 compgen -G "$TMPDIR/*"
    [ "$1" = part ] || sleep "$1"
    while [ "$1" = part ] && ! compgen -G './*.part' >/dev/null && kill -0 $pid 2>/dev/null; do :; done
    kill -TERM $pid 2>/dev/null
    wait $pid 2>/dev/null
    checks=$((checks + 1))
    wait_for 20 gone || wrong "publish leaves $(ls -d "$TMPDIR"/* ./*.part)"
}
for pause in 0.01 0.02 0.03 0.04 0.05 0.06 part part part; do rm -rf newpart && stops $pause; done
exits 0 ablate publish ended last
exits 0 ablate verify last --runs 0
finish
