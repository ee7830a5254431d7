#!/usr/bin/env bash
# Runs of other trainers become an experiment: CSV, JSON lines, event files, W&B's exports, trainer_state.json, lm-eval.
# The commands of docs/import.md work; a file is read as documented, or refused with file, line, column and text.
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
    echo "row,seed,example,metric,value"
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
exits 0 ablate import many.csv --as many --row model $(seq -f '--metric m%g' 100)
equal "$(sql "SELECT \"row\", m1, m100, printf('%.4f', m1_sd), printf('%.4f', m100_sd) FROM many" | xargs)" \
    "base,1.5,100.5,0.7071,0.7071 big,1.5,100.5,0.7071,0.7071" "the first and the last metric in the view"

echo "JSON lines, a chart of W&B, lm-eval, event files, trainer_state.json"
for s in 1 2; do for r in a b; do echo "{\"row\":\"$r-seed$s\",\"step\":$s,\"val\":{\"acc\":0.$s},\"loss\":NaN}"; done
done >log.jsonl
exits 0 ablate import log.jsonl --as lines --metric val.acc
has err "2 rows, base is a"
has err "val.acc (no direction"
printf 'Step,"a-seed1 - acc","a-seed1 - acc__MIN","b-seed1 - acc"\n1,0.5,0.5,0.6\n2,0.7,0.7,0.8\n' >chart.csv
exits 0 ablate import chart.csv --as chart
has err "2 rows"
mkdir -p lm/m
echo '{"results":{"arc":{"alias":"arc","acc,none":0.5,"acc_stderr,none":0.1}},"n-shot":{"arc":0},"model_name":"m",
    "config":{"random_seed":7}}' >lm/m/results_1.json
printf '%s\n' '{"doc_id":0,"acc":1.0,"filter":"none"}' '{"doc_id":1,"acc":0.0,"filter":"none"}' \
    >lm/m/samples_arc_1.jsonl
exits 0 ablate import lm --as lm --higher-is-better arc/acc
has err "arc/acc (higher is better; judged)"
hasnt err "seed " # lm-eval's random_seed draws few-shot examples: it is no training seed
sed 's/"random_seed":7/"random_seed":8/' lm/m/results_1.json >lm/m/results_2.json
exits 1 ablate import lm --as lm
has err "found arc/acc of row m, seed 0 twice"
exits 0 ablate export mine --format tensorboard -o events
exits 0 ablate import events --as events --metric val_acc
exits 0 ablate query "SELECT count(*) FROM curves WHERE experiment='events' AND metric='val_acc'" --format csv
equal "$(tail -1 out | tr -d '\r')" 45 "points read back from event files"
for s in 1 2; do
    mkdir -p "state/wide-seed$s/checkpoint-2"
    printf '{\n "epoch": 2.0,\n "log_history": [\n  {"loss": NaN, "step": 1},\n  {"eval_acc": 0.%s, "step": 2}\n ]\n}\n' "$s" \
        >"state/wide-seed$s/checkpoint-2/trainer_state.json"
done
mkdir state/wide-seed1/checkpoint-1
printf '{"log_history": [{"loss": NaN, "step": 1}]}' >state/wide-seed1/checkpoint-1/trainer_state.json
exits 0 ablate import state --as state --metric eval_acc --higher-is-better eval_acc
equal "$(sql "SELECT variant||' '||seed||' '||value FROM results WHERE experiment='state' ORDER BY seed" | tr -d '"' | xargs)" \
    "wide 1 0.1 wide 2 0.2" "the Trainer's evaluations"

echo "a resumed run: the later event file replaces the steps behind its first"
cp -r events resumed
run=$(dirname "$(find resumed -name '*tfevents*' | sort | head -1)")
first=$(find "$run" -name '*tfevents*')
cp "$first" "$run/events.out.tfevents.9999999999.later"
exits 0 ablate import resumed --as resumed --metric val_acc
exits 0 ablate query "SELECT count(*) FROM curves WHERE experiment='resumed' AND metric='val_acc'" --format csv
equal "$(tail -1 out | tr -d '\r')" 45 "points without those of the resumed run's first file"

