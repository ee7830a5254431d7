#!/usr/bin/env bash
# A language model of a small text: training, bits per byte, equal bits after a kill and resuming, sampling. The task
# recall is tested, too.
source "$(dirname "$0")/common.bash" "$@"

mkdir -p texts
awk 'BEGIN { for (i = 0; i < 400; i++) printf "the %s sat on the %s\n%s", i % 3 ? "cat" : "dog", i % 2 ? "mat" : "log", i % 7 ? "" : "\n" }' >texts/small.txt
cat >lm.ini <<'INI'
[experiment]
name = lm
[base]
task = lm
lm.file = small.txt
lm.context = 16
layers = 1
d_model = 16
d_ff = 32
heads = 2
block = pre_norm
dropout = 0
label_smoothing = 0
batch_tokens = 64
optimizer = adamw
schedule = cosine
lr = 0.01
warmup = 10
steps = 120
eval_every = 60
save_every = 60
precision = fp32
INI
export ABLATE_DATA=$work/texts

echo "characters: trained, scored, seen in the table"
exits 0 ablate run lm.ini --threads 1 --progress none
has out bits_per_byte
has out bits_per_char
equal "$(sql 'select bits_per_byte between 0.1 and 2 from lm')" 1 "bits per byte of a text that repeats itself ($(sql \
    'select bits_per_byte from lm'))"
equal "$(sql 'select abs(loss - ln(PPL)) < 1e-4 from lm')" 1 "the loss is the logarithm of dev's perplexity"
equal "$(sql 'select abs(bits_per_char - loss / ln(2)) < 1e-4 from lm')" 1 "bits per character are the loss in bits"

echo "words and subwords, files of their own, a test set"
head -40 texts/small.txt >texts/dev.txt
tail -40 texts/small.txt >texts/test.txt
exits 0 ablate run lm.ini --threads 1 --progress none --db units.db -s lm.unit=word -s lm.dev=dev.txt -s \
    lm.test=test.txt
hasnt out bits_per_char
has out bits_per_byte
exits 0 ablate run lm.ini --threads 1 --progress none --db units.db -s lm.unit=bpe -s vocab_size=40
has out bits_per_byte

sed 's/ /   /g; s/^./ &/; s/$/ /' texts/dev.txt >texts/blanks.txt # as the Penn Treebank's text
{ printf '\357\273\277' && cat texts/dev.txt; } >texts/marked.txt # a byte order mark, as Windows editors write it
for dev in dev blanks marked; do
    exits 0 ablate run lm.ini --threads 1 --progress none --db $dev.db -s lm.unit=word -s lm.dev=$dev.txt -s steps=20
done
equal "$(sql 'select bits_per_byte from lm' blanks.db)" "$(sql 'select bits_per_byte from lm' dev.db)" \
    "bits per byte of words, whatever the blanks around them"
equal "$(sql 'select bits_per_byte from lm' marked.db)" "$(sql 'select bits_per_byte from lm' dev.db)" \
    "bits per byte without the byte order mark"

echo "dev and test as parts of one text"
exits 0 ablate run lm.ini --threads 1 --progress none --db parts.db -s lm.dev_part=0.1 -s lm.test_part=0.2
has err "small.txt: dev (46 lines) and test (91 lines) are the end of its 458 lines"
exits 1 ablate run lm.ini --db parts.db -s lm.dev_part=0.5 -s lm.test_part=0.6
has err "lm.dev_part = 0.5 and test_part = 0.6 leave nothing to train on"

echo "rows are compared by the task's own metric"
{ cat lm.ini; printf '[variant narrow]\nd_ff = 16\n'; } >rows.ini
exits 0 ablate run rows.ini --threads 1 --progress none --db rows.db
has out "of bits_per_byte (dev) over"
{ cat lm.ini; printf '[variant composed]\nchar_ngrams = 50\n'; } >composed.ini
exits 0 ablate run composed.ini --threads 1 --progress none --db rows.db
has out "n/a composed: char_ngrams composes tokens of the source, and task lm has no source"

echo "what it writes: the prompt first, the same text for the same seed, the likeliest at temperature 0"
write() { ablate generate --run lm/base --threads 1 "$@"; }
exits 0 write --prompt "the c" --tokens 60 --seed 3
equal "$(head -c 5 out)" "the c" "the prompt"
cp out one
exits 0 write --prompt "the c" --tokens 60 --seed 3
equal "$(diff one out)" "" "the same seed"
exits 0 write --prompt "the c" --tokens 60 --seed 4 --temperature 2 --top-k 0
[ "$(cat out)" != "$(cat one)" ] || wrong "another seed gives the same text"
exits 0 write --tokens 40 --temperature 0
cp out one
exits 0 write --tokens 40 --top-k 1 --seed 9
equal "$(diff one out)" "" "temperature 0 and one candidate"
exits 0 write --prompt $'mat\nthe dog' --tokens 3
equal "$(head -2 out | head -c 11)" $'mat\nthe dog' "a prompt of two lines"

