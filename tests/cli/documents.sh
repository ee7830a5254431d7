#!/usr/bin/env bash
# documents.tsv beside a corpus: confidence intervals are over the listed documents, and an invalid documents.tsv is not
# used. A folder of documents as a language model's corpus is tested, too.
source "$(dirname "$0")/common.bash" "$@"

mkdir corpus
awk 'BEGIN { split("a b c d e f", w); for (i = 0; i < 400; i++) { s = "a"
    for (k = 0; k < 3 + i % 3; k++) { x = (x * 3877 + 29573) % 139968; s = s " " w[int(x * 6 / 139968) + 1] }; print s } }' >all
for part in "train 1,340" "dev 341,370" "test 371,400"; do
    set -- $part
    sed -n "$2p" all >corpus/$1.en
    tr a-f A-F <corpus/$1.en >corpus/$1.de
done
{
    echo "[experiment]"; echo "name = docs"; echo "seeds = 1..2"; echo "[base]"; echo "translation.data = ./corpus"
    tiny docs 200 | grep -E '^(layers|d_ff|heads|batch|steps|schedule|warmup|eval|save|beam)'
    printf 'd_model = 32\nlr = 0.01\ndropout = 0\nvocab = words\n[sweep A]\nheads = 1\n'
} >docs.ini
run() { rm -rf "$ABLATE_DB" home && exits 0 ablate run docs.ini --threads 1 --progress none; }

run
has out "over seeds and sentences (crossed components"
exits 0 ablate table docs --metric BLEU --stats full --format csv
equal "$(column p_models <out | wc -l)" 2 "rows"
before=$(column p_models <out | tail -1)
printf 'document\tsplit\tsentences\tnote\none\ttrain\t340\t\ntwo\tdev\t30\t\nthree\ttest\t10\tx\nfour\ttest\t12\t\nfive\ttest\t8\t\n' \
    >corpus/documents.tsv
run
has out "over seeds and 3 documents (crossed components"
equal "$("$program" query "SELECT DISTINCT tag||'='||value FROM tag WHERE tag LIKE 'documents BLEU'" --format csv | tail -1 | tr -d '\r')" \
    "documents BLEU=10 12 8" "tag"
exits 0 ablate table docs --metric BLEU --stats full --format csv
after=$(column p_models <out | tail -1)
# Each of three documents and two seeds may change its sign: at most 64 permutations, so p is at least 2 / 64 (but for
# rounding).
equal "$(awk -v p="$after" 'BEGIN { print (p >= 2 / 64 - 0.01) }')" 1 "p over documents ($after) is not below 2 / 64"
[ -n "$after" ] && [ "$after" != "$before" ] || wrong "p is $after, with sentences $before: expected another"
exits 0 ablate table docs --metric PPL_dev # dev is a single document, so sentences are the units
has out "over seeds and sentences"

sed -i 's/\t12\t/\t13\t/' corpus/documents.tsv
run
has out "over seeds and sentences"
grep -rqF "corpus/documents.tsv: its documents of test have 31 examples, but there are 30; sentences count as independent" home ||
    wrong "no log says that documents.tsv is wrong"
sed -i 's/\t13\t/\tten\t/' corpus/documents.tsv
run
grep -rqF "corpus/documents.tsv:5: found 'ten' as the number of examples, expected a number above 0 in the third column" home ||
    wrong "no log says where documents.tsv is wrong"

# documents.tsv of a treebank in a subfolder of $ABLATE_DATA is found.
mkdir -p data/banks/mini
for part in "train 1,340" "dev 341,370" "test 371,400"; do
    set -- $part
    sed -n "$2p" all | awk '{ printf "(S (NP (DT a)) (VP"; for (i = 2; i <= NF; i++) printf " (NN %s)", $i; print "))" }' \
        >data/banks/mini/$1.ptb
done
printf 'document\tsplit\ttrees\none\ttrain\t340\ntwo\tdev\t30\nthree\ttest\t10\nfour\ttest\t20\n' \
    >data/banks/mini/documents.tsv
{ tiny trees 4 | grep -v '^sequence'; } | sed 's/^task .*/task = parsing/' >trees.ini
exits 0 env ABLATE_DATA="$work/data" "$program" run trees.ini -s parsing.data=banks/mini -s vocab=words --threads 1 \
    --progress none --db trees.db
