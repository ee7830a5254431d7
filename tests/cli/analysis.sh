#!/usr/bin/env bash
# INI settings that design and judge an experiment: matched budgets, a search per row, seeds added until a verdict is
# clear, criteria. The view `paired` and `ablate plan` are tested, too.
source "$(dirname "$0")/common.bash" "$@"

{
    printf '[experiment]\nname = set\nseeds = until 0.001 PPL, at most 5\nmatch = params by d_ff\n'
    tiny set 6 | sed '1,2d; s/^lr = .*/lr = tune(0.001 .. 0.01, 2)/'
    printf '[criterion]\nmetric = PPL\nmargin = 0.001\nseeds = 3\n[variant wide]\nd_k = 6\nattention_encoder = restricted\nrestricted.r = 4\n'
} >set.ini
exits 0 ablate run set.ini --threads 1 --progress plain
has err "match = params: wide gets d_ff = "
has err "search, rung 1 of 1: 4 trials"
has err "search: base gets lr = 0.01"
has err "undecided with 3 seeds; trying 5"
has out "Criterion: PPL (test), level 0.05 after Holm, 3 or more seeds per row; equivalent: within ± 0.001 % by two one-sided tests"
has out "with a target effect of 0.001 %."
has out "Matched to base by params, solving for d_ff; remaining difference: wide "
has out "Tuned on the dev set's PPL"
equal "$(sql "SELECT count(*) FROM run r JOIN variant v ON v.id=r.variant_id JOIN experiment x ON x.id=v.experiment_id WHERE x.name='set' AND r.status='done'")" 10 "five seeds a row"
equal "$(sql "SELECT count(*)||' '||count(DISTINCT seed)||' '||min(seed)||' '||sum(outcome='chosen')||' '||sum(outcome='pruned') FROM trial")" "4 1 1001 2 2" "trials"
equal "$(sql "SELECT count(*) FROM results WHERE experiment='set' AND seed=1001")" 0 "trials among the results"
judged=$(sql "SELECT n||' '||n_base||' '||unit||' '||(verdict IN('better','worse','undecided')) FROM paired WHERE experiment='set' AND row='wide' AND metric='PPL_test'")
equal "$judged" "5 5 percent change 1" "the view paired"

echo "a search belongs to its row: neither the middle of a range nor another range is the same row"
{
    tiny found 6 | sed '2a seeds = 1, 2' | sed 's/^lr = .*/lr = tune(0.001 .. 0.1, 2)/'
    printf '[variant fixed]\nlr = 0.01\n[variant wide]\nlr = tune(0.0001 .. 1, 2)\n[variant thin]\nd_k = 6\n'
} >found.ini
found() { sql "SELECT group_concat(row||' '||lr,', ') FROM (SELECT DISTINCT row,lr FROM settings WHERE experiment='found' ORDER BY row)" found.db; }
exits 0 ablate run found.ini --threads 1 --progress none --db found.db
equal "$(found | tr -d '"')" "base 0.1, fixed 0.01, thin 0.1, wide 1" "each row's own learning rate"
trials=$(sql "SELECT row,n,value,outcome FROM trial ORDER BY row,n" found.db)
exits 0 ablate plot found --over lr -o found.csv --db found.db
equal "$(tail -n +2 found.csv | cut -d, -f2 | sort -g | tr -s '\r\n' ' ')" "0.01 0.1 1 " "found values, not their searches"
exits 0 ablate run found.ini --threads 1 --progress none --db found.db --only base --seeds 1..3
equal "$(sql "SELECT group_concat(row||' '||n||' '||n_base,', ') FROM (SELECT row,n,n_base FROM paired WHERE experiment='found' AND metric='PPL' ORDER BY row)" found.db | tr -d '"')" \
    "fixed 2 2, thin 2 2, wide 2 2" "rows that --only leaves out keep what was found for them"
equal "$(sql "SELECT row,n,value,outcome FROM trial ORDER BY row,n" found.db)" "$trials" "their trials"
rm found.db
exits 0 ablate run found.ini --threads 1 --progress none --db found.db --only base
exits 0 ablate run found.ini --threads 1 --progress none --db found.db
hasnt out "exploratory" # the rows were planned with base: only the values found by their searches came later
"$program" gate found thin --metric PPL --json --db found.db >out
has out '"place":3' # each of the three rows occurs once

