#!/usr/bin/env bash
# Records: numbers that several metrics share are written once, and a database imported from a record prints the same
# tables. `--statistics` makes a record smaller, and tables name the figures that such a record cannot give.
source "$(dirname "$0")/common.bash" "$@"

mkdir -p texts
awk 'BEGIN { for (i = 0; i < 400; i++) printf "the %s sat on the %s\n", i % 3 ? "cat" : "dog", i % 2 ? "mat" : "log" }' >texts/small.txt
cat >lm.ini <<'INI'
[experiment]
name = lm
seeds = 1..3
[criterion]
metric = bits_per_char
[base]
task = lm
lm.file = small.txt
lm.context = 16
layers = 1
d_model = 16
d_ff = 32
heads = 2
batch_tokens = 64
schedule = constant
lr = 0.01
warmup = 5
steps = 20
eval_every = 10
save_every = 20
[sweep A]
heads = 1
INI
export ABLATE_DATA=$work/texts
exits 0 ablate run lm.ini --threads 1 --progress none

echo "a record comes back as it was written, and its database prints what the first one prints"
exits 0 ablate record lm one.json
hasnt err "Left out"
exits 0 ablate import one.json --db new.db
exits 0 ablate record lm two.json --db new.db
cmp one.json two.json || wrong "a record of a record differs"
for file in 1 2; do exits 0 ablate record lm $file.json.gz; done
cmp 1.json.gz 2.json.gz || wrong "the same record is packed in other bytes the second time"
zcat 1.json.gz | cmp - one.json || wrong "the packed record differs from the plain one"
exits 0 ablate import 1.json.gz --db packed.db
exits 0 ablate record lm packed.json --db packed.db
cmp one.json packed.json || wrong "a record of an imported .json.gz differs"
head -c 1000 1.json.gz >cut.json.gz
exits 1 ablate import cut.json.gz --db cut.db
has err "cut.json.gz: found a file cut short, expected gzip"
echo "import --continue: run trains what a record lacks, and takes its searches as they are"
sed 's/^name = lm/name = found/; s/^lr = .*/lr = tune(0.01 .. 0.04, 2)/; s/1\.\.3/1..2/' lm.ini >found.ini
exits 0 ablate run found.ini --threads 1 --progress none --db first.db
exits 0 ablate record found found.json --db first.db
hasnt found.json "$work/"
exits 0 ablate record found.tune trials.json --db first.db
exits 2 ablate import found.json --continue --as found
has err "--continue is only for records: expected no --as"
exits 0 ablate import found.json trials.json --continue --db second.db
sed -i 's/1\.\.2/1..3/' found.ini
exits 0 ablate run found.ini --threads 1 --db second.db
equal "$(grep '^start' err | sort | tr -s ' ' | tr '\n' ,)" "start A/heads=1 s3,start base s3," "runs that the second database trains"
exits 0 ablate run found.ini --threads 1 --progress none --db whole.db
exits 0 ablate table found --db whole.db --format csv
cp out whole.csv
exits 0 ablate table found --db second.db --format csv
for name in PPL delta low high p; do
    equal "$(column $name <out)" "$(column $name <whole.csv)" "$name of an experiment that went on elsewhere"
done
echo "a seed that the record lacks was planned, unless the INI has others now"
change() { cp results.db "$1" && sqlite3 "$1" "$2"; }
of="SELECT r.id FROM run r JOIN variant v ON v.id=r.variant_id WHERE v.name"
change part.db "PRAGMA foreign_keys=ON; DELETE FROM run WHERE id IN($of='base' AND seed>1)"
exits 0 ablate record lm part.json --db part.db
exits 0 ablate import part.json --continue --db went_on.db
exits 0 ablate run lm.ini --threads 1 --progress none --db went_on.db
exits 0 ablate table lm --db went_on.db
hasnt out "further seeds"
exits 0 ablate import part.json --continue --db longer.db
sed 's/1\.\.3/1..4/; /^\[sweep/,$d' lm.ini >longer.ini
exits 0 ablate run longer.ini --threads 1 --progress none --db longer.db
equal "$(sql "SELECT count(*) FROM tag WHERE tag='late'" longer.db)" 3 "late runs of longer.ini"

