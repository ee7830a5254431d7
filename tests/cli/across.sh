#!/usr/bin/env bash
# ablate table with several experiments joins rows of the same name. The scores that it prints equal scores computed
# here by SQL.
# fault: across|start|table faults writer --metric PPL|
source "$(dirname "$0")/common.bash" "$@"
{ tiny first 30 && printf '[sweep A]\nheads = 1, 4\n'; } >first.ini
{ tiny second 20 && printf 'sequence.min_length = 3\n[sweep A]\nheads = 1\n[variant alone]\nd_ff = 16\n'; } >second.ini
exits 0 ablate run first.ini --threads 1 --progress none --seeds 1..4
exits 0 ablate run second.ini --threads 1 --progress none --seeds 1..4

exits 0 ablate table first second --metric PPL_dev --format csv
# PPL: less is better, so a run's score is base's mean divided by the run's PPL. IQM: mean of the middle four of the
# row's 8 scores. Probability of improvement: share of pairs of a run and a run of base in which the run is better.
expected=$(sqlite3 -separator ' ' results.db "WITH v AS (SELECT experiment x, variant r, seed s, value p FROM results
    WHERE metric='PPL' AND variant IN('base','A/heads=1')),
    b AS (SELECT x, avg(p) m FROM v WHERE r='base' GROUP BY x),
    z AS (SELECT m/p z FROM v JOIN b USING(x) WHERE r='A/heads=1' ORDER BY 1 LIMIT 4 OFFSET 2)
    SELECT printf('%.3f', avg(z)), (SELECT printf('%.3f', avg((c.p<d.p)+0.5*(c.p=d.p))) FROM v c JOIN v d USING(x)
    WHERE c.r='A/heads=1' AND d.r='base') FROM z")
equal "$(awk -F, '$1 == "A/heads=1" { print $3, $5 }' out)" "$expected" "IQM and probability of improvement"
equal "$(cut -d, -f1 out | xargs)" "row base A/heads=1" "rows"
exits 0 ablate table first second --metric PPL_dev -o profile.csv
has out "first (PPL (dev)), second (PPL (dev))"
has out "1 row is left out: not in all of these experiments"
equal "$(awk -F, '$1 == "base" { n++; if (n == 1) first = $3; last = $3 } END { print n, (first >= 0.9), last + 0 }' profile.csv)" \
    "61 1 0" "points of base's profile; its first share; its last"
exits 2 ablate table first second first
has err "found first twice, expected different experiments"
exits 2 ablate table first -o profile.csv
has err "--output draws several experiments"
for option in "--vs recorded" "--stats full" --json "--metric PPL --metric loss"; do
    exits 2 ablate table first second $option
    has err "several experiments allow only one --metric"
done
exits 1 ablate table first secnd --metric PPL
has err 'did you mean "second"?'
exits 1 ablate table first second --metric nothing
has err "nothing"
finish
