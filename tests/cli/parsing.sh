#!/usr/bin/env bash
# Parsing from a treebank to trees: learns a toy grammar, scores it, and parses typed sentences. The four
# linearisations; constrained decoding and the routes of outputs without it; messages about invalid files.
set -eu
program=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir home data data/toy
export ABLATE_HOME=$work/home ABLATE_DB=$work/results.db ABLATE_DATA=$work/data OMP_NUM_THREADS=1

trees() { awk -v n="$1" -v seed="$2" -f "$source/tests/cli/toy_trees.awk"; } # N SEED
trees 700 1 > data/toy/train.ptb
trees 60 2 > data/toy/dev.ptb
trees 60 3 > data/toy/test.ptb

cat > toy.ini <<'INI'
[experiment]
name = toy
[base]
task             = parsing
parsing.data     = toy
vocab            = words
layers           = 1
d_model          = 48
d_ff             = 96
heads            = 4
dropout          = 0.05
position         = rotary
batch_tokens     = 1500
schedule         = constant
lr               = 0.003
warmup           = 30
steps            = 140
eval_every       = 140
save_every       = 140
max_extra_tokens = 60
beam_size        = 3
precision        = fp32
[variant free]
parsing.constrained = false
steps               = 15
[variant short]
position          = learned
learned.max_len   = 150
steps             = 15
[variant labels]
parsing.linearisation = labels
share_embeddings      = target
[variant xx]
parsing.linearisation = xx
share_embeddings      = target
[variant in_order]
parsing.linearisation = in_order
INI

fail() { echo "$*"; exit 1; }
"$program" run toy.ini --threads 1 --progress none > table.txt 2> run.err || { cat run.err table.txt
fail "the sweep failed"; }
cat table.txt

# The grammar is learned. With constraints every output is a tree; without constraints, the well-formed and the repaired
# outputs together are all outputs.
first_number() { awk -v name="$1" \
    'index($0, name) == 1 { s = substr($0, length(name) + 1); split(s, f, " "); print f[1]; exit }' show.txt; }
for row in base:60 labels:40 xx:25 in_order:60 free:0; do
    "$program" show "toy/${row%:*}" > show.txt
    awk -v f1="$(first_number F1)" -v least="${row#*:}" 'BEGIN { exit !(f1 >= least) }' ||
        fail "$row: F1 $(first_number F1)"
    test "$(first_number outputs_refused)" = 0 || { cat show.txt; fail "$row: outputs that are no trees"; }
    sum=$(($(first_number outputs_first) + $(first_number outputs_in_beam) + $(first_number outputs_again)))
    test $sum = 60 || fail "$row: $sum outputs of 60"
    [ "${row%:*}" = free ] || test "$(first_number outputs_first)" = 60 ||
        fail "$row: constrained outputs took another way"
done
test "$(first_number outputs_again)" -gt 0 || fail "free: 15 updates gave trees only"

# ablate parse prints one line per input line, in order. Some input lines are empty, very long, tagged, without a line
# end, or have unknown words.
{
    printf 'the dog sees a cat .\n\nAnn_NNP likes_VBZ Bob_NNP ._.\n'
    printf 'the dog %.0s' $(seq 60)
    printf '\n  \n(Z\303\274rich) \342\226\201odd `` says nothing\nthe old dog likes Eve'
} > in.txt
for row in base labels free; do
    "$program" parse --run toy/$row --beam-size 2 --threads 1 < in.txt > out.txt 2> parse.err || { cat parse.err
    fail "parse failed"; }
    test "$(wc -l < out.txt)" = 7 || { cat out.txt; fail "$row: not a line a line"; }
    # the leaves of the trees are the words of the input
    sed -E 's/\([^ ()]+ ([^ ()]+)\)/\1/g; s/\([^ ()]+ ?//g; s/\)//g; s/ +/ /g; s/^ //; s/ $//' out.txt > words.txt
    sed -E 's/_[A-Z.]+//g; s/\(/-LRB-/g; s/\)/-RRB-/g; s/\xe2\x96\x81/_/g; s/^ +//; s/ +$//' in.txt > expected.txt
    echo >> expected.txt
    diff words.txt expected.txt || fail "$row: other words"
done
grep -q '(NNP Ann)' out.txt || fail "given tags are lost"
test -z "$(sed -n 2p out.txt)$(sed -n 5p out.txt)" || fail "an empty line has a tree"

# Parses the sentences of gold.txt with the run's model and scores the trees: F1 must equal the run's recorded F1.
tr -d '\n' < data/toy/test.ptb | sed -E 's/\( \(S /\n(TOP (S /g' | sed 1d |
    sed -E 's/\(S \(NP \(-NONE- \*\)\)\)//g; $a\' > gold.txt
sed -E 's/\(([^ ()]+) ([^ ()]+)\)/\2_\1/g; s/\([^ ()]* ?//g; s/\)//g; s/ +/ /g; s/^ //' gold.txt > typed.txt
for row in base labels; do
    "$program" show "toy/$row" > show.txt
    "$program" parse --run toy/$row --beam-size 3 --length-penalty 0.6 --threads 1 2> /dev/null < typed.txt > trees.txt
    "$program" score f1 --gold gold.txt < trees.txt > score.txt || { cat score.txt; fail "score f1 failed"; }
    awk -v f1="$(first_number F1)" \
        '/FMeasure|F1/ { for (i = 1; i <= NF; i++) if ($i ~ /^[0-9.]+$/ && $i - f1 < 0.01 && f1 - $i < 0.01) ok = 1 } END { exit !ok }' score.txt ||
        { cat score.txt; fail "$row: the run has F1 $(first_number F1)"; }