echo "a record does not replace what a database has: a base of other settings, rows left out, progress, a direction"
sed 's/0\.01/0.02/; s/^heads = 1$/d_ff = 16/' lm.ini >other.ini
exits 0 ablate run other.ini --threads 1 --progress none --db other.db
exits 1 ablate import one.json --continue --db other.db
has err "the record's base differs from the base that the experiment has in the database"
exits 0 ablate record lm other.json --db other.db
cp results.db both.db
exits 0 ablate run other.ini --threads 1 --progress none --db both.db
exits 0 ablate import other.json --continue --db both.db
equal "$(sql "SELECT name FROM variant WHERE archived=0 ORDER BY 1" both.db | tr '\n' ' ')" "A/d_ff=16 base " "rows after the import"
second="$of='A/heads=1' AND seed=2"
change failed.db "UPDATE run SET status='failed' WHERE id IN($second)"
exits 0 ablate record lm failed.json --db failed.db
change killed.db "UPDATE run SET status='killed',attempt=2,step=15 WHERE id IN($second)"
exits 0 ablate import failed.json --continue --db killed.db
equal "$(sql "SELECT status,attempt,step FROM run WHERE id IN($second)" killed.db)" killed,2,15 "a run that was going on"
change turned.db "UPDATE metric SET direction='max' WHERE name='PPL'"
exits 1 ablate import one.json --db turned.db
has err 'metric "PPL": lower is better here, but higher in other experiments of this database'
echo "what the project recorded comes back byte by byte"
for name in sizes parsing-lstm heads-roles; do
    exits 0 ablate import "$source/experiments/recorded/$name.json.gz" --db $name.db
    exits 0 ablate record $name again.json.gz --db $name.db
    cmp <(zcat "$source/experiments/recorded/$name.json.gz") <(zcat again.json.gz) || wrong "$name: recorded anew it differs"
done
statistics="SELECT count(*)||' '||group_concat(hex(stats),' ') FROM (SELECT stats FROM result x JOIN metric m ON m.id=x.metric_id JOIN
    run r ON r.id=x.run_id JOIN variant v ON v.id=r.variant_id ORDER BY v.config_hash,r.seed,m.name)"
equal "$(sql "$statistics" new.db)" "$(sql "$statistics")" "statistics, bit for bit"
for how in "--format csv" "--json" "--stats full" "--metric loss --json"; do
    exits 0 ablate table lm $how
    sed '/^6 of 6 runs\|recorded/d' out >first.txt
    exits 0 ablate table lm $how --db new.db
    sed 's/lm\.recorded/lm/; /^6 of 6 runs/d' out | sed '/recorded/d' >second.txt
    equal "$(<second.txt)" "$(<first.txt)" "the table with $how"
done
answer() { "$program" gate lm A/heads=1 --metric "$@" 2>&1; }
equal "$(answer PPL --db new.db)" "$(answer PPL)" "the gate's answer"

echo "metrics in other units and the counts of tokens are written once"
stats=$(grep -c '"stats":\[' one.json)
equal "$stats" 30 "results with statistics"
has one.json '"times":1.4426950408889634,"over":100}'
equal "$(grep -c '^{"of":' one.json)" 12 "columns that follow from others: loss and bits of six runs"
equal "$(grep -c '^"[A-Za-z0-9+/]*=*",\?$' one.json)" 13 "columns with numbers: nats and hits of six runs, one of tokens"

echo "--statistics: what a record lacks is in the file, in a message, and in a table that needs it"
exits 2 ablate record lm x.json --statistics
exits 2 ablate record lm x.json --statistics ""
has err "--statistics: found nothing, expected METRIC,... or none"
exits 1 ablate record lm x.json --statistics PPL,BLEU
has err '--statistics: found "BLEU", expected metrics that have statistics: PPL, '
[ ! -e x.json ] || wrong "a refused record was written"
exits 0 ablate record lm some.json --statistics token_accuracy,bits_per_char
has err "Left out: per-sentence statistics of PPL, bits_per_byte, loss. Tables of the record"
has some.json '"statistics_left_out":"PPL, bits_per_byte, loss"'
equal "$(grep -c '"stats":"left out"' some.json) $(grep -c '"stats":\[' some.json)" "18 12" "results without and with"
exits 0 ablate record lm none.json --statistics none
hasnt none.json '"stats":['
less=$(stat -c %s none.json) some=$(stat -c %s some.json) all=$(stat -c %s one.json)
[ "$less" -lt "$some" ] && [ "$some" -lt "$all" ] || wrong "sizes none $less, some $some, all $all: expected them to rise"
exits 0 ablate import some.json --db some.db
exits 0 ablate table lm --db some.db --metric bits_per_char --format csv
cp out second.txt
exits 0 ablate table lm --metric bits_per_char --format csv
equal "$(<second.txt)" "$(<out)" "the table of a metric with its statistics"
exits 0 ablate table lm --db some.db --metric PPL
has out "No Δ, interval, p or verdict in PPL (dev): they need the metric's statistics per sentence, which the record left out"
exits 0 ablate table lm --db some.db --metric loss
has out "No interval, p or verdict in loss (dev): they need"
has out "Δ"
exits 0 ablate table lm --db some.db --metric token_accuracy
hasnt out "left out"
exits 4 ablate gate lm A/heads=1 --metric loss --db some.db
has out "the record left out the statistics per sentence that an answer needs"
exits 0 ablate plan lm --detect "0.1 loss" --db some.db
has out "choices of searches): unknown, taken as 0, so the power shown is too high: the record left out"
exits 0 ablate plan lm --detect "0.1 bits_per_char" --db some.db
hasnt out "left out"
exits 0 ablate show lm/base@1 --db some.db
has out "statistics loss"
exits 0 ablate record lm again.json --db some.db
cmp some.json again.json || wrong "a record of a record without some statistics differs"
exits 1 ablate record lm x.json --db some.db --statistics loss
has err 'found "loss", expected metrics that have statistics: bits_per_char, token_accuracy'
finish