echo "prompts on standard input: a line each, to its end, as soon as it is there"
printf 'the c\n\nthe c\n' >prompts
exits 0 write --prompt - --tokens 60 --seed 3 <prompts
equal "$(wc -l <out)" 3 "lines"
equal "$(head -1 out)" "$(write --prompt "the c" --tokens 60 --seed 3 2>err | head -1)" "the first line"
[ "$(head -1 out)" != "$(tail -1 out)" ] || wrong "two lines with one prompt are one sample"
cp out one
exits 0 write --prompt - --tokens 60 --seed 3 < <(while read -r line; do echo "$line" && sleep 0.1; done <prompts)
equal "$(diff one out)" "" "lines that arrive slowly"
equal "$(yes 'the c' | timeout 60 "$program" generate --run lm/base --threads 1 --tokens 3 --prompt - 2>err | head -5 | wc -l)" \
    5 "lines of an endless input"
exits 0 write --prompt - </dev/null
equal "$(cat out err)" "" "what no prompt gives"
exits 1 write --prompt - <&-
has err "standard input: cannot be read"
exits 1 write --prompt - < <(printf 'the c\nZebra\n')
has err "standard input:2: token 1 does not occur in the training vocabulary"

echo "what its heads look at"
text=$(head -1 texts/small.txt)
exits 0 ablate attention --run lm/base --text "$text" -o page.html
has err 'decoder self-attention, layers 1 to'
has page.html '"part":"decoder self-attention"'
hasnt page.html encoder
exits 0 ablate attention --run lm/base --text "$text" --figure 5 -o five.svg
has five.svg 'aria-label="decoder self-attention, layer'
exits 1 ablate attention --run lm/base --text "$text" --figure 5 --part source -o five.svg
has err "--part: found a decoder-only model, expected one with a source"
exits 1 ablate attention --run lm/base --text "$text" --target "$text" -o page.html
has err "--target: found a decoder-only model, expected one with a source"

echo "what is refused"
exits 1 write --prompt "Zebra"
has err "--prompt: token 1 does not occur in the training vocabulary"
exits 2 write --temperature -1
has err "ablate generate: --temperature -1: expected a number from 0"
exits 2 ablate generate
has err "expected either --run or --model"
exits 1 ablate translate --run lm/base <<<x
has err "lm/base is a decoder-only model without a source; for a language model, use"
exits 1 ablate run lm.ini --threads 1 --progress none --db bad.db -s lm.file=nowhere.txt
has err "nowhere.txt (lm.file = nowhere.txt"
exits 1 ablate run lm.ini --threads 1 --progress none --db bad.db -s position=learned -s learned.max_len=8
has out "learned.max_len = 8: expected at least 16"

echo "recall: every kind trains and is scored; a decoder's data are labelled inputs"
cat >recall.ini <<'INI'
[experiment]
name = recall
[base]
task = recall
recall.kind = memorisation
recall.vocab = 31
recall.length = 24
recall.copies = 4
recall.noise_vocab = 8
recall.train_examples = 200
recall.test_examples = 50
layers = 1
d_model = 32
d_ff = 64
heads = 2
block = pre_norm
dropout = 0
label_smoothing = 0
batch_tokens = 256
optimizer = adamw
schedule = constant
lr = 0.01
warmup = 5
steps = 60
eval_every = 60
save_every = 60
[sweep kind]
recall.kind = mqar, induction, selective_copy, fuzzy, noisy, compression
INI
exits 0 ablate run recall.ini --threads 1 --progress none --db recall.db
equal "$(sql 'select count(accuracy) from recall' recall.db)" 7 "kinds scored"
equal "$(sql "select accuracy > 90 from recall where row = 'base'" recall.db)" 1 "facts are learnt ($(sql \
    'select row, accuracy from recall' recall.db | tr '\n' ' '))"
exits 0 ablate run recall.ini --threads 1 --progress none --db alone.db --only base -s attention=recurrent -s steps=5
equal "$(sql "select status from runs where row = 'base'" alone.db)" done \
    "an attention that plays no cross attention, where there is none"
exits 1 ablate generate --db recall.db --run recall/base
has err "a model of task recall labels inputs; it cannot continue a text"
finish