echo "W&B's table of runs, whose crashed runs count"
{
    echo '"Name","State","Notes","lr","model","seed","_step","val_acc"'
    for s in 1 2 3; do
        echo '"calm-'$s'","finished","-","0.001","baseline","'$s'","4999","0.81'$s'"'
        echo '"odd-'$s'","finished","-","0.001","wide","'$s'","4999","0.90'$s'"'
        echo '"old-'$s'","finished","-","0.001","deep","'$s'","4999","0.90'$s'"'
    done
    echo '"raw-bay","crashed","-","0.001","wide","4","100","0.1"'
} >runs.csv
acc=(--metric val_acc --higher-is-better val_acc)
exits 0 ablate import runs.csv --as runs --row model "${acc[@]}" --setting lr
has err "1 run is without val_acc or did not end as planned; no verdict without --failed-as: wide."
equal "$(sql "SELECT group_concat(status) FROM runs WHERE experiment='runs' AND \"row\"='wide'" | tr -d '"')" \
    "done,done,done,failed" "status of a row with a crashed run"
exits 0 ablate table runs
equal "$(grep -c 'better' <<<"$(grep wide out)")" 0 "verdicts of a row with a crashed run: $(grep wide out)"
equal "$(grep -c 'better' <<<"$(grep deep out)")" 1 "verdicts of a row without: $(grep deep out)"
exits 0 ablate import runs.csv --as runs --row model "${acc[@]}" --failed-as 0 --margin 0.5
has err "scored by --failed-as: wide"

echo "whatever people write for missing is missing"
for word in '' - -- – — n/a N/A NA null None '?' . '#DIV/0!' '#N/A' '#NUM!' '#REF!' '#VALUE!' NaN nan inf; do
    printf 'row,seed,acc\na,1,0.5\na,2,0.6\na,3,0.7\nb,1,0.8\nb,2,%s\nb,3,0.9\n' "$word" >missing.csv
    exits 0 ablate import missing.csv --as missing --metric acc --higher-is-better acc
    has err "1 run is without acc or did not end as planned; no verdict without --failed-as: b."
done
exits 0 ablate table missing
hasnt out "better"

echo "decimal commas, where semicolons separate cells and no number has a point"
printf 'row;seed;lr;acc\na;1;1e-3;0,5\na;2;1e-3;-0,75e1\nb;1;2,5;1,234\n' >commas.csv
exits 0 ablate import commas.csv --as commas --metric acc
equal "$(sql "SELECT variant||' '||seed||' '||value FROM results WHERE experiment='commas' ORDER BY variant, seed" | tr -d '"' | xargs)" \
    "a 1 0.5 a 2 -7.5 b 1 1.234" "values with decimal commas"

echo "other numbers are refused with file, line, column and text"
for word in 81.2% 1,234 '0,5' '1 234' 0.5s '$5' 1_000 good; do
    printf 'row;seed;acc\na;1;0.5\na;2;%s\n' "$word" >bad.csv
    exits 1 ablate import bad.csv --as bad --metric acc
    has err "bad.csv:3: acc: found \"$word\", expected a plain number such as 1234 or 0.5, without units, % or commas"
done
printf 'row,seed,acc\na,1.5,0.5\n' >bad.csv
exits 1 ablate import bad.csv --as bad --metric acc
has err 'bad.csv:2: seed: found "1.5", expected a whole number that is not negative'
printf 'row,seed,acc\n,1,0.5\n' >bad.csv
exits 1 ablate import bad.csv --as bad --metric acc
has err "bad.csv:2: row: found nothing, expected the name of a row"

echo "no row is the best of several settings"
printf 'row,lr,seed,acc\na,0.1,1,0.5\na,0.2,2,0.9\nb,0.1,1,0.4\n' >tried.csv
exits 1 ablate import tried.csv --as tried --metric acc --setting lr
has err 'tried.csv:3: lr: found "0.2", expected "0.1" as in tried.csv:2: a row has one value of a setting; `--row lr` makes a row of each value'
exits 0 ablate import tried.csv --as tried --metric acc --row row --row lr
has err "3 rows, base is row=a lr=0.1"
printf 'lr,seed,acc\n1e-4,1,0.5\n0.0001,2,0.6\n.0001,3,0.7\n0.001,1,0.4\n1E-3,2,0.3\n' >rates.csv
exits 0 ablate import rates.csv --as rates --row lr --metric acc
equal "$(sql "SELECT row||' '||count(*) FROM runs WHERE experiment='rates' GROUP BY row ORDER BY row" | xargs)" \
    "0.001 2 1e-4 3" "one row for each rate, however it is written"