done
# A line longer than the model allows gets a flat tree and a warning; the other lines get their trees.
"$program" parse --run toy/short --beam-size 2 --threads 1 < in.txt > out.txt 2> short.err &&
    fail "a line that is too long was parsed"
grep -qF 'ablate parse: line 4: printed a flat tree: learned.max_len = 150: expected at least 181, because outputs may be max_extra_tokens = 60' \
    short.err || { cat short.err; fail "the line that is too long is not named"; }
test "$(grep -c 'ablate parse:' short.err)" = 1 || { cat short.err; fail "more is said than of one line"; }
"$program" parse --run toy/short --nbest 2 < in.txt > nbest.txt 2> nbest.err && fail "--nbest of trees is accepted"
grep -qF -- '--nbest is not for trees' nbest.err || { cat nbest.err; fail "--nbest of trees is refused in other words"; }
grep -q '7 sentences.* 6 best of the beam.* 1 repaired' short.err || { cat short.err
fail "the ways of outputs do not add up"; }
sed -n 4p out.txt | grep -q '^(TOP (XX the) (XX dog) (XX the)' || { sed -n 4p out.txt
fail "the line that is too long is not flat"; }
sed -n '1,3p;5,$p' in.txt | "$program" parse --run toy/short --beam-size 2 --threads 1 2> /dev/null |
    cmp - <(sed 4d out.txt) ||
    fail "a line that is too long changes the others"
sed -n 4p in.txt | "$program" parse --run toy/short --beam-size 2 --threads 1 2> /dev/null > alone.txt &&
    fail "a long line alone was parsed"
sed -n 4p out.txt | cmp - alone.txt || fail "a long line alone is not flat"
"$program" parse --run toy/short < /dev/null > alone.txt 2> /dev/null || fail "no input is an error"
test ! -s alone.txt || fail "no input gives output"
printf 'a b\nc \0d\n' | "$program" parse --run toy/base > /dev/null 2> bad.err && fail "a zero byte was taken"
grep -q 'standard input:2: found a zero byte' bad.err || { cat bad.err; fail "the zero byte's line is not named"; }
printf 'the dog sees Ann .\r\n' | "$program" parse --run toy/base --threads 1 2> /dev/null | grep -q '(XX .)' ||
    fail "a CR became part of a word"

printf 'a \377 b\n' | "$program" parse --run toy/base > /dev/null 2> bad.err && fail "invalid UTF-8 was taken"
grep -q 'standard input:1: byte 3 (0xff)' bad.err || { cat bad.err; fail "the byte is not named"; }
"$program" parse --run toy/base -s parsing.unary_cap=x < in.txt > /dev/null 2> bad.err && fail "a bad setting was taken"
grep -q 'unary_cap' bad.err || { cat bad.err; fail "the setting is not named"; }
"$program" parse --run toy/base -s beam_size=3 < in.txt > /dev/null 2> bad.err &&
    fail "a setting of another kind was taken"
"$program" parse < in.txt > /dev/null 2> bad.err && fail "parse without a model"
grep -q 'either --run or --model' bad.err || fail "no word on --run"

# Invalid files.
says() { # WORDS SETTING...: a run with these settings fails with a message that contains WORDS
    local words=$1
    shift
    "$program" run toy.ini --only base --threads 1 --progress none "$@" > said.txt 2>&1 && fail "$*: no failure"
    grep -qF -- "$words" said.txt || { cat said.txt; fail "$*: no word of: $words"; }
}
echo '(S (NP (NN a))' > data/toy/broken.ptb
says "toy/broken.ptb:1:1: a bracket that is never closed" -s parsing.train=toy/broken.ptb -s "lr=0.0031"
for files in toy/broken.ptb toy/broken.ptb+toy/broken.ptb ./data/toy/broken.ptb; do
    "$program" run toy.ini --dry-run -s "parsing.train=$files" > said.txt 2>&1 && fail "a dry run with a broken treebank: $files"
    grep -qF "toy/broken.ptb:1:1: a bracket that is never closed" said.txt || { cat said.txt; fail "a dry run does not name $files"; }
done
says "LDC99T42" -s parsing.data=wsj
says "/nowhere/02/*.mrg" -s parsing.data=wsj -s parsing.wsj=/nowhere
says "lowercase = true" -s lowercase=true
says "share_embeddings = all needs one vocabulary" -s parsing.linearisation=labels
"$program" run "$2/experiments/paper/table4-wsj.ini" --dry-run -s layers=1 -s d_model=64 -s d_ff=64 > dry.txt 2> said.txt || { cat said.txt
fail "a dry run without the treebank"; }
grep -q 'published sizes were used.*LDC99T42' said.txt || { cat said.txt
fail "a dry run of table4-wsj does not say what is missing"; }
"$program" run "$2/experiments/paper/table4-wsj.ini" --only base --progress none > said.txt 2>&1 &&
    fail "table4-wsj without a treebank"
grep -q 'LDC99T42' said.txt || { cat said.txt; fail "table4-wsj does not say what is missing"; }

# The task grammar needs no files.
ABLATE_DATA=/nowhere "$program" run "$source/experiments/parsing/parsing-quick.ini" --seeds 1 -s steps=3 -s warmup=2 -s \
    eval_every=3 -s save_every=3 -s max_extra_tokens=20 \
    -s parsing.train_trees=300 --threads 1 --progress none > table.txt 2> run.err || { cat run.err
    fail "parsing-quick failed"; }
grep -q 'synthetic treebank, made by a grammar' table.txt && test "$(grep -c ' 100.0 ' table.txt)" -ge 3 ||
    { cat table.txt; fail "parsing-quick's table"; }
echo "parsing: all is as it should be"
