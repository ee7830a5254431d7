# ablate attention and ablate heads for layers without a softmax over keys: each output names how its weights were
# measured.
source "$(dirname "$0")/common.bash" "$@"
{ tiny look 20 && cat <<'INI'; } >look.ini
[variant linear]
attention = linear
[variant recurrent]
attention = recurrent
attention_cross = scaled_dot
[variant mixed]
layers = 2
attention_decoder = 1*gated_linear + 1*scaled_dot
attention_encoder = hyena
INI
exits 0 ablate run look.ini --threads 1 --progress none
text=$(ablate show look/base --ref test | head -1)

echo "attention"
exits 0 ablate attention --run look/base --text "$text" -o page.html
has err 'encoder self-attention, layers 1 to 1: weights of the softmax'
hasnt page.html '"influence"'
exits 0 ablate attention --run look/linear --text "$text" -o page.html
has err 'attention to the source, layers 1 to 1: influence |d output / d value|'
has page.html '"part":"encoder self-attention","layer":1,"heads":2,"influence":"|d output / d value|"'
exits 0 ablate attention --run look/recurrent --text "$text" -o page.html
has err 'decoder self-attention, layers 1 to 1: influence |d output / d input|'
has err 'attention to the source, layers 1 to 1: weights of the softmax'
has page.html '"part":"decoder self-attention","layer":1,"heads":1,"influence":"|d output / d input|"'
exits 0 ablate attention --run look/recurrent --text "$text" --figure 5 --part decoder -o five.svg
has five.svg 'aria-label="decoder self-attention, layer 1 of 1, influence |d output / d input|"'
exits 0 ablate attention --run look/mixed --text "$text" -o page.html
has err 'encoder self-attention, layers 1 to 2: influence |d output / d input|'
has err 'decoder self-attention, layers 1 to 1: influence |d output / d value|'
has err 'decoder self-attention, layers 2 to 2: weights of the softmax'

echo "heads"
# value HEAD KEY: prints the value of head 1 of attention HEAD
value() { grep "\"attention\":\"$1\"" one.json | head -1 | sed -E "s/.*\"$2\":([^,}]*).*/\1/"; }
for row in linear recurrent; do
    exits 0 ablate heads "look/$row@1" --json --sentences 20
    cp out one.json
    equal "$(value decoder weights)" "\"|d output / d $([ $row = linear ] && echo value || echo input)|\"" \
        "what the weights of $row are"
    equal "$(value decoder gradient)" null "no softmax has a Jacobian"
    equal "$(awk -v e="$(value decoder entropy)" 'BEGIN { print (e > 0.1 && e < 5) }')" 1 "bits: $(value decoder entropy)"
    equal "$(awk -v p="$(value decoder previous_token)" 'BEGIN { print (p >= 0 && p <= 100) }')" 1 "previous token"
    cp one.json "$row.json"
done
equal "$(grep -c '"run"' linear.json) $(grep -c '"run"' recurrent.json)" "6 4" "heads; a recurrence has one"
cp linear.json one.json
equal "$(awk -v r="$(value decoder ppl_ratio_without)" 'BEGIN { print (r > 0.5 && r < 2 && r != 1) }')" 1 \
    "PPL without a head: $(value decoder ppl_ratio_without)"
exits 0 ablate heads look/linear@1 --sentences 20 --no-prune
has out 'by value'
has out 'Weights by value: |d output / d value|'
exits 0 ablate heads look/base@1 --sentences 20 --no-prune
has out 'softmax'
hasnt out 'Weights by'
exits 0 ablate heads look --sentences 20
has out 'Weights by input: |d output / d input|'
hasnt out nan

echo "an output that depends on no key"
cp "$source/tests/sabotage/mixes.c" .
{ tiny none 20 && printf 'attention_encoder = ./mixes.c\nattention_decoder = linear\nattention_cross = linear\nmixes.kind = nothing\n'; } >none.ini
exits 0 ablate run none.ini --threads 1 --progress none --no-check
exits 0 ablate heads none/base --no-prune --json --sentences 20 --plugin-path .
equal "$(grep -c '"encoder"' out)" 0 "heads of an attention that looks nowhere"
finish
