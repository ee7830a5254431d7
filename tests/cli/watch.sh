#!/usr/bin/env bash
# ablate watch, diff, tag and watch --log, during a sweep and afterwards; no line is wider than the terminal.
source "$(dirname "$0")/common.bash" "$@"

{ tiny toys 12 && printf '[variant one head]\nheads = 1\n[variant broken]\nlr = 1000\n'; } >toys.ini
exits 1 ablate watch
has err "no database at"
ablate run toys.ini --threads 1 --progress none --seeds 1,2 >/dev/null 2>&1

echo "watch"
exits 3 ablate watch toys --once
has out "toys  6 runs: "
has out "base"
for width in 80 120 200; do
    COLUMNS=$width exits 3 ablate watch --once
    equal "$(perl -CS -ne "chomp; print if length > $width" out | wc -l)" 0 "lines wider than $width"
done
has out "✓✓"
has out "12/12"
has out " ± "
if command -v script >/dev/null; then # On a terminal `ablate watch` uses the alternate screen, and the key q ends it.
    (sleep 1; printf q) | timeout 20 script -qec "TERM=xterm $program watch toys" /dev/null >screen
    equal "$(grep -c $'\033\\[?1049h' screen)" 1 "the other screen"
    equal "$(grep -c $'\033\\[?1049l' screen)" 1 "back from it"
    has screen "toys  6 runs"
else
    echo "skipped: a terminal (there is no program \"script\")"
fi

echo "a run that goes wrong is named while it trains, and whoever wants is told; one that has no room does not start"
{ tiny wrong 200000 && printf '[variant wild]\nlr = 3\n'; } >wrong.ini
"$program" run wrong.ini --threads 1 --workers 2 --progress plain --notify 'cat >>told; echo . >>told' >/dev/null 2>wrong.err &
host=$!
named() { grep -q '^trouble wild s1: ' wrong.err && ablate watch wrong --once >out; [ $? = 3 ]; }
checks=$((checks + 1))
wait_for 60 named || wrong "the wild run is not named: $(tail -3 wrong.err) $(cat out)"
has out "! wild s1: "
grep -c 'base' wrong.err >/dev/null
kill -TERM $host
wait $host
has told "ablate: wrong: wild s1: "
has told "ablate: wrong: interrupted (exit code 143)"
{ tiny room 20; } >room.ini
exits 1 env ABLATE_KEEP_FREE=1e18 "$program" run room.ini --threads 1 --progress none
has err "base: found 1e-09 GB of memory free, expected"
has err "--ignore-room"
equal "$(sql "SELECT count(*) FROM runs WHERE experiment='room'")" 0 "runs written before there is room"
exits 0 ablate run room.ini --threads 1 --progress none --ignore-room --notify 'cat >told'
has told "ablate: room: done (exit code 0)"
exits 1 env ABLATE_KEEP_FREE=1e18 "$program" run room.ini --threads 1 --progress none --rerun all
has err "GB of memory free, expected"
equal "$(sql "SELECT count(*) FROM runs WHERE experiment='room' AND status='done'")" 1 "runs that are done, and stay so"
has told "base"
exits 0 ablate run room.ini --threads 1 --progress none --notify false
has err '--notify: `false` ended with status 1'

echo "diff"
exits 0 ablate diff toys/base@1 "toys/one head@1"
has out "heads "
has out "furthest apart at step"
hasnt out "batch_tokens"
exits 0 ablate diff toys/base@1 toys/base@2 --json
has out '"runs":["toys/base@1","toys/base@2"]'
exits 2 ablate diff toys/base@1

echo "note and tag"
exits 0 ablate tag toys/base@1 "note=the machine was busy"
exits 0 ablate tag toys/base paper=yes
has err "set of 2 runs"
exits 0 ablate show toys/base@1
has out "the machine was busy"
equal "$(sql "SELECT count(*) FROM tag WHERE tag='paper' AND value='yes'")" 2 "tags"
exits 0 ablate tag toys/base@1 note
exits 0 ablate tag toys/base@1 paper
equal "$(sql "SELECT count(*) FROM tag WHERE tag IN('paper','note')")" 1 "tags that are left"

echo "watch --log ends with its run"
exits 0 timeout 20 "$program" watch toys/base@1 --log
has out "dev PPL"
finish
