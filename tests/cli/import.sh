#!/usr/bin/env bash
# Runs of other trainers become an experiment: CSV, JSON lines, event files, W&B's chart, lm-eval; docs/import.md's
# commands work.
source "$(dirname "$0")/common.bash" "$@"
export -f ablate
export program

echo "the commands of docs/import.md"
awk '$0 == "```" { on = 0 } on { print } $0 == "```sh" { on = 1 }' "$source/docs/import.md" >commands.sh
exits 0 bash -eu commands.sh
has out "no_dropout"
exits 0 ablate table mine
has out "Imported from results.csv (CSV)"
has out "worse"
exits 0 ablate plan mine --detect "1 val_acc"
has out "mine: 2 rows against base, to detect a difference of 1 val_acc"
exits 2 ablate run mine
has err "mine is an experiment of the database"
exits 1 ablate import results.csv
has err "results of another program are imported with --as NAME"
exits 2 ablate import results.json --dry-run --db none.db
has err "--dry-run is only for files of another program: expected --as NAME"
exits 2 ablate import results.csv --base wide
has err "--base is only for files of another program"
exits 1 test -e none.db
for command in "ls mine" "show mine/wide"; do
    exits 0 ablate $command --json
    equal "$(grep -o '"imported"' out | wc -l)" "$(grep -o '"recorded"' out | wc -l)" "keys of runs in: $command"
done
exits 0 ablate ls mine
has out "done (imported)"

echo "long CSV with scores per example"
{
    echo "model,seed,example,metric,value"
    for m in base big; do for s in 1 2; do for k in 1 2 3 4 5 6 7 8
    do echo "$m,$s,q$k,acc,$(((k * s + ${#m}) % 3 > 0))"; done; done; done
} >examples.csv
exits 0 ablate import examples.csv --as examples
exits 0 ablate table examples
has out "over seeds and sentences"

echo "more metrics than SQLite joins tables"
{
    echo "model,seed,$(seq -s, -f 'm%g' 100)"
    for m in base big; do for s in 1 2; do echo "$m,$s,$(seq -s, "$s" $((s + 99)))"; done; done
} >many.csv
exits 0 ablate import many.csv --as many
equal "$(sql "SELECT \"row\", m1, m100, printf('%.4f', m1_sd), printf('%.4f', m100_sd) FROM many" | xargs)" \
    "base,1.5,100.5,0.7071,0.7071 big,1.5,100.5,0.7071,0.7071" "the first and the last metric in the view"

echo "JSON lines, a chart of W&B, lm-eval, event files"
for s in 1 2; do for r in a b; do echo "{\"run\":\"$r-seed$s\",\"step\":$s,\"val\":{\"acc\":0.$s},\"loss\":NaN}"; done
done >log.jsonl
exits 0 ablate import log.jsonl --as lines
has err "the number at the end of each row's name"
printf 'Step,"a-seed1 - acc","a-seed1 - acc__MIN","b-seed1 - acc"\n1,0.5,0.5,0.6\n2,0.7,0.7,0.8\n' >chart.csv
exits 0 ablate import chart.csv --as chart
has err "2 rows"
mkdir -p lm/m
echo '{"results":{"arc":{"alias":"arc","acc,none":0.5,"acc_stderr,none":0.1}},"n-shot":{"arc":0},"model_name":"m"}' \
    >lm/m/results_1.json
printf '%s\n' '{"doc_id":0,"acc":1.0,"filter":"none"}' '{"doc_id":1,"acc":0.0,"filter":"none"}' \
    >lm/m/samples_arc_1.jsonl
exits 0 ablate import lm --as lm
has err "arc/acc (higher is better"
exits 0 ablate export mine --format tensorboard -o events
exits 0 ablate import events --as events
exits 0 ablate query "SELECT count(*) FROM curves WHERE experiment='events' AND metric='val_acc'" --format csv
equal "$(tail -1 out | tr -d '\r')" 45 "points read back from event files"

