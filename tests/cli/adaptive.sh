#!/usr/bin/env bash
# The adaptive softmax in runs: a model with this head trains, decodes and is scored like one with the usual head, and
# learns its task. Wrong settings are refused.
source "$(dirname "$0")/common.bash" "$@"

# 40 symbols and 4 special tokens: 9 are in the short list, two clusters have 17 and 18, with inner widths of 8 and 2
{
    printf '[experiment]\nname = adaptive\n[base]\n'
    copying
    cat <<'INI'
sequence.alphabet = 40
sequence.max_length = 6
sequence.test_length = 6
share_embeddings = none
steps = 5
eval_every = 5
save_every = 5
[variant untied]
head = adaptive
steps = 500
eval_every = 500
save_every = 500
[variant tied]
head = adaptive
share_embeddings = all
[variant all]
share_embeddings = all
INI
} >adaptive.ini
exits 0 ablate run adaptive.ini --threads 1 --progress none
params() { sql "select cast(round(params_M * 1e6) as integer) from adaptive where row = '$1'"; }
tails=$((2 * 32 + 32 * 8 + 8 * 17 + 32 * 2 + 2 * 18))
equal "$(($(params base) - $(params untied)))" $((44 * 32 - 9 * 32 - tails)) "parameters that it saves"
equal "$(($(params tied) - $(params all)))" $tails "parameters besides the embedding's table"

echo "decoding: greedy and beams, alone and in batches"
exits 0 ablate show adaptive/untied --ref test # the task copies, so its references equal its sources
head -100 out >sources
translate() { ablate translate --run adaptive/untied --threads 1 "$@" <sources; }
exits 0 translate --beam-size 1 --batch 1
cp out expected
copies=$(paste -d= sources expected | awk -F= '$1 == $2' | wc -l)
equal "$([ "$copies" -ge 50 ] && echo enough)" enough "copies among 100: $copies"
exits 0 translate --beam-size 1 --batch 64
equal "$(diff out expected)" "" "outputs of 64 sentences together"
exits 0 translate --beam-size 3
exits 0 ablate translate --run adaptive/tied --threads 1 <sources
equal "$(wc -l <out)" 100 "lines"

echo "what is refused"
exits 1 ablate run adaptive.ini --threads 1 --progress none --db few.db -s sequence.alphabet=2 -s adaptive.clusters=4 \
    -s adaptive.short=0.8 --only untied
has err "adaptive.clusters = 4: adaptive.short = 0.8 leaves 1 of the vocabulary's 6 tokens for them, expected 4 or more"
exits 1 ablate run adaptive.ini --threads 1 --progress none --db mup.db -s parametrization=mup -s base_d_model=16 \
    --only untied
has err "there is no rule for the parameter 'head.short'"
finish
