# ablate heads, with a planted position that makes every head attend to the previous token: the figures show that, for
# one run, for several seeds and for all rows of an experiment. Wrong input is refused.
source "$(dirname "$0")/common.bash" "$@"

cp "$source/tests/data/previous.c" .
cat >heads.ini <<'INI'
[experiment]
name  = heads
seeds = 1..2
[base]
task         = sequence
layers       = 1
d_model      = 16
d_ff         = 16
heads        = 2
position     = ./previous.c
batch_tokens = 128
schedule     = constant
steps        = 4
eval_every   = 4
save_every   = 4
max_length   = 64
beam_size    = 1
sequence.max_length     = 6
sequence.test_length    = 6
sequence.train_examples = 60
sequence.test_examples  = 20
[variant sinusoid]
position = sinusoid
INI
exits 0 ablate run heads.ini --threads 1 --progress none --no-check

echo "every head of a run"
exits 0 ablate heads heads/base@1 --json --plugin-path .
cp out one.json
# value ATTENTION KEY: prints the value of the first head of that attention
value() { grep "\"attention\":\"$1\"" one.json | head -1 | sed -E "s/.*\"$2\":([^,}]*).*/\1/"; }
equal "$(grep -c '"run"' one.json)" 6 "heads: 2 of 3 attentions"
equal "$(value encoder previous_token)" 100 "queries of the encoder that look at the token before"
equal "$(value decoder previous_token)" 100 "queries of the decoder that look at the token before"
equal "$(value source previous_token)" null "cross attention has no token before"
equal "$(value encoder constituent)" null "no gold trees"
equal "$(awk -v g="$(value encoder gradient)" 'BEGIN { print (g < 1e-6) }')" 1 \
    "the softmax's gradient where one key has all weight: $(value encoder gradient)"
equal "$(awk -v g="$(value source gradient)" 'BEGIN { print (g > 0.1) }')" 1 \
    "the gradient of attention that is still spread out: $(value source gradient)"
equal "$(awk -v g="$(value source ppl_ratio_without)" 'BEGIN { print (g > 0.5 && g < 2 && g != 1) }')" 1 \
    "PPL without a head: $(value source ppl_ratio_without)"
exits 0 ablate heads heads/base@1 --json --plugin-path .
equal "$(cat out)" "$(cat one.json)" "the same again"
exits 0 ablate heads heads/base@1 --no-prune --json --plugin-path .
equal "$(grep -c '"ppl_ratio_without":null' out)" 6 "not pruned"

echo "constituents: a planted distance finds what the count of that distance says"
sed -e 's/heads$/trees/; s/^seeds.*/seeds = 1/; /^sequence/d; s/^task.*/task = parsing\nparsing.data = synthetic\nparsing.train_trees = 100\nvocab = words\ndecode_split = dev/' \
    -e 's/^max_length.*/max_extra_tokens = 4/; s/^position = sinusoid/previous.distance = 1/' heads.ini >trees.ini
exits 0 ablate run trees.ini --threads 1 --progress none --no-check
for row in base sinusoid; do
    exits 0 ablate heads "trees/$row@1" --no-prune --json --plugin-path .
    cp out one.json
    value encoder constituent >>found
    equal "$(awk -v c="$(value encoder constituent_chance)" 'BEGIN { print (c > 20 && c < 90) }')" 1 \
        "constituents by chance: $(value encoder constituent_chance)"
    equal "$(value encoder previous_token)" "$([ $row = base ] && echo 100 || echo 0)" "$row looks at the token before"
done
equal "$(sort -g found |
    tail -1)" "$(value encoder constituent_chance)" "the better of the two distances, and the best fixed distance"

echo "a decoder alone"
sed 's/heads$/alone/; s/^seeds.*/seeds = 1/; /^sequence/d; s/^task.*/task = recall\nrecall.length = 16\nrecall.vocab = 32/; /^max_length/d; /^\[variant/,$d' heads.ini >alone.ini
exits 0 ablate run alone.ini --threads 1 --progress none --no-check -s recall.train_examples=60 -s \
    recall.test_examples=20
exits 0 ablate heads alone/base@1 --no-prune --json --plugin-path .
cp out one.json
equal "$(grep -c '"run"' out) $(value decoder previous_token)" "2 100" "a decoder's heads, and where they look"

echo "tables"
exits 0 ablate heads heads/base@1 --plugin-path .
has out 'encoder, by chance'
exits 0 ablate heads heads/base --plugin-path .
has out 'previous token  encoder    2  100.0 ± 0.0'
has err 'base, seed 2'
exits 0 ablate heads heads --plugin-path .
has out 'sinusoid  encoder    2 '
{ tiny judged 10 && printf '[sweep A]\nheads = 1\n[condition long]\nbatch_tokens = 256\n'; } >judged.ini
exits 0 ablate run judged.ini --threads 1 --progress none --seeds 1..2
exits 0 ablate heads judged
equal "$(grep -E '^(A/heads=1|base|A/heads=1 @ long|base @ long)  +encoder ' out | grep -c ' \[')" 2 "rows compared with a base"
exits 0 ablate heads judged --json
mean() { awk -F'[:,]' -v row="\"$1\"" '$0 ~ "\"row\":" row && /"attention":"encoder"/ {
    for (i = 1; i < NF; i++) if ($i == "\"gradient\"") { sum += $(i + 1); n++ } } END { printf "%.9f", sum / n }' out; }
equal "$(ablate heads judged 2>/dev/null | sed -n 's/^A.heads=1 @ long  *encoder.* \([-+][0-9.]*\) \[.*/\1/p')" \
    "$(awk -v a="$(mean 'A\/heads=1 @ long')" -v b="$(mean 'base @ long')" 'BEGIN { printf "%+.3f", a - b }')" "difference from base under the condition"
exits 0 ablate rm judged/base --yes
exits 0 ablate heads judged
equal "$(grep ' encoder ' out | grep ' \[' | cut -d' ' -f1-3)" "A/heads=1 @ long" "rows with a base that has runs"
exits 1 ablate heads heads/nowhere
exits 1 ablate heads nothing
exits 2 ablate heads
finish
