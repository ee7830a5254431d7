#!/usr/bin/env bash
# Plugins of every kind in Python and their twins in C give equal digits; on the emulated GPU in the long suite.
source "$(dirname "$0")/common.bash" "$@"
cp "$source"/tests/python/ports/*.py .
ablate list plugins ./wsd_py.py >out 2>err || {
    grep -q "needs Python" err && sed 's/^/skipped: /' err && exit 77
}
twins="attention:additive attention:entmax attention:gated_delta_net attention:recurrent position:t5 position:rotary
    feed_forward:swiglu norm:rms_norm block:pre_norm head:z_loss optimizer:adamw schedule:wsd"
{
    tiny ports 12 | sed 's/^schedule = .*/schedule = noam/'
    for twin in $twins; do
        kind=${twin%:*} name=${twin#*:} roles=${twin%:*}
        [[ $name == recurrent || $name == gated_delta_net ]] && roles="attention_encoder attention_decoder"
        printf '[variant %s]\n' "$name" && printf "%s = $name\n" $roles
        [ $name = rotary ] && echo "d_k = 8"
        printf '[variant %s_py]\n' "$name" && printf "%s = ./${name}_py.py\n" $roles
        [ $name = rotary ] && echo "d_k = 8"
    done
} >ports.ini
digits() { sql "SELECT replace(metric, '_py', '') || '=' || quote(value) FROM results WHERE experiment = 'ports' AND variant = '$1' ORDER BY metric"; }
# ports WHERE [OPTION...]: all rows again in a database of their own; the digits of each pair are equal
ports() {
    local where=$1 name twin ABLATE_DB=$work/$1.db
    export ABLATE_DB
    shift
    exits 0 ablate run ports.ini --threads 1 --progress none --no-check "$@"
    for twin in $twins; do
        name=${twin#*:}
        equal "$(digits "${name}_py")" "$(digits "$name")" "digits of $name on $where"
        [ -n "$(digits "$name")" ] || wrong "no digits of $name on $where"
    done
}
for isa in generic avx2 avx512 avx512_bf16 amx; do
    ABLATE_ISA=$isa ablate --version >out 2>&1 || { echo "    $isa: $(cat out)" && continue; }
    ABLATE_ISA=$isa ports $isa
done
emulated=$(dirname "$program")/tests/emulated_cuda.so
if [ -z "${ABLATE_TEST_LONG-}" ]; then
    echo "    no emulated GPU: long suite"
elif [ -e "$emulated" ]; then
    ABLATE_CUDA_MODULE=$emulated ports gpu --device cuda -s steps=2 -s eval_every=2 -s save_every=2 \
        -s sequence.test_examples=2
else
    echo "    no emulated GPU: the tests were not built"
fi
equal "$(sql "SELECT count(DISTINCT quote(value)) > 10 FROM results WHERE experiment = 'ports' AND metric = 'PPL'" generic.db)" 1 \
    "different plugins have different digits"

if [ -n "${ABLATE_TEST_LONG-}" ]; then
    for own in "$source"/experiments/parts/*.py; do
        [[ $own == */titans.py ]] || exits 0 ablate check "$own" # a minute; check/test_equations has its values
    done
fi

echo "a task"
mkdir data
for split in train dev test; do
    for i in $(seq 1 $([ $split = train ] && echo 200 || echo 20)); do echo "w$((i % 7)) w$((i % 5)) w$((i % 3))"; done >data/$split.en
    tac data/$split.en >data/$split.de
done
{
    tiny tasks 12 | sed '/^task = \|^sequence/d'
    printf 'translation.data = %s\nvocab = words\n[variant python]\ntask = ./translation_py.py\n' "$work/data"
    printf 'translation_py.folder = %s\n' "$work/data"
} >tasks.ini
exits 0 ablate run tasks.ini --threads 1 --progress none --no-check
equal "$(sql "SELECT count(*) || ' ' || count(DISTINCT quote(value)) FROM results WHERE experiment = 'tasks' AND metric = 'PPL'")" "2 1" \
    "the task's rows have equal digits"
finish