echo "nothing is guessed"
printf 'model,seed,acc\na,1,0.5\n' >bare.csv
exits 1 ablate import bare.csv --as bare --metric acc
has err '--row: found no column "row"; there are: model, seed, acc'
exits 1 ablate import bare.csv --as bare --row model
has err "with --metric COLUMN"
exits 1 ablate import results.csv --as mine --metric val_acc --seed sed
has err 'did you mean "seed"'
printf 'row,metric,value\na,acc,1\na,f1,2\n' >two.csv
exits 1 ablate import two.csv --as two
has err "found 2 metrics; give --metric NAME for each to import, first for the one to judge: acc, f1"
cat results.csv results.csv | awk 'NR == 1 || $0 !~ /^row/' >twice.csv
exits 1 ablate import twice.csv --as twice --metric val_acc
has err "twice"
exits 1 ablate import results.csv --as mine --metric val_acc --failed-as bad
has err "--failed-as bad: expected a number"

echo "what a referee asks"
{ # b's best evaluation is better than a's best, but b's last evaluation is worse than a's last
    echo "row,seed,step,acc,top5"
    for s in 1 2 3; do printf "a,$s,1,0.5,0.8\na,$s,2,0.70$s,0.8\nb,$s,1,0.8,0.8\nb,$s,2,0.60$s,0.8\n"; done
} >turns.csv
exits 0 ablate import turns.csv --as turns --metric acc --metric top5 --higher-is-better acc
has err "With each run's best evaluation, base has 0.702, not 0.702; the sign of Δ changes for: b."
exits 0 ablate import turns.csv --as turns --result best --metric acc --higher-is-better acc
has err "acc is each run's best evaluation, chosen by the score that is reported."

echo "names mean what the file calls them"
{
    echo "row,seed,er,er_test,ER"
    for s in 1 2 3; do printf "base,$s,1.$s,5.$s,7.$s\nx,$s,2.$s,4.$s,6.$s\n"; done
} >split.csv
exits 0 ablate import split.csv --as split --metric er --metric er_test --metric ER --lower-is-better er \
    --lower-is-better er_test --lower-is-better ER
exits 0 ablate table split
has out "Δ, interval and p: er of the row's design"
exits 0 ablate table split --metric ER
has out "Δ, interval and p: ER of the row's design"
exits 3 ablate gate split x --metric er
has out "not: er +1.0"

echo "a run without a value counts as failed"
{
    echo "row,seed,step,acc"
    for s in 1 2 3 4; do printf "base,$s,1,0.5\nbase,$s,2,0.6$s\nnew,$s,1,0.5\nnew,$s,2,0.8$s\n"; done
} | sed 's/^new,4,\(.\),.*/new,4,\1,/' >steps.csv
{
    echo "row,seed,metric,value,status"
    for s in 1 2 3 4; do printf "base,$s,acc,0.6$s,finished\nnew,$s,acc,0.8$s,finished\n"; done
} | sed 's/^new,4,acc,.*/new,4,loss,9,crashed/' >long.csv
sed 's/crashed/finished/' long.csv >unmeasured.csv
{
    echo '"Step","base-seed1 - acc","base-seed2 - acc","base-seed3 - acc","new-seed1 - acc","new-seed2 - acc","new-seed3 - acc"'
    printf '1,0.1,0.2,0.3,0.4,0.5,\n2,0.1,0.2,0.3,0.4,0.5,\n'
} >chart.csv
for file in steps long unmeasured chart; do
    exits 0 ablate import $file.csv --as $file --metric acc --higher-is-better acc
    has err "1 run is without acc or did not end as planned; no verdict without --failed-as: new."
    exits 0 ablate table $file
    has out "No interval, p or verdict where runs failed or diverged: new (1)."
    hasnt out "better"
