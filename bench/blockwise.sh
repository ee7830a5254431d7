#!/usr/bin/env bash
# blockwise.sh MODEL SOURCES [LARGEST] [ROUNDS] - greedy decoding against blocks of 2 to LARGEST tokens (default 4),
# alternately, ROUNDS times each (default 5): median tokens per second with one sentence at a time and with 64, and the
# tokens accepted per step. MODEL: a file of a model trained with head = multi_token. One thread. Fails if outputs
# differ.
set -euo pipefail
model=$1 sources=$2 largest=${3:-4} rounds=${4:-5}
ablate=${ABLATE:-$(dirname -- "$0")/../build/ablate}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# decode NAME OPTIONS...: appends its tokens per second to a file of the name.
decode() {
    local name=$1
    shift
    "$ablate" translate --model "$model" --threads 1 "$@" <"$sources" >"$work/out" 2>"$work/err"
    [ -e "$work/expected" ] || cp "$work/out" "$work/expected"
    cmp -s "$work/out" "$work/expected" || { echo "the outputs with $* differ" && exit 1; }
    sed -n 's/.*: \([0-9]*\) tokens\/s.*/\1/p' "$work/err" >>"$work/$name"
    sed -n 's/ tokens accepted.*//p' "$work/err" >"$work/$name.accepted"
}
for ((i = 0; i < rounds; i++)); do
    for batch in 1 64; do
        decode "1-$batch" --batch $batch --beam-size 1
        for ((k = 2; k <= largest; k++)); do decode "$k-$batch" --batch $batch --blockwise "$k"; done
    done
done
median() { sort -n "$1" | awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'; }
echo "block  accepted  tokens/s, 1 sentence  against greedy  tokens/s, 64 sentences  against greedy"
for ((k = 1; k <= largest; k++)); do
    accepted=$(cat "$work/$k-1.accepted") one=$(median "$work/$k-1") all=$(median "$work/$k-64")
    awk -v k="$k" -v a="${accepted:-1.00}" -v x="$one" -v y="$all" -v x1="$(median "$work/1-1")" -v \
        y1="$(median "$work/1-64")" 'BEGIN { printf "%5d  %8s  %20d  %14.2f  %22d  %14.2f\n", k, a, x, x / x1, y, y / y1 }'
done
