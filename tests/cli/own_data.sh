#!/usr/bin/env bash
# Corpora in the forms that users have: folders, tables, two files, one text, one file of trees, each perhaps with .gz;
# splits drawn from one file; refusals.
source "$(dirname "$0")/common.bash" "$@"

words=(ein hund sieht die katze und das haus rot blau geht kommt)
english=(a dog sees the cat and that house red blue goes comes)
RANDOM=7
for _ in $(seq 400); do
    src= tgt=
    for _ in 1 2 3 4; do
        k=$((RANDOM % 12))
        src+=" ${english[k]}" tgt+=" ${words[k]}"
    done
    printf '%s\t%s\n' "${src# }" "${tgt# }"
done >pairs
cut -f1 pairs >all.en
cut -f2 pairs >all.de
mkdir -p folder named tables
for part in train:1,300 valid:301,350 test:351,400; do
    sed -n "${part#*:}p" all.en | gzip >"folder/${part%:*}.en.gz"
    sed -n "${part#*:}p" all.de >"folder/${part%:*}.de"
    sed -n "${part#*:}p" pairs >"tables/${part%:*}.tsv"
done
mv tables/valid.tsv tables/validation.tsv
mkdir part && cp all.en part/train.en && cp all.de part/train.de && sed -n 1,20p all.en >part/val.en &&
    sed -n 1,20p all.de >part/val.de
cp pairs plain.tsv
{ printf 'EN\tDE\n'; cat pairs; } >header.tsv
# a byte order mark and further columns, as a spreadsheet writes them
{ printf '\357\273\277source\tid\ttarget\n'; awk -F'\t' '{ print $1 "\t" NR "\t" $2 }' pairs; } >marked.tsv
cp marked.tsv c++.tsv
awk -F'\t' 'BEGIN { print "target\tid\tsource" } { print $2 "\t" NR "\t" $1 }' pairs | gzip >turned.tsv.gz

{ tiny own 4 | grep -v '^sequence'; } | sed 's/^task .*/task = translation/' >own.ini
echo 'vocab = words' >>own.ini
run() { exits 0 ablate run own.ini -s translation.data="$1" --threads 1 --progress none --db "$2"; }
lines() { ablate show own/base --ref test --db "$1" | wc -l; }

note='by a hash of the source line'
run ./folder folder.db
hasnt err "$note"
equal "$(lines folder.db)" 50 "test lines of a folder with valid and .gz"
run ./tables tables.db
equal "$(lines tables.db)" 50 "test lines of a folder of tables"
for data in ./plain.tsv ./header.tsv ./turned.tsv.gz ./marked.tsv ./c++.tsv ./all.en+./all.de; do
    rm -rf one.db*
    run "$data" one.db
    equal "$(grep -c "^$data: dev (.* pairs) and test (.* pairs) split off from 400 pairs $note\$" err)" 1 \
        "the split of $data is said once"
    equal "$(sql "SELECT value FROM tag WHERE tag='data'" one.db)" "$(grep "$note" err)" "and recorded"
    ablate show own/base --ref test --db one.db >"ref.$(basename "$data")"
    cmp "ref.$(basename "$data")" ref.plain.tsv || wrong "$data: another test part than plain.tsv's"
    grep -vxFf all.de ref.plain.tsv && wrong "$data: a reference that is no line of the target"
done
run ./part part.db
has err './part: test ('
hasnt err 'dev ('

echo "dev beside a table or two files, wherever these are"
mkdir beside home/data -p && cp plain.tsv all.en all.de beside
for place in . beside home/data; do
    sed -n 1,20p all.en >$place/own.en && sed -n 1,20p all.de >$place/own.de
done
cp plain.tsv home/data
for data in ./plain.tsv beside/plain.tsv beside/all.en+beside/all.de plain.tsv "$work/beside/plain.tsv"; do
    rm -rf one.db*
    exits 0 ablate run own.ini -s translation.data="$data" -s translation.dev=own --threads 1 --progress none --db one.db
    has err "$data: test ("
    hasnt err 'dev ('
done
exits 1 ablate run own.ini -s translation.data=./plain.tsv -s translation.dev=none --db bad.db
has err 'no file ./none.en (translation.dev = none'

echo "a smaller training set has the same dev and test"
run ./plain.tsv whole.db
exits 0 ablate run own.ini -s translation.data=./plain.tsv -s translation.first_pairs=100 --threads 1 \
    --progress none --db first.db
has err "split off from 400 pairs $note"
equal "$(ablate show own/base --ref test --db first.db)" "$(ablate show own/base --ref test --db whole.db)" "test lines"

echo "what is refused"
printf 'a b\tc\nonly one\n' >bad.tsv
exits 1 ablate run own.ini -s translation.data=./bad.tsv --db bad.db
has err './bad.tsv:2: found 1 column, expected 2 with a tab between: source and target'
head -5 pairs >few.tsv
exits 1 ablate run own.ini -s translation.data=./few.tsv --db bad.db
has err "./few.tsv has no dev part, and a twentieth of its 5 pairs is too few for one; give translation.dev"
exits 1 ablate run own.ini -s translation.data=./all.en+./none.de --db bad.db
has err 'no file ./none.de (translation.data = ./all.en+./none.de'
echo text >broken.tsv.gz
exits 1 ablate run own.ini -s translation.data=./broken.tsv.gz --db bad.db
has err './broken.tsv.gz: found something else, expected gzip'

for i in $(seq 60); do
    printf '{"id": "%d", "translation": {"en": "a%d \\"b\\"", "de": "c \\u00fc\\ud83d\\ude00\\n%d", "n": 1}}\n' "$i" "$i" "$i"