echo "a trial that another process trains is waited for, not taken for a failed one"
tiny both 400 | sed 's/^lr = .*/lr = tune(0.0005 .. 0.01, 2)/' >both.ini
"$program" run both.ini --threads 1 --progress none --db both_hosts.db >first 2>&1 &
host=$!
worker_of() {
    local p
    for p in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
        tr '\0' ' ' <"/proc/$p/cmdline" 2>/dev/null | grep -q ' worker ' && worker=$p && return
    done
    return 1
}
wait_for 60 worker_of $host || wrong "the first process started no worker"
kill -STOP "$worker"
exits 1 ablate run both.ini --threads 1 --progress none --db both_hosts.db
has err "search, rung 1: 1 trial is in another process"
kill -CONT "$worker"
code=0
wait $host || code=$?
equal $code 0 "the first process goes on"
equal "$(sql "SELECT count(*)||' '||sum(outcome='chosen')||' '||sum(outcome='pruned') FROM trial" both_hosts.db)" "2 1 1" "both trials count"

echo "a matched row that is there twice"
{ tiny twice 6 | sed '2a match = params by d_ff' && printf '[variant one]\nd_k = 4\n[variant two]\nd_k = 4\n'; } >twice.ini
exits 0 ablate run twice.ini --threads 1 --progress none --db twice.db
equal "$(sql "SELECT t.same_as FROM table_row t JOIN experiment x ON x.id=t.experiment_id WHERE x.name='twice' AND t.name='two'" twice.db)" one "the same row after matching, too"

echo "--rerun reaches every rung and every look"
{
    printf '[experiment]\nname = twice\nseeds = until 0.001 PPL, at most 5\n'
    tiny twice 6 | sed '1,2d; s/^lr = .*/lr = tune(0.001 .. 0.01, 3)/'
    printf '[variant wide]\nd_k = 6\n'
} >rerun.ini
exits 0 ablate run rerun.ini --threads 1 --progress none --db rerun.db
exits 0 ablate run rerun.ini --threads 1 --progress none --db rerun.db --rerun all
equal "$(sql "SELECT count(*)||' '||sum(attempts=2) FROM runs" rerun.db)" "20 20" "six and four trials, five seeds of two rows, each twice"

echo "a row that fails or diverges gets no more seeds, the others do"
{
    printf '[experiment]\nname = some\nseeds = until 0.001 PPL, at most 5\n'
    tiny some 6 | sed '1,2d'
    printf '[variant wild]\nlr = 1000\nwarmup = 0\n[variant wide]\nd_k = 6\n[variant fails]\nposition = learned\nlearned.max_len = 4\n'
} >some.ini
exits 1 ablate run some.ini --threads 1 --progress none --db some.db
equal "$(sql "SELECT group_concat(row||' '||n, ' ') FROM (SELECT row, count(*) n FROM runs GROUP BY 1 ORDER BY 1)" some.db)" \
    "base 5 fails 3 wide 5 wild 3" "runs of each row"

exits 0 ablate plan set.ini --detect "20 PPL"
has out "set: 1 row against base, to detect a difference of 20 % PPL"
has out "from 10 runs of 2 rows of set"
has out "one row: "
exits 0 ablate plan set.ini --detect "2 acc" --sd 1.5 --like set
has out "standard deviation over seeds 1.5, as given"
exits 0 ablate plan "$source/experiments/tasks/mad.ini" --detect "1 accuracy" --sd 1
has out "mad: 102 rows against base" # 108 rows, six of them bases of conditions
has out "  540 runs"                    # five seeds of all 108 rows
exits 1 ablate plan set.ini --detect "1 BLUE" --like set
has err 'set has no metric "BLUE"'
exits 2 ablate plan set.ini --detect nothing
{ tiny other 6 && printf '[variant wide]\nd_k = 6\n'; } >other.ini
exits 1 ablate plan other.ini --detect "1 BLEU"
has err "found no standard deviation over seeds for other"
exits 2 ablate plan set.ini
has err "--detect"
exits 0 ablate plan set.ini --detect "20 PPL"
mv out of_file
exits 0 ablate plan set --detect "20 PPL"
equal "$(cat out)" "$(cat of_file)" "the plan of an experiment of the database"
exits 1 ablate plan sett --detect "20 PPL"
has err "sett: found no such INI file, and no such experiment"

{
    tiny two 6 | sed '2a seeds = 1, 2'
    printf '[sweep X]\nfactorial = heads, dropout\nheads = 1, 2\ndropout = 0, 0.3\n'
} >two.ini
exits 0 ablate run two.ini --threads 1 --progress none
has out "Factorial X, 4 rows: effects on acc (test), high minus low, with 95 % intervals and p after Holm over 3 effects."
has out "  heads x dropout: "
exits 0 ablate report two -o two.html
has two.html 'main effects and interactions of the factorial X'
equal "$(grep -c '<section id="effects">' two.html)" 1 "effects as a figure of the report"
exits 0 ablate report set -o set.html
hasnt set.html '<section id="effects">'
exits 0 ablate table two --stats full
has out "p models"
{ tiny sizes 6 && printf '[scale]\nd_model/d_ff = 4/8, 8/16, 12/24, 16/32\n'; } >sizes.ini
exits 0 ablate run sizes.ini --threads 1 --progress none
has out "Scale: loss (log PPL (test)) = a parameters^-exponent over 4 sizes"
has out "  base: exponent "
{ tiny apart 6 && printf '[scale]\nd_model/d_ff = 4/8, 8/16, 12/24, 20/40\n'; } >apart.ini
exits 0 ablate run apart.ini --threads 1 --progress none
has out "a parameters^-exponent over 5 sizes" # the row's own size is one of them

