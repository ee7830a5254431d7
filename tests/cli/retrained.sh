#!/usr/bin/env bash
# Records can be reproduced: of the records with a run that took at most 6 s, trains one run of every second again,
# and of one record a run of up to 30 s, and expects the recorded digits. The records take turns by the commit's hash.
# ABLATE_RETRAIN=N: one run of each that took at most N seconds (20 with ABLATE_TEST_WHOLE).
data=${ABLATE_DATA:-}
source "$(dirname "$0")/common.bash" "$@"
[ -z "$data" ] || export ABLATE_DATA=$data
seconds=${ABLATE_RETRAIN:-${ABLATE_TEST_WHOLE:+20}} # for all experiments; empty: they take turns
turn=$((0x$(git -C "$source" rev-parse --short=6 HEAD 2>/dev/null || echo 0)))
other=0 # number of runs whose digits need another processor

records() # SECONDS: names of the records with a run that trained in at most so long
{
    ablate query --format csv "SELECT DISTINCT experiment FROM recorded.runs WHERE status = 'done'
        AND seconds <= $1 AND run NOT IN (SELECT run_id FROM recorded.tag WHERE tag = 'model_of_run')
        ORDER BY 1" | sed '1d; s/\.recorded\r*$//'
}

# its runs of 3 s evaluated the model that another run trained for minutes
code=0
ablate verify "$source/experiments/recorded/decoding.json.gz" --at-most 6 2>err >out || code=$?
equal "$code: $(grep -o "found no finished run" err)" "1: found no finished run" "decoding has no training of 6 s"
checks=0 # below: number of records that were trained again

if [ -n "$seconds" ]; then
    chosen=$(records "$seconds")
else
    longer=$(records 30 | grep -vxFf <(records 6))
    chosen=$(records 6 | awk -v turn=$turn '(NR + turn) % 2 == 0'
        awk -v turn=$turn '{ name[NR] = $0 } END { print name[turn % NR + 1] }' <<<"$longer")
fi

for name in $chosen; do
    file=$source/experiments/recorded/$name.json.gz code=0 limit=${seconds:-6}
    [ -n "$seconds" ] || ! grep -qx "$name" <<<"$longer" || limit=30
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
