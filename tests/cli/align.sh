#!/usr/bin/env bash
# `ablate score likelihood`, `ablate align` and `ablate score aer` on pairs of sentences that the user gives.
source "$(dirname "$0")/common.bash" "$@"

gold=$source/tests/data/alignments.tsv
{ tiny pairs 20 | grep -v '^task\|^sequence' &&
    printf 'translation.data = synthetic\ntranslation.train_pairs = 500\nvocab = words\n'; } >pairs.ini
exits 0 ablate run pairs.ini --threads 1 --progress none

echo "likelihoods of given targets"
cut -f1,2 "$gold" | head -n 20 >some.tsv
exits 0 ablate score likelihood --run pairs/base <some.tsv
equal "$(wc -l <out)" 20 "a line per pair"
equal "$(cut -f2 out | xargs)" "$(cut -f2 some.tsv | awk '{print NF + 1}' |
    xargs)" "tokens of the targets, the end counted"
cp out likelihoods
# The summed log-probabilities agree with the perplexity. Pairs in another order, or a single thread, give the same
# figures.
tac some.tsv >turned.tsv
exits 0 ablate score likelihood --run pairs/base <turned.tsv
equal "$(tac out)" "$(cat likelihoods)" "figures do not depend on the other lines"
exits 1 ablate score likelihood --run pairs/base <<<'no tab'
has err 'standard input:1: found no tab, expected SOURCE, a tab and TARGET'
{ yes "$(head -n 1 some.tsv)" | head -n 70 && printf 'a\tb \xff\n'; } >bytes.tsv
for command in "score likelihood" align; do
    exits 1 ablate $command --run pairs/base <bytes.tsv
    has err 'standard input:71: byte 5 (0xff) is not UTF-8'
done
exits 2 ablate score likelihood
has err 'expected either --run or --model'
exits 0 ablate run pairs.ini -s position=learned -s learned.max_len=100 --threads 1 --progress none --db learned.db
{ head -n 2 some.tsv && printf 'a\t%s\n' "$(printf 'b %.0s' {1..120})"; } >long.tsv
why='learned.max_len = 100: expected at least 121, because'
for command in "score likelihood" align; do
    exits 1 ablate $command --run pairs/base --db learned.db <long.tsv
    has err "standard input:3: $why a side of the line has that many tokens"
done
long=$(sed -n '3s/.*\t//p' long.tsv)
exits 1 ablate attention --run pairs/base --db learned.db --text a --target "$long" -o long.html
has err "$why the target has that many tokens"
exits 1 ablate patch pairs/base --db learned.db --from a --to b --target "$long"
has err "$why a side of the sentence has that many tokens"
exits 1 ablate attention --run pairs/base --db learned.db --text "$long" -o long.html
has err "$why --text has that many tokens"
exits 1 ablate patch pairs/base --db learned.db --from a --to "$long"
has err "$why --to has that many tokens"

echo "alignments"
exits 0 ablate align --run pairs/base <some.tsv
equal "$(wc -l <out)" 20 "a line per pair"
paste some.tsv out | awk -F'\t' '{ n = split($1, a, " "); m = split($2, b, " "); k = split($3, l, " ")
    for (i = 1; i <= k; i++) { split(l[i], w, "-"); if (w[1] >= n || w[2] >= m) print NR ": " l[i] } }' >beyond
equal "$(cat beyond)" "" "words of the sentences only"
exits 0 ablate run pairs.ini -s vocab=bpe -s vocab_size=200 --threads 1 --progress none --db bpe.db
for vocab in results bpe; do
    printf '%s\n' $'the dog sleeps .\tder hund schläft .' $'  the dog  sleeps .  \t der  hund schläft .   ' $' \t ' >blanks.tsv
    exits 0 ablate align --run pairs/base --db $vocab.db <blanks.tsv
    equal "$(tr ' ' '\n' <out | awk -F- '$1 > 3 || $2 > 3' | xargs)" "" "words beyond the sentence's, db $vocab"
    equal "$(wc -l <out) $(tail -n 1 out)" "3 " "a pair of blanks has no word, db $vocab"
done
exits 1 ablate align --run pairs/base --layer 9 <some.tsv
has err '--layer: found 9, the decoder has layers 1 to'

echo "alignments of outputs"
cut -f1 some.tsv >some.txt
exits 0 ablate translate --run pairs/base --precision fp32 <some.txt
paste some.txt out >outputs.tsv
exits 0 ablate translate --run pairs/base --alignment <some.txt
cp out aligned
exits 0 ablate align --run pairs/base <outputs.tsv
equal "$(cat aligned)" "$(paste -d '|' <(cut -f2 outputs.tsv) out |
    sed 's/|/ ||| /')" "outputs, each with what align prints for it"
exits 1 ablate translate --run pairs/base --alignment --nbest 2 --beam-size 2 <some.txt
has err '--alignment is for translations of one model'

echo "their error rate"
cut -f3 "$gold" >links
exits 0 ablate score aer --gold links <links
has out 'AER = 0.00 (precision = 100.00 recall = 100.00'
# AER = 1 - (|A n S| + |A n P|) / (|A| + |S|), with |A| = 3, |S| = 2, |A n S| = 1, |A n P| = 2: 1 - 3 / 5
echo '0-0 1-1 2p2' >by_hand
exits 0 ablate score aer --gold by_hand <<<'0-0 2-2 1-0 0-0'
has out 'AER = 40.00 (precision = 66.67 recall = 50.00 links = 3 sure = 2 sentences = 1)'
exits 0 ablate score aer --gold by_hand --json <<<'0-0 2-2 1-0'
has out '{"aer":40,"precision":66.66666666666'
exits 2 ablate score aer --gold by_hand <<<'0-0 2:2'
has err 'standard input:1: found "2:2", expected links such as 0-2 (sure) or 1p3 (possible)'
finish
