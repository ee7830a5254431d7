#!/usr/bin/env bash
# Records can be reproduced: of every second record, trains one run again that took at most 6 s, and of one
# a run of up to 30 s, and expects the recorded digits. The experiments take turns by the commit's hash.
# ABLATE_RETRAIN=N: one run of each that took at most N seconds (20 with ABLATE_TEST_WHOLE).
data=${ABLATE_DATA:-}
source "$(dirname "$0")/common.bash" "$@"
[ -z "$data" ] || export ABLATE_DATA=$data
seconds=${ABLATE_RETRAIN:-${ABLATE_TEST_WHOLE:+20}} # for all experiments; empty: they take turns
turn=$((0x$(git -C "$source" rev-parse --short=6 HEAD 2>/dev/null || echo 0))) n=0
other=0 # number of runs whose digits need another processor

for file in "$source"/experiments/recorded/*.json.gz; do
    name=$(basename "$file" .json.gz) code=0 limit=${seconds:-6}
    n=$((n + 1))
    if [ -z "$seconds" ]; then
        [ $(((n + turn) % 40)) -ne 0 ] || limit=30
        [ $(((n + turn) % 2)) -eq 0 ] || continue
    fi
    ablate verify "$file" --at-most "$limit" --seed "${ABLATE_RETRAIN_SEED:-1}" >out 2>err || code=$?
    if grep -q "found no finished run" err; then
        echo "$name: none took $limit s or less"
    elif grep -q "found [^ ]*, a file that no record carries" err; then
        echo "$name: $(sed 's/.*: //' err)"
    elif grep -q "this processor does not support" out; then
        other=$((other + 1))
        echo "$name: $(grep -m1 'this processor' out)"
    elif grep -q "training failed.*: \(no file \|[^ ]*: cannot be opened: No such file\)" err ||
        { [ -z "$data" ] && grep -q "training failed" err; }; then
        echo "$name: needs data ($(sed 's/.*: //' err))"
    else
        equal "$code" 0 "$name: exit code of ablate verify"
        [ "$code" = 0 ] || sed 's/^/    | /' out err
        echo "$name: $(tail -1 out)"
    fi
done
[ $((checks + other)) -ge 5 ] || wrong "only $checks experiments were trained again, expected 5 or more"
finish