done
printf 'row,seed,acc\nbase,1,70\nbase,2,71\nbase,3,72\nx,1,\nx,2,\nx,3,\n' >lost.csv
exits 0 ablate import lost.csv --as lost --metric acc --higher-is-better acc --failed-as 0
exits 0 ablate table lost
has out "−71.0  −73.5 .. −68.5  <0.001  <0.001  worse"
sed 's/^x,1,/x,1,80/; s/^x,2,/x,2,81/' lost.csv >part.csv
exits 0 ablate import part.csv --as part --metric acc --higher-is-better acc
exits 0 ablate table part turns --metric acc
has out "with a run that failed or diverged"

echo "the last scores per example count"
{
    echo "row,seed,step,example,acc"
    for s in 1 2 3; do
        for e in 1 2 3; do printf "base,$s,1,$e,0\nbase,$s,2,$e,1\nx,$s,1,$e,0\nx,$s,2,$e,1\n"; done
    done
} >examples.csv
exits 0 ablate import examples.csv --as examples --metric acc --higher-is-better acc
exits 0 ablate table examples
has out "1.000 ± 0.000"
exits 1 ablate import examples.csv --as examples --metric acc --higher-is-better acc --result best
has err "--result best: found scores per example at several steps, of which the last count"

echo "equal values differ by nothing"
{
    echo "row,seed,acc"
    for s in {1..20}; do echo "base,$s,83.3"; done
    for s in 1 2 3 4 5 6 7; do echo "x,$s,83.3"; done
} >equal.csv
exits 0 ablate import equal.csv --as equal --metric acc --higher-is-better acc
exits 0 ablate table equal
has out "0.0     0.0 .. 0.0  1.000   1.000  undecided"
awk -F, 'BEGIN { OFS = "," } NR == 1 { print; next } { print $1, $2, (($1 == "x") ? 0.5 : 1) * 1e-10 * (1 + $2 / 100) }' \
    equal.csv | awk -F, '$2 <= 5' | sed '1i row,seed,acc' | awk '!seen[$0]++' >tiny.csv
exits 0 ablate import tiny.csv --as tiny --metric acc --higher-is-better acc
exits 0 ablate table tiny --stats full
has out "0.008 "

echo "what is planned from imports"
exits 0 ablate plan equal --detect "1e-9 acc" --sd 0.5
has out "more than 10,000 seeds per row"
{
    echo "row,seed,acd"
    for s in {1..20}; do echo "base,$s,$((s * 7 % 20))"; done
    for s in 1 2 3; do echo "x,$s,$((s * 3))"; done
} >wide.csv
exits 0 ablate import wide.csv --as wide --metric acd --higher-is-better acd
exits 0 ablate table wide
least=$(grep -o "Least detectable.*" out | grep -oE "[0-9.]+ with [0-9]+ seeds|with (5|10|20) [0-9.]+" | grep -oE "^[0-9.]+|[0-9.]+$" | xargs)
equal "$(tr ' ' '\n' <<<"$least" | sort -rg | xargs)" "$least" "more seeds detect less"
exits 0 ablate plot steps -o curve.svg
echo "spreads far below the fourth digit are printed"
printf 'row,seed,acc\na,1,0.50000001\na,2,0.50000002\na,3,0.50000003\nb,1,0.50000004\nb,2,0.50000006\nb,3,0.50000005\n' >fine.csv
exits 0 ablate import fine.csv --as fine --metric acc --higher-is-better acc
exits 0 ablate table fine
has out "0.50000002 ± 0.00000001"
has out "+0.00000001 .. +0.00000005"
echo "rows with @ keep their names"
printf 'row,seed,acc\na@b,1,0.5\na@b,2,0.6\na~b,3,0.7\na~b,4,0.8\n' >at.csv
exits 0 ablate import at.csv --as at --metric acc --higher-is-better acc
exits 0 ablate table at --format csv
equal "$(column row <out | xargs)" "a@b a~b" "rows"
exits 0 ablate show at/a@b@2
has out "a@b"
exits 0 ablate show at/a@b
finish
