#!/usr/bin/env bash
# Records can be reproduced: of each recorded experiment, trains one run again that took at most ABLATE_RETRAIN seconds
# (default 6; 20 with ABLATE_TEST_WHOLE, for tests/reliability.sh whole), and expects the recorded digits.
data=${ABLATE_DATA:-}
source "$(dirname "$0")/common.bash" "$@"
[ -z "$data" ] || export ABLATE_DATA=$data
seconds=${ABLATE_RETRAIN:-$([ -n "${ABLATE_TEST_WHOLE-}" ] && echo 20 || echo 6)}
other=0 # number of runs whose digits need another processor

for file in "$source"/experiments/recorded/*.json.gz; do
    name=$(basename "$file" .json.gz) code=0
    ablate verify "$file" --at-most "$seconds" --seed "${ABLATE_RETRAIN_SEED:-1}" >out 2>err || code=$?
    if grep -q "found no finished run" err; then
        echo "$name: none took $seconds s or less"
    elif grep -q "this processor does not support" out; then
        other=$((other + 1))
        echo "$name: $(grep -m1 'this processor' out)"
    elif grep -q "training failed.*: no file " err || { [ -z "$data" ] && grep -q "training failed" err; }; then
        echo "$name: needs data ($(sed 's/.*: //' err))"
    else
        equal "$code" 0 "$name: exit code of ablate verify"
        [ "$code" = 0 ] || sed 's/^/    | /' out err
        echo "$name: $(tail -1 out)"
    fi
done
[ $((checks + other)) -ge 10 ] || wrong "only $checks experiments were trained again, expected 10 or more"
finish
