#!/usr/bin/env bash
# Blockwise decoding of trained models: their outputs equal those of greedy decoding, in fewer steps. Unsuitable models
# and settings are refused.
source "$(dirname "$0")/common.bash" "$@"

{
    printf '[experiment]\nname = copy\n[base]\n'
    copying
    cat <<'INI'
head = multi_token
multi_token.ahead = 3
steps = 500
eval_every = 250
save_every = 500
[variant rotary]
position = rotary
steps = 5
eval_every = 5
save_every = 5
[variant plain]
head = softmax
steps = 5
eval_every = 5
save_every = 5
INI
} >copy.ini
exits 0 ablate run copy.ini --threads 1 --progress none
exits 0 ablate show copy/base --ref test # the task copies, so its references equal its sources
head -200 out >sources
equal "$(wc -l <sources)" 200 "source lines"
greedy() { ablate translate --run copy/base --threads 1 "$@" <sources; }
exits 0 greedy --beam-size 1
cp out expected
for size in 2 3 4; do
    for batch in 1 64; do
        exits 0 greedy --blockwise $size --batch $batch
        equal "$(diff out expected)" "" "outputs in blocks of $size, $batch sentences together"
        equal "$(awk '/accepted/ { print ($1 > 1.1 && $1 <= '$size') }' err)" 1 "tokens per step: $(grep accepted err)"
    done
done
exits 0 greedy --blockwise 4 -q
hasnt err accepted

echo "what is refused"
exits 1 greedy --blockwise 5
has err "head multi_token proposes 3 tokens after the next one, expected 4"
exits 1 ablate translate --run copy/plain --blockwise 2 <sources
has err "head softmax proposes 0 tokens after the next one, expected 1"
exits 1 ablate translate --run copy/rotary --blockwise 2 <sources
has err "this decoder reads positions in self-attention"
exits 1 greedy --blockwise 2 --beam-size 4
has err "--blockwise is greedy: for translations of one model, without --beam-size and --nbest"
exits 2 greedy --blockwise 1
finish
