#!/usr/bin/env bash
# Progress output: on a terminal a header and lines updated in place, elsewhere plain lines, JSON, or nothing.
source "$(dirname "$0")/common.bash" "$@"

tiny watch 1200 >watch.ini
printf '[sweep A]\nheads = 1, 4\n' >>watch.ini
sed -i 's/^eval_every.*/eval_every = 100/; s/^save_every.*/save_every = 1200/' watch.ini
esc=$'\033'

# on_tty FILE COLUMNS COMMAND...: output on a terminal of that width.
on_tty() {
    local file=$1 columns=$2
    shift 2
    script -qec "stty cols $columns rows 24; $*" "$file" >/dev/null 2>&1 </dev/null
}

if command -v script >/dev/null && on_tty probe 80 true; then
    echo "a terminal"
    TERM=xterm on_tty tty.log 90 "'$program' run watch.ini --threads 1 --only base --only A/heads=1"
    tr '\r' '\n' <tty.log >lines
    grep -q "${esc}\[1m2 runs: 0 done, 1 running, 1 queued, 0 failed, 0 skipped  ETA .*${esc}\[0m" lines ||
        wrong "no header: $(head -c 2000 lines | cat -v)"
    grep -Eq '^  (base|A/heads=1) s1  cpu  [0-9.]+k?/1\.2k  (dev|train) PPL [0-9.]+  [0-9.]+k? tok/s  ETA [0-9]+s' \
        lines || wrong "no line of the run: $(head -c 2000 lines | cat -v)"
    checks=$((checks + 2))
    has lines "${esc}[A${esc}[2K"
    has lines "done    base s1"
    has lines "2 runs: 2 done, 0 failed, 0 skipped  in "
    hasnt lines "eval "
    has lines "watch  one seed"
    echo "a narrow one, without colours"
    NO_COLOR=1 TERM=xterm on_tty narrow.log 40 "'$program' run watch.ini --threads 1 --only A/heads=4"
    hasnt narrow.log "${esc}[1m"
    has narrow.log "${esc}[A${esc}[2K"
    equal "$(tr '\r' '\n' <narrow.log | sed "s/${esc}\[[0-9]*[A-Za-z]//g" | grep '^1 run: 0 done\|^  A/heads=4' |
        awk 'length > 39' | head -3)" "" "lines too long for 40 columns"
    TERM=xterm on_tty sixty.log 60 "'$program' run watch.ini --threads 1 --rerun all --only A/heads=4"
    tr '\r' '\n' <sixty.log | sed "s/${esc}\[[0-9]*[A-Za-z]//g" >sixty
    checks=$((checks + 2))
    grep -q '^0 of 1 runs done, 0 failed  ETA [0-9?]' sixty || wrong "no time left at 60 columns: $(grep done sixty | head -2)"
    grep -Eq '^  A/heads=4 s1  [0-9.]+k?/1\.2k  ETA [0-9]+s' sixty || wrong "no time left of the run at 60 columns: $(grep ' s1 ' sixty | head -2)"
    echo "a dumb one"
    TERM=dumb on_tty dumb.log 80 "'$program' run watch.ini --threads 1 --rerun all --only base"
    hasnt dumb.log "$esc"
    has dumb.log "eval    base s1"
else
    echo "skipped: no script(1) to make a terminal with"
fi

echo "no terminal"
sed -i 's/^steps.*/steps = 60/; s/^eval_every.*/eval_every = 20/' watch.ini
exits 0 ablate run watch.ini --threads 1 --seeds 2
hasnt err $'\r'
hasnt err "$esc"
hasnt out "$esc"
has err "start   base s2"
has err "eval    base s2  step 20/60  dev PPL"
has err "done    base s2"
has err "3 runs: 3 done, 0 failed, 0 skipped  in "
has err " tokens/s together"
equal "$(grep -c '^start' err) $(grep -c '^eval' err) $(grep -c '^done' err)" "3 9 3" \
    "lines of starts, evaluations, ends"

echo "JSON"
{ cat watch.ini && printf '[variant bad]\nposition = learned\nlearned.max_len = 4\n'; } >json.ini
exits 1 ablate run json.ini --threads 1 --seeds 3 --progress json
equal "$(grep -vc '^{.*}$' err)" 0 "lines that are no objects"
values=$(sed "s/'/''/g; s/.*/('&')/" err | paste -sd,)
equal "$(sql "WITH t(j) AS (VALUES $values) SELECT count(*) FROM t WHERE NOT json_valid(j)")" 0 "lines that are no JSON"
equal "$(sql "WITH t(j) AS (VALUES $values) SELECT group_concat(what,' ') FROM (SELECT json_extract(j,'$.event')||count(*) AS what FROM t
    GROUP BY json_extract(j,'$.event') ORDER BY 1)")" "done3 end1 eval9 failed1 start4" "events"
equal "$(sql "WITH t(j) AS (VALUES $values) SELECT json_extract(j,'$.tokens_second') > 0 FROM t WHERE json_extract(j,'$.event')='end'")" 1 "the sweep's throughput"
equal "$(sql "WITH t(j) AS (VALUES $values) SELECT json_extract(j,'$.error') IS NOT NULL AND json_extract(j,'$.log') LIKE '%/log.txt'
    AND json_extract(j,'$.row')='bad' AND json_extract(j,'$.seed')=3 AS x FROM t WHERE json_extract(j,'$.event')='failed'")" 1 "the failure"

echo "nothing"
exits 0 ablate run watch.ini --threads 1 --seeds 4 --progress none
equal "$(wc -c <err)" 0 "standard error of --progress none"
has out "watch  "
finish
