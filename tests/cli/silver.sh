#!/usr/bin/env bash
# Semi-supervised parsing on a toy treebank: two runs parse sentences, and a third run trains on gold trees and on the
# trees that both produced. Also tested: a run's outputs as files, and the analysis of these outputs by confused labels
# and by length.
source "$(dirname "$0")/common.bash" "$@"

trees() { awk -v n="$1" -v seed="$2" -f "$source/tests/cli/toy_trees.awk"; }
one_a_line() { tr -d '\n' | sed -E 's/\( \(S /\n(TOP (S /g' | sed 1d | sed -E 's/\(S \(NP \(-NONE- \*\)\)\)//g; $a\'; }
mkdir -p data/toy data/silver
export ABLATE_DATA=$work/data
trees 300 1 >data/toy/train.ptb
trees 40 2 >data/toy/dev.ptb
trees 40 3 >data/toy/test.ptb
trees 120 4 | one_a_line >text.trees
sed -E 's/\([^ ()]+ ([^ ()]+)\)/\1/g; s/\([^ ()]* ?//g; s/\)//g; s/ +/ /g' text.trees >text.txt

cat >toy.ini <<'INI'
[experiment]
name  = toy
seeds = 1, 2
[base]
task             = parsing
parsing.data     = toy
vocab            = words
layers           = 1
d_model          = 32
d_ff             = 64
heads            = 4
position         = rotary
batch_tokens     = 1000
schedule         = constant
lr               = 0.004
warmup           = 20
steps            = 120
eval_every       = 120
save_every       = 120
max_extra_tokens = 60
beam_size        = 1
decode_split     = dev+test
[variant silver]
parsing.silver      = silver/text.ptb
parsing.gold_repeat = 2
steps               = 30
INI

echo "without its silver trees the row fails with a message"
exits 1 ablate run toy.ini --threads 1 --progress plain --only silver --seeds 1
has err "parsing.silver: no treebank $work/data/silver/text.ptb"

echo "two parsers, and what they agree on"
exits 0 ablate run toy.ini --threads 1 --progress none --only base
for seed in 1 2; do
    exits 0 ablate parse --run toy/base@$seed --beam-size 1 --threads 1 <text.txt
    cp out trees.$seed
    equal "$(wc -l <out)" 120 "trees of seed $seed"
done
exits 0 ablate score agree trees.1 trees.2
cp out data/silver/text.ptb
agreed=$(paste -d'\n' trees.1 trees.2 | awk 'NR % 2 { a = $0; next } a == $0' | wc -l)
equal "$(wc -l <out)" "$agreed" "trees on which both agree"
has err "$agreed of 120 lines are identical in 2 files"
[ "$agreed" -gt 0 ] && [ "$agreed" -lt 120 ] || wrong "$agreed of 120 trees agree: this test would see no difference"
exits 0 ablate score agree --keep-lines trees.1 trees.2
equal "$(wc -l <out) $(grep -c . out)" "120 $agreed" "lines with --keep-lines, and those that are not empty"
equal "$(paste -d'|' out trees.1 | awk -F'|' '$1 != "" && $1 != $2' | wc -l)" 0 "lines that are not parallel"

echo "gold and silver"
exits 0 ablate run toy.ini --threads 1 --progress none --rerun failed --seeds 1
equal "$(sql "SELECT count(*) FROM run WHERE status='done'")" 3 "runs that are done"

echo "a run's outputs, and its references"
for split in dev test; do
    exits 0 ablate show toy/base@1 --ref $split
    cp out ref
    exits 0 ablate show toy/base@1 --hyp $split
    cp out hyp
    equal "$(wc -l <hyp) $(wc -l <ref)" "40 40" "outputs and references of $split"
    code=0
    ablate score f1 --gold ref --json --by-length --confusion <hyp >f1.json 2>err || code=$?
    equal $code 0 "score f1 of $split"
    equal "$(sql "SELECT round(value-json_extract('$(cat f1.json)','$.all.f1'),9) FROM results
        WHERE variant='base' AND seed=1 AND metric='F1_$split'")" 0 "F1 of the run less that of its files, $split"
    equal "$(sql "SELECT sum(json_extract(value,'$.sentences')) FROM json_each('$(cat f1.json)','$.by_length')")" 40 \
        "sentences by length"
done
equal "$(diff <(trees 40 3 | one_a_line | sed 's/-[A-Z0-9-]*//g; s/  */ /g; s/ )/)/g') <(sed 's/  */ /g' ref) |
    head -3)" "" "references of test"
exits 0 ablate score f1 --gold ref --confusion 3 --by-length <hyp
has out "-- Labels: brackets of valid sentences --"
has out "-- By length: gold words, punctuation counted --"
exits 0 ablate show toy/base@1
equal "$(awk '$1 ~ /^outputs_(first|in_beam|again)$/ { n += $2 } END { print n }' out)" 80 \
    "outputs of both splits, by their ways"
exits 1 ablate show toy/base@1 --hyp train
has err "has no outputs for train: found no file train.hyp"
exits 2 ablate show toy/base@1 --hyp test --ref test

echo "agree"
printf 'a\nb\n\nd\n' >x
printf 'a\nc\n\nd' >y
exits 0 ablate score agree --number x y x
equal "$(tr '\t\n' ':;' <out)" "1:a;3:;4:d;" "numbered lines"
printf 'a\n' >z
exits 2 ablate score agree x z
has err "x has 4 lines and z has 1; both need equally many"
exits 2 ablate score agree x
has err "expected two or more files"
exits 2 ablate score agree x y --numbers
has err "unknown option --numbers"
exits 2 ablate score agree x nowhere
has err "nowhere"
finish
