#!/usr/bin/env bash
# Images modelled pixel by pixel: training, bits per dimension, conditioning on a class, sampling, `data check`, refused
# files.
source "$(dirname "$0")/common.bash" "$@"

# idx FILE HEIGHT WIDTH < values, one a line: writes images; idx FILE < values: writes labels. All sizes are below 256.
idx() {
    local file=$1 height=${2:-} width=${3:-} values
    mapfile -t values
    bytes() { printf "$(printf '\\%03o' "$@")"; }
    if [ "$height" ]; then
        bytes 0 0 8 3 0 0 0 $((${#values[@]} / height / width)) 0 0 0 "$height" 0 0 0 "$width"
    else
        bytes 0 0 8 1 0 0 0 ${#values[@]}
    fi >"$file"
    bytes "${values[@]}" >>"$file"
}
# 120 images of 3 x 4: noise with one bright row, whose number is the class
mkdir data
awk 'BEGIN { srand(1); for (i = 0; i < 120; i++) for (y = 0; y < 3; y++) for (x = 0; x < 4; x++)
    print y == i % 3 ? 7 : int(2 * rand()) }' | idx data/bars.idx 3 4
awk 'BEGIN { for (i = 0; i < 120; i++) print i % 3 }' | idx data/rows.idx
equal "$(wc -c <data/bars.idx) $(wc -c <data/rows.idx)" "1456 128" "bytes of the files"
cat >bars.ini <<'INI'
[experiment]
name = bars
[base]
task = image
image.data = bars.idx
image.max = 7
layers = 1
d_model = 16
d_ff = 32
heads = 2
position = learned
learned.max_len = 12
block = pre_norm
dropout = 0
label_smoothing = 0
batch_tokens = 96
optimizer = adamw
schedule = constant
lr = 0.01
warmup = 5
steps = 80
eval_every = 40
save_every = 80
precision = fp32
INI
export ABLATE_DATA=$work/data

echo "trained, scored, seen in the table; bits per dimension are the perplexity's logarithm"
exits 0 ablate run bars.ini --threads 1 --progress none
has err "bars.idx: images of 3 rows of 4 pixels: train 96, dev 12 (drawn from it), test 12 (drawn from it)"
has out bits_per_dim
has out "-log2 p of each pixel, row-major, 3 x 4, 8 levels; test"
equal "$(sql 'select bits_per_dim between 0.3 and 1.5 from bars')" 1 "bits ($(sql 'select bits_per_dim from bars'))"
facts="SELECT direction, unit, aggregation FROM result JOIN metric m ON m.id = metric_id WHERE m.name = 'bits_per_dim'"
equal "$(sql "$facts")" "min,bits/dim,ratio" "what the task declares is recorded"
exits 0 ablate run bars.ini --threads 1 --progress none --db dev.db -s image.test_part=0
equal "$(sql 'select abs(bits_per_dim - ln(PPL) / ln(2)) < 1e-4 from bars' dev.db)" 1 "on dev: $(sql \
    'select bits_per_dim, PPL from bars' dev.db)"

echo "sampling: as many pixels as are asked for, levels only; more than an image has is refused"
write() { ablate generate --run bars/base --threads 1 "$@"; }
exits 0 write --tokens 12 --seed 3
equal "$(wc -l <out) $(wc -w <out)" "1 12" "an image is a line"
equal "$(tr ' ' '\n' <out | grep -vxc '[0-7]')" 0 "words that are no level ($(cat out))"
exits 0 write --tokens 8 --prompt "7 7 7 7" --temperature 0
equal "$(head -c 7 out) $(wc -w <out)" "7 7 7 7 12" "a row, and what follows"
exits 1 write --tokens 13
has err "learned.max_len = 12: expected at least 13"
exits 1 write --tokens 4 --prompt "8"
has err "token 1 does not occur in the training vocabulary"
exits 1 ablate score likelihood --run bars/base <<<$'a\tb'
has err "is a decoder-only model: it has no source to pair a target with"

echo "with classes: given, not predicted, and they help"
exits 0 ablate run bars.ini --threads 1 --progress none --db class.db -s image.labels=rows.idx -s learned.max_len=13
has out "8 levels, given the class; test"
all="$(sql 'select bits_per_dim from bars')" given="$(sql 'select bits_per_dim from bars' class.db)"
equal "$(awk "BEGIN { print $given < $all }")" 1 "bits given the class, $given, are fewer than $all"
for class in 0 1 2; do
    exits 0 ablate generate --db class.db --run bars/base --threads 1 --prompt "=$class" --tokens 12 --temperature 0
    equal "$(cut -d' ' -f$((2 + 4 * class))-$((5 + 4 * class)) out)" "7 7 7 7" "the bar of class $class ($(cat out))"
done

echo "PGM as netpbm writes it: a folder, a split of its own"
mkdir data/train data/dev
for i in 1 2 3 4 5 6; do printf 'P2\n# image %s\n2 2\n3\n0 1\n%s 3\n' $i $((i % 4)) >data/train/$i.pgm; done
printf 'P5 2 2 3 \0\1\2\3' >data/dev/a.pgm
exits 0 ablate run bars.ini --threads 1 --progress none --db pgm.db -s image.data=train -s image.dev=dev -s \
    image.test_part=0 -s image.max=0
has err "train: images of 2 rows of 2 pixels: train 6, dev 1, test 0"
has out "2 x 2, 4 levels; dev"

echo "data check: lines without a source"
row() { grep "^$1  " out | awk -v n="$2" '{ print $(NF - 3 + n) }'; }
exits 0 ablate data check train --task image
equal "$(row examples 1) $(row examples 2) $(row examples 3)" "4 1 1" "examples"
equal "$(row words 1)" 16 "words"
hasnt out source
exits 1 ablate data check train --task image --strict
exits 1 ablate data check train --task lm
has err "--task lm: the task has no key lm.data"

echo "what is refused"
head -c 1000 data/bars.idx >data/short.idx
exits 1 ablate run bars.ini --db bad.db -s image.data=short.idx
has err "/short.idx: byte 1000: found the end of the file, expected 120 images of 12 bytes from byte 16 on"
exits 1 ablate run bars.ini --db bad.db -s image.data=nowhere.idx
has err "nowhere.idx (image.data = nowhere.idx"
exits 1 ablate run bars.ini --db bad.db -s image.labels=bars.idx
has err "/bars.idx: byte 3: found 3 dimensions, expected 1: labels"
finish
