#!/usr/bin/env bash
# ablate patch: copies activations of one sentence's forward pass into another's. Nothing changes if both sentences are
# equal, or if the activation is equal in both, or if the output does not depend on it.
# fault: patch|start|patch faults/base --from "s0001 s0002" --to "s0002 s0002" --threads 1|
source "$(dirname "$0")/common.bash" "$@"
fast=(--threads 1 --progress none)
{ tiny copy 300 && echo 'layers = 2'; } | sed '0,/^layers = 1/{/^layers = 1/d}' >copy.ini
exits 0 ablate run copy.ini "${fast[@]}"
mkdir texts && awk 'BEGIN { for (i = 0; i < 300; i++) print i % 2 ? "the cat sat on the mat" : "a dog lay in a bed" }' >texts/small.txt
export ABLATE_DATA=$work/texts
{ tiny lm 200 | grep -v '^task\|^sequence\|^layers' &&
    printf 'task = lm\nlm.file = small.txt\nlm.unit = word\nlm.context = 8\nlayers = 2\nblock = pre_norm\n'; } >lm.ini
exits 0 ablate run lm.ini "${fast[@]}"
cells() { awk -F'\t' -v row="$1" 'NR > 2 && $1 ~ row { for (i = 2; i <= NF; i++) printf "%s ", $i }' out; }

echo "the source of a translation"
a="s0001 s0002 s0003" b="s0001 s0004 s0003"
exits 0 ablate patch copy/base --from "$a" --to "$a" --target "$a" --threads 1
equal "$(cells . | tr ' ' '\n' | sort -u | xargs)" "+0.0000" "effects of a sentence on itself"
exits 0 ablate patch copy/base --from "$a" --to "$b" --target "$a" --threads 1 -o patch.svg
equal "$(sed -n 2p out | tr '\t' ' ')" "place s0001 s0004 s0003 </s>" "tokens"
equal "$(cut -f1 out | tail -n +3 | xargs)" "enc.0.self enc.0.ffn enc.1.self enc.1.ffn" "places"
has patch.svg "change of the loss [nats per token]"
read -ra effect <<<"$(cells enc.0.ffn)"
awk "BEGIN { exit !(${effect[1]} < -0.05) }" || wrong "the other word does not bring its own copy nearer: ${effect[*]}"
loss=$(head -1 out)
exits 0 ablate patch copy/base --from "$b" --to "$a" --target "$a" --threads 1 --at dec.1
equal "$(head -1 out | awk '{ print $4, $2 }')" "$(awk '{ print $2, $4 }' <<<"$loss")" "losses after either"
equal "$(cut -f1 out | tail -n +3 | xargs)" "dec.1.self dec.1.cross dec.1.ffn" "places of a layer"
exits 0 ablate patch copy/base --from "$a" --to "$b" --at enc.1.ffn
has err "target: "
equal "$(tail -n +3 out | wc -l)" 1 "one place"

echo "a language model"
exits 0 ablate patch lm/base --from "the dog sat" --to "the cat sat" --target "on the mat" --threads 1
equal "$(sed -n 2p out | tr '\t' ' ')" "place <s> the cat sat on the" "tokens that are read"
equal "$(awk -F'\t' 'NR > 2 { print $2, $3 }' out | sort -u)" "+0.0000 +0.0000" "before the difference"
equal "$(cells dec.1.ffn | cut -d' ' -f1-3)" "+0.0000 +0.0000 +0.0000" "the last sublayer, before the target's rows"
[ "$(cells dec.0.ffn | cut -d' ' -f3)" != "+0.0000" ] || wrong "the word that differs has no effect in layer 0"
exits 0 ablate patch lm/base --from "the dog sat" --to "the cat sat" --threads 1
equal "$(sed -n 2p out | tr '\t' ' ')" "place <s> the cat" "without a target the text is it"

echo "what is wrong is said"
exits 1 ablate patch copy/base --from "s0001" --to "$b" --target "$a"
has err "--from has 1 tokens and --to 3, expected equally many"
exits 1 ablate patch copy/base --from "$a" --to "$b" --target "$a" --at dec.2
has err "--at dec.2: found no such place"
exits 2 ablate patch copy/base --from "$a" --to "$b" --target "$a" -o patch.txt
has err "-o patch.txt: expected .svg, .pdf or .png"
finish