echo "W&B's table of runs, and what a referee asks"
{
    echo '"Name","State","Notes","User","Created","Runtime","Sweep","lr","model","seed","_step","best_val_acc","val_acc"'
    for s in 1 2 3; do
        echo '"calm-'$s'","finished","-","me","2026-03-02T10:11:12.000Z","1832","","0.001","baseline","'$s'","4999","0.82","0.81'$s'"'
        for lr in 0.001 0.0005
        do echo '"odd-'$s'","finished","-","me","2026-03-02T10:11:12.000Z","1832","","'$lr'","wide","'$s'","4999","0.84","0.83'$s'"'
        done
    done
    echo '"raw-bay","crashed","-","me","2026-03-02T05:01:12.000Z","12","","0.001","wide","4","100","",""'
    echo '"wet-fog","killed","-","me","2026-03-02T05:01:12.000Z","12","","0.001","baseline","4","900","0.6","0.6"'
} >runs.csv
exits 0 ablate import runs.csv --as runs
has err "left out   Name, State, Notes, User, Created, Runtime, Sweep"
has err "val_acc (higher is better; headline, guessed)"
has err "1 record has no value of any metric and is left out (the first: runs.csv:11)."
has err "1 record is of runs that did not end as planned (State: killed)."
has err "Rows have 1 to 2 configurations each; the one with the best val_acc is shown, selected by the reported score"
exits 0 ablate table runs
has out "Rows have 1 to 2 configurations each"
has out "val_acc was not fixed"
{ # at its best evaluation b is better than a, at its last it is worse
    echo "row,seed,step,acc,top5"
    for s in 1 2 3; do printf "a,$s,1,0.5,0.8\na,$s,2,0.70$s,0.8\nb,$s,1,0.8,0.8\nb,$s,2,0.60$s,0.8\n"; done
} >turns.csv
exits 0 ablate import turns.csv --as turns
has err "With the best one instead, base has 0.702, not 0.702; the sign of Δ turns for: b."
exits 0 ablate import turns.csv --as turns --result best --headline acc
has err "acc is each run's best evaluation, selected by the reported score."
exits 0 ablate table turns
hasnt out "was not fixed"

echo "what is wrong is said"
printf 'row,acc,f1\na,0.1,10\na,0.2,\na,0.3,30\nb,0.4,40\nb,0.5,50\n' >empty.csv # no seeds, and an empty cell
exits 0 ablate import empty.csv --as empty
equal "$(sql "SELECT group_concat(seed||' '||acc||' '||coalesce(f1,'none'),', ') FROM (SELECT seed,acc,f1 FROM settings WHERE experiment='empty' AND row='a' ORDER BY seed)" | tr -d '"')" \
    "1 0.1 10.0, 2 0.2 none, 3 0.3 30.0" "a line's values stay in one run"
printf 'row,lr,seed,acc\na,0.1,1,0.5\na,0.2,1,0.9\nb,0.1,1,0.4\nb,0.2,1,0.3\n' >tried.csv # two settings per row
exits 0 ablate import tried.csv --as tried
exits 0 ablate plot tried --over trials -o tried.csv
equal "$(tr -d '\r' <tried.csv | grep '^[ab],2,' | cut -d, -f1-3 | tr '\n' ' ')" "a,2,0.9 b,2,0.4 " "the best of two is the higher one"
exits 1 ablate import results.csv --as mine --seed sed
has err 'did you mean "seed"'
printf 'lr,seed,acc\n1e-4,1,0.5\n0.0001,2,0.6\n.0001,3,0.7\n0.001,1,0.4\n1E-3,2,0.3\n' >rates.csv
exits 0 ablate import rates.csv --as rates --row lr --metric acc
equal "$(sql "SELECT row||' '||count(*) FROM runs WHERE experiment='rates' GROUP BY row ORDER BY row" | xargs)" \
    "0.001 2 1e-4 3" "one row for each rate, however it is written"
printf 'row,seed,acc\na,1,good\n' >bad.csv
exits 1 ablate import bad.csv --as bad --metric acc
cat results.csv results.csv | awk 'NR == 1 || $0 !~ /^variant/' >twice.csv
exits 1 ablate import twice.csv --as twice
has err "twice"
finish
