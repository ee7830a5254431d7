#!/usr/bin/env bash
# ablate rate: another program's number for each output sentence becomes a metric with intervals and verdicts.
# fault: rate|start|rate faults words --command "awk '{ print NF }'"|select count(*) from results where metric = 'words'
source "$(dirname "$0")/common.bash" "$@"
{ tiny rated 60 && printf '[sweep A]\nheads = 1\n'; } >rated.ini
exits 0 ablate run rated.ini --threads 1 --progress none --seeds 1..5

echo "a metric that is here already, computed by another program, has its values, intervals and p"
cat >right.awk <<'AWK'
BEGIN { FS = "\t" }
{ print $1 == $2 ? 100 : 0 }
AWK
exits 0 ablate rate rated right --command "awk -f right.awk" --unit %
has err "base s1: right "
value() { sql "SELECT group_concat(printf('%.12g',value),' ') FROM (SELECT value FROM results WHERE experiment='rated' AND metric='$1' ORDER BY variant,seed)"; }
equal "$(value right)" "$(value acc)" "shares of right lines, and acc"
equal "$(sql 'SELECT group_concat(printf("%.12g", "right")) FROM rated')" \
    "$(sql 'SELECT group_concat(printf("%.12g", acc)) FROM rated')" "its column in the experiment's view"
verdict() { ablate gate rated A/heads=1 --metric "$1" | sed "s/$1/METRIC/; s/ *%//g"; }
has <(verdict right) "interval"
equal "$(verdict right)" "$(verdict acc)" "difference, interval and p"
exits 0 ablate table rated
has out "right"
has out "right (test): command: awk -f right.awk"
exits 0 ablate show rated/base@1
has out "command: awk -f right.awk"

echo "with sources; again; lower is better"
for i in {1..30}; do echo "source $i"; done >source.txt
exits 0 ablate rate rated fields --command "awk -F '\\t' '{ print NF }'" --lower-is-better
equal "$(value fields)" "2 2 2 2 2 2 2 2 2 2" "fields of a line"
lines=$(ablate show rated/base@1 --hyp test | wc -l)
head -n "$lines" < <(yes "a source") >source.txt
exits 0 ablate rate rated fields --command "awk -F '\\t' '{ print NF }'" --lower-is-better --source source.txt
equal "$(value fields)" "3 3 3 3 3 3 3 3 3 3" "fields of a line with its source"
equal "$(sql "SELECT DISTINCT direction FROM metric WHERE name='fields'")" min "direction"

echo "what is wrong is said, and changes nothing"
exits 1 ablate rate rated bad --command "head -3"
has err "found 3 lines, expected a number for each of $lines sentences"
exits 1 ablate rate rated bad --command "cat"
has err 'line 1: found "'
exits 1 ablate rate rated bad --command "exit 7"
has err "exit 7: ended with status 7"
exits 1 ablate rate rated acc --command "awk '{ print 1 }'"
has err "has a metric of this name that no command computed"
exits 1 ablate rate rated bad --command "awk '{ print 1 }'" --split dev
has err "has no outputs for dev"
exits 1 ablate rate rated bad --command "awk '{ print 1 }'" --source right.awk
has err "right.awk: 2 lines, run"
exits 2 ablate rate rated
exits 2 ablate rate rated "" --command "awk '{ print 1 }'"
has err 'found the metric "", expected a name without blanks'
exits 2 ablate tag rated/base ""
has err "found no name of a tag, expected NAME=VALUE"
equal "$(sql "SELECT count(*) FROM results WHERE metric='bad'")" 0 "results of what failed"

echo "published with the rest; verify does not compare what another program computed"
exits 0 ablate publish rated folder
exits 0 ablate verify folder --runs 1
has out "right: not compared, since another program computed this metric (command: awk -f right.awk)"
finish