echo "every row under a condition too, compared with base there"
{
    tiny under 6 | sed '2a seeds = 1, 2'
    printf '[variant wide]\nd_k = 6\n[condition reverse]\nsequence.kind = reverse\n'
} >under.ini
exits 0 ablate run under.ini --threads 1 --progress none
has out "Each row is compared with base under its condition; conditions share no variances."
equal "$(sql "SELECT group_concat(row||' against '||base,'; ') FROM (SELECT row,base FROM paired WHERE experiment='under' AND metric='acc' ORDER BY place)")" \
    "wide against base; wide @ reverse against base @ reverse" "what the rows are compared with"
equal "$(sql "SELECT count(*) FROM paired p JOIN summary r ON r.experiment=p.experiment AND r.variant=p.row AND r.metric=p.metric
JOIN summary b ON b.experiment=p.experiment AND b.variant=p.base AND b.metric=p.metric
WHERE p.experiment='under' AND p.metric='acc' AND abs(p.delta-(r.mean-b.mean))<1e-9")" 2 "the difference is that of these means"
exits 1 ablate gate under "base @ reverse"
has err "is base, which the others are compared with"
exits 0 ablate plot under --forest -o under.svg
has under.svg "wide @ reverse"
hasnt under.svg ">base @ reverse"

echo "one experiment on two machines, merged"
{ tiny shared 6 && printf '[variant wide]\nd_k = 6\n'; } >shared.ini
for seed in 1 2; do
    exits 0 ablate run shared.ini --threads 1 --progress none --seeds $seed --db machine$seed.db
    exits 0 env ABLATE_DB=machine$seed.db "$program" record shared machine$seed.json
done
exits 0 ablate import machine1.json machine2.json --db both.db
has err "machine2.json: 2 runs added"
exits 0 ablate table shared --db both.db
has out "mean ± sd over 2 seeds"
equal "$(sql "SELECT n||' '||n_base FROM paired WHERE row='wide' AND metric='acc'" both.db)" "2 2" \
    "the view paired of merged runs"
echo "the same by rows, whose settings are searched: each machine knows what it has found"
for row in base thin; do
    exits 0 ablate run found.ini --threads 1 --progress none --only $row --db $row.db
    exits 0 env ABLATE_DB=$row.db "$program" record found $row.json
done
for order in "base.json thin.json" "thin.json base.json"; do
    rm -f rows.db
    exits 0 ablate import $order --db rows.db
    exits 0 ablate table found --db rows.db
    equal "$(sql "SELECT n||' '||n_base FROM paired WHERE row='thin' AND metric='PPL'" rows.db)" "2 2" "imported: $order"
done
exits 0 env ABLATE_DB=both.db "$program" record shared both.json
exits 0 ablate import both.json --db again.db
has err "both.json: 4 runs added"
# A forged record may lack any field and name any row: `table` must not crash.
zcat "$source/experiments/recorded/factors.json.gz" >factors.json
forge() { sed "$1" factors.json >forged.json && rm -f forged.db; }
for lie in 's/\\"resolution\\":[0-9]*,//' 's/\\"high\\":\[\\"2\\"\]/\\"high\\":[]/' \
    's/"analysis":"{/&\\"conditions\\":[{\\"rows\\":[\\"none\\",\\"base\\"]}],/'; do
    forge "$lie"
    cmp -s forged.json factors.json && wrong "nothing was forged by $lie"
    exits 0 ablate import forged.json --db forged.db
    exits 0 ablate table factors --db forged.db
done
exits 0 ablate import "$source/experiments/recorded/sizes.json.gz" --db forged.db
exits 0 ablate table factors sizes --db forged.db # `factors` is the last forgery, whose base has no base
# The table says so when it gives a speed-up that is extrapolated to a loss which the row never reaches.
exits 0 ablate import "$source/experiments/recorded/sizes.json.gz" --db sizes.db
exits 0 ablate table sizes --db sizes.db
has out "extrapolated: its largest size, 2.2e+04 parameters, has a higher loss (1.14) than base's (0.453)"
finish