equal "$(sql "SELECT value FROM tag WHERE tag='documents F1'" trees.db)" "10 20" "documents of banks/mini"

echo "a folder of documents for a language model: whole documents are dev's, test's and train's, drawn by split_seed"
mkdir docs
for n in 1 2 3 4 5 6 7 8 9; do head -$((10 + 3 * n)) all | tail -$((8 + 3 * n)) >docs/text$n; done
{ tiny language 4 | grep -Ev '^(sequence|beam)'; } | sed 's/^task .*/task = lm/; s/^name .*/&\nseeds = 1..3/' >language.ini
printf 'lm.file = ./docs\nlm.context = 16\nlm.dev_part = 0.2\nlm.test_part = 0.4\ndropout = 0\n[variant one]\nheads = 1\n' \
    >>language.ini
language() { exits 0 ablate run language.ini --threads 1 --progress plain --db "$1.db" "${@:2}"; }
windows() { sql "SELECT DISTINCT value FROM tag WHERE tag = 'documents $1'" "$2.db" | tr -d '\r"'; }
language lm
has out "over seeds and 3 documents"
has err "./docs: documents drawn by split_seed: train 4, dev 2, test 3"
for n in 1 2 3 4 5 6 7 8 9; do echo $((($(wc -c <docs/text$n) + 15) / 16)); done | sort >sizes
for part in PPL PPL_test bits_per_byte; do
    windows $part lm | tr ' ' '\n' | sort >counts
    equal "$(comm -23 counts sizes | tr '\n' ' ')" "" "windows of $part end with their documents"
done
equal "$(windows PPL_test lm)" "$(windows bits_per_byte lm)" "documents of test"
equal "$(comm -12 <(windows PPL lm | tr ' ' '\n' | sort) <(windows PPL_test lm | tr ' ' '\n' | sort))" "" "documents in two parts"
echo "a record has statistics by document, and the same table"
exits 0 ablate record language one.json --db lm.db
exits 0 ablate import one.json --continue --db again.db
for how in "" "--metric loss" "--metric PPL"; do
    exits 0 ablate table language $how --format csv --db lm.db
    cp out first.txt
    exits 0 ablate table language $how --format csv --db again.db
    equal "$(<out)" "$(<first.txt)" "the table of $how"
done
bytes() { sql "SELECT sum(length(stats)) FROM result" "$1"; }
[ $(($(bytes again.db) * 5)) -lt "$(bytes lm.db)" ] || wrong "statistics: $(bytes again.db) bytes by document, $(bytes lm.db) by window"
exits 0 ablate record language two.json --db again.db
cmp one.json two.json || wrong "a record of a record differs"
printf '[variant split]\nlm.split_seed = 2\n' | cat language.ini - >mixed.ini
exits 0 ablate run mixed.ini --threads 1 --progress none --db mixed.db
exits 0 ablate table language --stats full --format csv --db mixed.db
cp out first.txt
exits 0 ablate record language mixed.json --db mixed.db
exits 0 ablate import mixed.json --continue --db mixed2.db
exits 0 ablate table language --stats full --format csv --db mixed2.db
equal "$(<out)" "$(<first.txt)" "the table of rows with different documents"
echo "sums by document stay sums by document beside rows with other documents"
exits 0 ablate import one.json --continue --db goes.db
exits 0 ablate run mixed.ini --threads 1 --progress none --db goes.db
exits 0 ablate table language --stats full --format csv --db lm.db
grep '^one,' out | cut -d, -f1-14,16 >first.txt
exits 0 ablate table language --stats full --format csv --db goes.db
equal "$(grep '^one,' out | cut -d, -f1-14,16)" "$(<first.txt)" "row one beside a row with other documents"
exits 0 ablate table language --db goes.db
has out "over seeds and 3 documents"
language other -s lm.split_seed=2
[ "$(windows PPL_test other)" != "$(windows PPL_test lm)" ] || wrong "split_seed changes nothing: $(windows PPL_test lm)"
cat docs/* >book
language book -s lm.file=./book
has out "over seeds and windows of this passage only"
equal "$(windows PPL_test book)" "" "parts of one text are no documents"
: >docs/empty
exits 1 ablate run language.ini --threads 1 --progress none --db empty.db
has err "./docs/empty is empty (lm.file = ./docs)"
rm docs/*
exits 1 ablate run language.ini --threads 1 --progress none --db empty.db
has err "./docs has no file (lm.file = ./docs)"
finish
