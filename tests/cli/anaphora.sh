# ablate heads --coreference, with a planted position that makes every pronoun attend to a known token: words in an
# encoder, characters in a decoder, several rows, and refusals.
# fault: anaphora|start|heads writer/base --coreference "$source/tests/data/anaphora.conllu"|
source "$(dirname "$0")/common.bash" "$@"
file=$source/tests/data/anaphora.conllu

cp "$source/tests/data/previous.c" .
cat >trees.ini <<'INI'
[experiment]
name  = trees
seeds = 1..2
[base]
task         = parsing
parsing.data = synthetic
parsing.train_trees = 100
vocab        = words
decode_split = dev
max_extra_tokens = 4
layers       = 1
d_model      = 16
d_ff         = 16
heads        = 2
position     = ./previous.c
previous.distance = -2
batch_tokens = 128
schedule     = constant
steps        = 4
eval_every   = 4
save_every   = 4
beam_size    = 1
[variant three]
previous.distance = -3
[variant sinusoid]
position = sinusoid
INI
exits 0 ablate run trees.ini --threads 1 --progress none --no-check
# value KEY: prints the value of KEY for the first head
value() { head -2 out | grep '"run"' | sed -E "s/.*\"$1\":([^,}]*).*/\1/"; }
near() { equal "$(awk -v a="$1" -v b="$2" 'BEGIN { print (a - b < 1e-4 && b - a < 1e-4) }')" 1 "$3: $1, expected $2"; }

echo "an encoder: two words before the pronouns are two antecedents of four, and the only other mention"
exits 0 ablate heads trees/base@1 --coreference "$file" --json --plugin-path .
has err '4 pronouns with an antecedent in 4 sentences; 1 more sentences have withheld words'
equal "$(grep -c '"run"' out)" 2 "heads of the encoder"
equal "$(value attention) $(value pronouns) $(value pronouns_with_other)" '"encoder" 4 1' "pronouns"
near "$(value antecedent)" 50 "weight on antecedents"
near "$(value antecedent_evenly)" 32.97619 "2 of 7, 2 of 10, and twice 5 of 12 tokens"
near "$(value other)" 100 "weight on the dog"
near "$(value other_evenly)" 20 "2 of 10 tokens"
near "$(value difference)" -100 "difference: 0 - 20 - (100 - 20)"
equal "$(value p)" null "one pronoun with another mention has no interval"
exits 0 ablate heads trees/three@1 --coreference "$file" --json --plugin-path .
near "$(value antecedent)" 50 "three words before: the woman's 'the', and 'near' within the man"
near "$(value other)" 100 "three words before: the dog's 'the'"
exits 0 ablate heads trees/sinusoid@1 --coreference "$file" --json --plugin-path .
equal "$(awk -v a="$(value antecedent)" 'BEGIN { print (a > 1 && a < 99) }')" 1 "weights that are spread out"

echo "tables"
awk '/^# of another/ { on = 1 } on { print } /^$/ { on = 0 }' "$file" >dog.conllu
for _ in 1 2 3 4; do cat dog.conllu; done >dogs.conllu
exits 0 ablate heads trees/base@1 --coreference dogs.conllu --plugin-path .
has out 'encoder        1     1           0.0    100.0  -100.0 [-100.0, -100.0]  <0.001'
has out 'evenly                          20.0     20.0'
has out '4 pronouns, 4 with a mention of another entity'
has out 'best           1     1           0.0    100.0'
exits 0 ablate heads trees/base --coreference dogs.conllu --plugin-path .
has out 'base  encoder    2           0.0      20.0    100.0  -100.0 [-100.0, -100.0]'
exits 0 ablate heads trees --coreference dogs.conllu --plugin-path .
has out 'sinusoid  encoder    2'
has out 'three     encoder    2'

echo "a decoder alone: seven characters before 'she' are 'n', a blank and 's'"
mkdir -p texts && awk 'BEGIN { for (i = 0; i < 99; i++) print "the woman says she sleeps ." }' >texts/small.txt
export ABLATE_DATA=$work/texts
sed 's/= trees/= alone/; s/^seeds.*/seeds = 1/; /^parsing/d; /^vocab/d; /^max_extra/d; /^decode/d
    s/^task.*/task = lm\nlm.file = small.txt\nlm.context = 8/; s/^previous.*/previous.distance = -7/; /^\[variant/,$d' \
    trees.ini >alone.ini
exits 0 ablate run alone.ini --threads 1 --progress none --no-check
sed '/^$/q' "$file" >one.conllu
exits 0 ablate heads alone/base --coreference one.conllu --json --plugin-path .
equal "$(value attention) $(value pronouns)" '"decoder" 1' "a decoder's pronoun"
near "$(value antecedent)" 33.33333 "one of three characters looks at the woman"
near "$(value antecedent_evenly)" 50.10320 "9 of 17, 18 and 19"
equal "$(value other)" null "no other mention"
exits 0 ablate heads alone/base --coreference "$file" --plugin-path .
has err 'pronouns are not in the vocabulary'

echo "refusals"
printf '1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n' >none.conllu
exits 1 ablate heads trees/base --coreference none.conllu --plugin-path .
has err 'ablate heads: none.conllu: found no Entity= in column 10, expected coreference as in CorefUD'
printf '1\ta\ta\tX\t_\t_\t0\troot\t_\tEntity=(1)\n' >none.conllu
exits 1 ablate heads trees/base --coreference none.conllu --plugin-path .
has err 'none.conllu: found 1 sentences and no pronoun with an antecedent'
exits 1 ablate heads trees/base --coreference nowhere.conllu --plugin-path .
sed 's/= trees/= symbols/; s/^seeds.*/seeds = 1/; s/^task.*/task = sequence/; /^parsing/d; /^vocab/d; /^decode/d; /^\[variant/,$d' \
    trees.ini >symbols.ini
exits 0 ablate run symbols.ini --threads 1 --progress none --no-check -s sequence.train_examples=60 -s \
    sequence.test_examples=20
exits 1 ablate heads symbols/base --coreference "$file" --plugin-path .
has err "task 'sequence' reads symbols, not sentences; translation, parsing and lm read sentences"
finish