done >pairs.jsonl
for i in $(seq 60); do printf 'a%d "b"\tc ü😀 %d\n' "$i" "$i"; done >pairs.tsv
for form in jsonl tsv; do
    exits 0 ablate data check ./pairs.$form
    sed "s/pairs.$form//g" out >checked.$form
    exits 0 ablate run own.ini -s translation.data=./pairs.$form --threads 1 --progress none --db $form.db
    sql "SELECT value FROM result ORDER BY metric_id" $form.db >values.$form
done
equal "$(cat checked.jsonl values.jsonl)" "$(cat checked.tsv values.tsv)" "a corpus of JSON lines and its table"
equal "$(($(wc -l <values.tsv) > 2))" 1 "values of that corpus"
for bad in '{"translation": {"en": "a b"}}' '{"en": "a", "de": "b' '{"en": "a", "de": "\ud83d"}' '{"en": "a", "de": "\x"}'; do
    printf '%s\n' "$bad" >bad.jsonl
    exits 1 ablate data check ./bad.jsonl
    has err './bad.jsonl:1: found JSON without two texts, expected {"translation": {"en": "...", "de": "..."}}'
done

echo "a text, a file of trees"
gzip -k all.en
{ tiny text 4 | grep -v '^sequence'; } | sed 's/^task .*/task = lm/' >text.ini
exits 0 ablate run text.ini -s lm.file=./all.en.gz -s lm.context=16 --threads 1 --progress none --db text.db
has err './all.en.gz: dev ('
sed 's/^\([a-z]*\) \([a-z]*\) \([a-z]*\) \([a-z]*\)$/(S (NP (DT \1) (NN \2)) (VP (VB \3) (NP (NN \4))))/' all.en \
    >trees.ptb
{ tiny trees 4 | grep -v '^sequence'; } | sed 's/^task .*/task = parsing/' >trees.ini
exits 0 ablate run trees.ini -s parsing.data=./trees.ptb -s parsing.linearisation=words -s vocab=words --threads 1 \
    --progress none --db trees.db
has err './trees.ptb: dev ('
has err 'split off from 400 trees by a hash of the words'

echo "data check"
mkdir faulty
printf 'a b c\nd e f\na b c\n\ng h\nx y\nsame\n' >faulty/train.en
printf 'A B C\r\nD E F\r\nA B C\r\nQ\r\nG H\r\nX\r\nsame\r\n' >faulty/train.de
printf 'd e f\nG H\n' >faulty/dev.en
printf 'D E F\ng h\n' >faulty/dev.de
printf 'x y\nk\xff\n' >faulty/test.en
printf 'Z\none two three four five six seven eight nine ten\n' >faulty/test.de
row() { grep "^$1  " out | awk -v n="$2" '{ print $(NF - 3 + n) }'; }
exits 0 ablate data check ./faulty
equal "$(row pairs 1) $(row pairs 2) $(row pairs 3)" "7 2 2" "pairs"
equal "$(row 'a side is empty' 1)" 1 "empty sides"
equal "$(row 'repeated pairs' 1)" 1 "repeated pairs"
equal "$(row 'pair also in train' 2) $(row 'pair also in train' 3)" "1 0" "overlap of pairs"
equal "$(row 'source also in train' 2) $(row 'source also in train' 3)" "1 1" "overlap of sources"
equal "$(row 'another pair has the sides swapped' 2)" 1 "swapped sides"
equal "$(row 'sides identical' 1)" 1 "identical sides"
equal "$(row 'not UTF-8' 3)" 1 "not UTF-8"
equal "$(row 'lengths differ over 3 times' 3)" 1 "ratio of lengths"
equal "$(row 'source: to 5 words' 1) $(row 'target: to 10 words' 3)" "7 1" "lengths"
has out 'lines end in CR LF (read without the CR): 7: ./faulty/train.de:1, ./faulty/train.de:2, '
exits 1 ablate data check ./faulty --strict
mkdir data_folder && cp all.en data_folder/two.en && sed 's/$/\r/' all.de >data_folder/two.de
exits 0 env ABLATE_DATA="$work/data_folder" "$program" data check two.en+two.de
has out 'lines end in CR LF (read without the CR): 400: '
has out '/data_folder/two.de:5 and others (-v: all)'
cp -r faulty faulty+more
exits 0 ablate data check ./faulty+more
has out 'lines end in CR LF (read without the CR): 7: ./faulty+more/train.de:1, '
mkdir clean
printf 'a b\nc d\n' | tee clean/train.en | tr a-z A-Z >clean/train.de
printf 'e f\ng h\n' | tee clean/dev.en | tr a-z A-Z >clean/dev.de
printf 'i j\nk l\n' | tee clean/test.en | tr a-z A-Z >clean/test.de
exits 0 ablate data check ./clean --strict
exits 1 ablate data check ./nowhere
has err 'no file ./nowhere/train.en'
exits 0 ablate data check ./trees.ptb --task parsing
mkdir 'trees[1]' && for part in train dev test; do head -5 trees.ptb >"trees[1]/$part.ptb"; done
exits 0 ablate data check './trees[1]' --task parsing

echo "a run says what endangers its results, once, and keeps it"
head -20 pairs >part/dev.tsv
exits 0 ablate run own.ini -s translation.data=./part -s translation.dev=dev -s heads=1,2 --threads 1 --progress none \
    --db danger.db
equal "$(grep -c '^./part: [0-9]* of 20 dev pairs also occur as training pairs' err)" 1 "said once"
sql "SELECT value FROM tag WHERE tag='data_check'" danger.db >tags
has tags ' of 20 dev pairs also occur as training pairs'
exits 0 ablate table --db danger.db
equal "$(grep -c '^Data of base: [0-9]* of 20 dev pairs also occur as training pairs' out)" 1 "under the table, once"
finish
