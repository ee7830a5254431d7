#!/usr/bin/env bash
# A row that is added after the experiment has results is marked exploratory, in the database and in every output.
source "$(dirname "$0")/common.bash" "$@"
{ tiny late 10 && printf '[sweep A]\nheads = 1\n'; } | sed '/^name/a seeds = 1..2' >late.ini
exits 0 ablate run late.ini --threads 1 --progress none
hasnt out exploratory
printf '[sweep B]\nposition = none\n' >>late.ini
exits 0 ablate run late.ini --threads 1 --progress none
exits 0 ablate query "SELECT name FROM variant WHERE exploratory" --format csv
has out "B/position=none"
hasnt out "A/heads=1"
for format in text md latex csv json; do
    exits 0 ablate table late --format $format
    has out xploratory
done
exits 0 ablate report late -o late.html
has late.html exploratory
for more in --forest "--over step" "--over params"; do
    exits 0 ablate plot late $more -o late.svg
    has late.svg "B/position=none (exploratory)"
    hasnt late.svg "A/heads=1 (exploratory)"
done
exits 0 ablate export late --format csv -o late_csv
equal "$(column exploratory <late_csv/runs.csv | grep -cx 1)" 2 "exploratory runs in the exported table"
exits 0 ablate query "SELECT row, exploratory, p IS NULL, p_adjusted IS NULL FROM paired" --format csv
has out "B/position=none,1,0,1"
exits 0 ablate record late late.json
has late.json '"exploratory":1'
exits 0 ablate import late.json --db other.db
exits 0 ablate query "SELECT name FROM variant WHERE exploratory" --format csv --db other.db
has out "B/position=none"
finish
