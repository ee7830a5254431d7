#!/usr/bin/env bash
# ablate gate answers by its exit code. A row's significance level depends on the rows before it, even on removed ones.
# fault: gate|start|gate faults A/heads=1; c=$?; (exit $((c == 4 ? 0 : c)))|
source "$(dirname "$0")/common.bash" "$@"

runs() { for s in 1 2 3 4 5; do echo "$1,$s,$(awk -v m="$2" -v s=$s 'BEGIN { print m + (s - 3) / 10 }')"; done; }
{ echo row,seed,acc; runs base 70; runs good 72; runs same 70.05; runs bad 68; runs slight 70.3; } >stream.csv
echo few,1,90 >>stream.csv && echo few,2,91 >>stream.csv
exits 0 ablate import stream.csv --as stream --metric acc --higher-is-better acc

echo "answers"
exits 0 ablate gate stream good
has out "better: acc +2.0 (95 % interval +1.8 to +2.2), p "
has out "within 0.022, the level of row 1 in the stream"
exits 3 ablate gate stream bad
has out "not: acc -2.0"
exits 4 ablate gate stream same
has out "undecided: acc +0.0"
exits 4 ablate gate stream few
has out "the row has 2 seeds, base 5, expected 3 each ([criterion] seeds)"
exits 4 ablate gate stream slight # p is 0.017, and two earlier rows were rejected
has out "above 0.0071, the level of row 4 in the stream"
exits 0 ablate gate stream slight --level 0.3
has out "within 0.043, the level of row 4 in the stream"
exits 0 ablate gate stream good --json
has out '{"answer":"better","experiment":"stream","row":"good","metric":"acc","unit":"difference","n":5,"n_base":5,'
exits 0 ablate table stream --stats full --json
has out '"stream_level":0.0'

echo "an answer that nobody can read is a failure"
code=0
ablate gate stream same >/dev/full 2>err || code=$?
equal $code 1 "exit code on a full disk"
has err "cannot write standard output"

echo "errors"
exits 1 ablate gate stream god
has err 'stream: found no row "god"; did you mean "good"?'
exits 1 ablate gate stream base
has err 'row "base" is base'
exits 1 ablate gate nothing base
has err "nothing"
exits 1 ablate gate stream good --metric BLEU
has err "BLEU"
exits 2 ablate gate stream
has err "expected an experiment and a row"
finish
