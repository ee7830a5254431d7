#!/usr/bin/env bash
# ranks.sh PROGRAM [UPDATES] - tokens per second of one run with two ranks of one thread each, against one process with
# two threads, alternately, twice. d_model 256, two layers per stack, batches of 2,048 tokens of synthetic sentences of
# up to 30 symbols; fp32.
set -euo pipefail
program=$(readlink -f "${1:?the program}") steps=${2:-8}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >ranks.ini <<INI
[experiment]
name = ranks
[base]
task = sequence
precision = fp32
layers = 2
d_model = 256
d_ff = 1024
heads = 4
batch_tokens = 2048
steps = $steps
eval_every = $steps
save_every = $steps
schedule = constant
lr = 0.001
sequence.alphabet = 1000
sequence.max_length = 30
sequence.train_examples = 4000
sequence.test_examples = 2
beam_size = 1
INI
for turn in 1 2; do
    for way in "1 2" "2 1"; do
        read -r ranks threads <<<"$way"
        "$program" run ranks.ini -s ranks="$ranks" --threads "$threads" --progress none --no-check --db \
            "$turn-$ranks.db" >/dev/null
        "$program" query "SELECT tokens_second FROM runs" --db "$turn-$ranks.db" --format csv | tail -n 1 |
            tr -d '\r' >"$turn-$ranks"
        printf '%s rank%s of %s thread%s: %.0f tokens/s\n' "$ranks" "$([ "$ranks" = 1 ] ||
            echo s)" "$threads" "$([ "$threads" = 1 ] || echo s)" "$(cat "$turn-$ranks")"
    done
done
awk 'FNR == 1 {v[FILENAME] = $1} END {printf "two ranks of one thread reach %.2f of one process of two threads\n", (v["1-2"] + v["2-2"]) / (v["1-1"] + v["2-1"])}' 1-1 1-2 2-1 2-2
