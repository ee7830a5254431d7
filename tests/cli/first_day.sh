#!/usr/bin/env bash
# A newcomer's first day: table and page agree on verdicts, messages explain mistakes, and counts are of the requested
# runs.
source "$(dirname "$0")/common.bash" "$@"

verdict_of() { sed -n 's|.*<h2>Verdict</h2>||p; /<p>.*Lines are/p' "$1" | tail -1; } # PAGE

echo "one function decides verdicts"
{ tiny judged 10 | sed '2a seeds = 1..3'; printf '[criterion]\nmetric = PPL\nmargin = 50\n[sweep A]\nheads = 1, 4\n'; } >judged.ini
exits 0 ablate run judged.ini --threads 1 --progress none
hasnt err "no row gets a verdict"
has out "3 or more seeds per row"
verdicts=$(sql "SELECT DISTINCT verdict FROM paired WHERE experiment='judged' AND metric='PPL'")
exits 0 ablate report judged -o judged.html
for verdict in $verdicts; do
    [ "$verdict" = worse ] || [ "$verdict" = better ] || [ "$verdict" = equivalent ] || [ "$verdict" = undecided ] || wrong "verdict $verdict"
    verdict_of judged.html >said
    grep -qi "$verdict.*: .*A/heads" said || wrong "the page lacks the table's verdict '$verdict': $(cat said)"
done
hasnt judged.html "No verdict"
sed 's/^\[criterion\]/&\nseeds = 5/; s/= judged/= few/' judged.ini >few.ini
exits 0 ablate run few.ini --threads 1 --progress none
has err "few.ini: [criterion]: a verdict needs 5 seeds per row, but this experiment has 3: no row gets a verdict"
exits 0 ablate report few -o few.html
has few.html "No verdict (needs 5 seeds per row and no failed run): A/heads=1, A/heads=4. "
hasnt few.html "Undecided"
exits 0 ablate table few
equal "$(head -2 out | grep -c verdict)" 0 "a column of verdicts that none has"

echo "headings name metric and split"
equal "$(sed -n 2p out | grep -o 'Δ PPL ([a-z]*)')" "Δ PPL (test)" "the heading of differences"
has out "Not trained to the end: the dev perplexity of "

if command -v script >/dev/null; then
    echo "notes and --help fit the terminal"
    for command in "table few" "run --help" "score f1 --help"; do
        script -qec "stty cols 70; $program $command" /dev/null </dev/null | tr -d '\r' >wrapped
        # Lines are at most 70 characters (not bytes) wide; a row of a table, which has gaps, may be wider.
        equal "$(LC_ALL=C tr -d '\200-\277' <wrapped | awk 'length > 70 && !/[^ ]   +[^ ]/ && !/^  ablate/' | head -1)" "" \
            "lines over 70 characters of $command"
        "$program" $command >flat
        equal "$(tr -s ' \n' ' ' <wrapped)" "$(tr -s ' \n' ' ' <flat)" "words of $command"
    done
fi

echo "levels without an order get points, no line; notes fit a phone; equal costs get no chart"
{ tiny kinds 10; printf '[sweep P]\nposition = none, alibi\n[sweep H]\nheads = 1, 4\n'; } >kinds.ini
exits 0 ablate run kinds.ini --threads 1 --progress none
for over in position heads; do
    exits 0 ablate plot kinds --over $over -o $over.svg
    equal "$(grep -c 'stroke-width="1.8"' $over.svg | sed 's/[1-9].*/some/')" "$([ $over = heads ] && echo some || echo 0)" \
        "lines between levels of $over"
done
exits 0 ablate report kinds -o kinds.html
has kinds.html "overflow-wrap:anywhere"
hasnt kinds.html '<section id="cost">'

echo "the time of a sweep whose first look is done"
{ printf '[experiment]\nname = looks\nseeds = until 0.001 PPL, at most 5\n'; tiny looks 6 | sed 1,2d; printf '[criterion]\nmetric = PPL\n[variant w]\nd_k = 6\n'; } >looks.ini
exits 0 ablate run looks.ini --threads 1 --progress none --dry-run
hasnt err nan
exits 0 ablate run looks.ini --threads 1 --progress plain
hasnt err nan
exits 0 ablate run looks.ini --threads 1 --progress none --dry-run
hasnt err nan

echo "only what was asked for counts"
{ tiny some 6 | sed '2a seeds = 1..4'; printf '[sweep A]\nheads = 1, 4\n'; } >some.ini
exits 0 ablate run some.ini --threads 1 --progress none --only base --seeds 1,2
exits 0 ablate ls --json
equal "$(tr '{' '\n' <out | grep '"some"' | grep -o '"queued":[0-9]*')" '"queued":0' "queued runs after --only"
exits 0 ablate table some
hasnt out "not finished yet"
exits 0 ablate run some.ini --threads 1 --progress none --seeds 1,2
hasnt out "exploratory" # all rows were planned by the first call
equal "$(sql "SELECT count(*) FROM runs WHERE experiment='some' AND status='done'")" 6 "runs of all rows"

echo "a diverged run says so"
tiny large 60 | sed 's/^lr = .*/lr = 1000/' >large.ini
exits 0 ablate run large.ini --threads 1 --progress none
equal "$(sql "SELECT status FROM runs WHERE experiment='large'")" diverged "status in runs"
equal "$(sql "SELECT DISTINCT status FROM results WHERE experiment='large'")" diverged "status in results"
exits 0 ablate ls large --json
has out '"status":"diverged"'
exits 0 ablate show large/base
has out "status                diverged"
finish
