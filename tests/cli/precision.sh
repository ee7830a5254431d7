#!/usr/bin/env bash
# A trained model computes in the precision of its run: translate gives the outputs that the run decoded. int8 is for
# decoding only.
source "$(dirname "$0")/common.bash" "$@"

# lines N SEED: prints N sentences of a small language. turned: reverses the words of each sentence, for the other side.
lines() { awk -v n="$1" -v seed="$2" 'BEGIN { srand(seed)
    for (i = 0; i < n; i++) { s = ""; k = 3 + int(rand() * 8); for (j = 0; j < k; j++) s = s (j ? " " : "") "w" int(rand() * 40); print s } }'; }
turned() { awk '{ for (i = NF; i; i--) printf "%s%s", $i, (i > 1 ? " " : "\n") }'; }
mkdir -p data/toy
export ABLATE_DATA=$work/data
for split in train:600 dev:40 test:200; do
    lines "${split#*:}" "${#split}" >"data/toy/${split%:*}.en"
    turned <"data/toy/${split%:*}.en" >"data/toy/${split%:*}.de"
done
cat >toy.ini <<'INI'
[experiment]
name = toy
[base]
translation.data = toy
translation.test = test
vocab        = words
layers       = 1
d_model      = 32
d_ff         = 64
heads        = 2
batch_tokens = 512
schedule     = constant
lr           = 0.003
warmup       = 10
steps        = 60
eval_every   = 60
save_every   = 60
max_extra_tokens = 5
beam_size    = 4
[sweep precision]
precision = auto, fp32
INI
exits 0 ablate run toy.ini --threads 1 --progress none
auto=fp32
ablate list devices | grep -q 'bf16 products' && auto=bf16
for row in base:$auto precision/precision=fp32:fp32; do
    name=${row%:*} type=${row##*:}
    exits 0 ablate translate --run "toy/$name" --threads 1 <data/toy/test.en
    has err "tokens/s, $type"
    hyp=$(sql "SELECT a.path FROM artifact a JOIN run r ON r.id=a.run_id JOIN variant v ON v.id=r.variant_id
        WHERE a.kind='hypotheses' AND v.name='$name'")
    equal "$(cmp out "$hyp" 2>&1)" "" "outputs of $name by translate and by its run"
    cp out "out.$type"
done
exits 0 ablate translate --run toy/base --precision int8 --threads 2 --batch 7 <data/toy/test.en
has err "tokens/s, int8"
cp out out.int8
exits 0 ablate translate --run toy/base --precision int8 --threads 1 <data/toy/test.en
equal "$(cmp out out.int8 2>&1)" "" "int8 outputs of other batches and threads"
exits 2 ablate run toy.ini -s precision=int8
has err 'precision: found "int8", expected auto, fp32 or bf16'
[ $auto = fp32 ] || { cmp -s out.bf16 out.fp32 &&
    wrong "bf16 and fp32 give the same outputs: this test would see no difference"; }
finish
