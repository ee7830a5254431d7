#!/usr/bin/env bash
# decode_split = dev+test: both splits are decoded and scored, with each split's name on its scores and the same values
# as runs of one split; none: neither. A position whose table is shorter than sentences or outputs is refused before
# training.
source "$(dirname "$0")/common.bash" "$@"

{
    tiny parts 300
    printf '[sweep split]\ndecode_split = dev, dev+test, none\n'
} >parts.ini
exits 0 ablate run parts.ini --threads 1 --progress none
value() { sql "SELECT value FROM results WHERE variant='$1' AND metric='$2'"; }
figures() { sql "SELECT group_concat(metric,' ') FROM (SELECT metric FROM results WHERE variant='$1' AND metric NOT IN('PPL','token_accuracy') ORDER BY 1)"; }
of_test=$(figures base) of_dev=$(figures split/decode_split=dev) count=2
[ -n "$of_test" ] && [ -n "$of_dev" ] || wrong "a run has no figures but PPL: test '$of_test', dev '$of_dev'"
for metric in $of_test; do
    equal "$(value split/decode_split=dev+test "${metric}_test")" "$(value base "$metric")" "$metric on test"
    equal "$(value split/decode_split=dev+test "$metric")" "" "$metric of no part"
    count=$((count + 1))
done
for metric in $of_dev; do
    equal "$(value split/decode_split=dev+test "${metric}_dev")" "$(value split/decode_split=dev "$metric")" \
        "$metric on dev"
    count=$((count + 1))
done
[ "$(value base acc)" != "$(value split/decode_split=dev acc)" ] ||
    wrong "acc is $(value base acc) on both parts: this test would see no difference"
equal "$(sql "SELECT count(*) FROM results WHERE variant='split/decode_split=dev+test'")" $count "figures of both"
has out "acc_test"
equal "$(figures split/decode_split=none)" "" "figures without decoding but PPL and token accuracy"
equal "$(value split/decode_split=none PPL)" "$(value base PPL)" "PPL without decoding"
exits 0 ablate show parts/split/decode_split=dev+test --hyp dev
cp out dev.hyp
exits 0 ablate show parts/split/decode_split=dev --hyp dev
equal "$(cmp out dev.hyp 2>&1)" "" "outputs for dev"
exits 0 ablate show parts/split/decode_split=dev+test --ref test
equal "$(wc -l <out)" 90 "references of test"
exits 2 ablate run parts.ini --dry-run -s decode_split=both
has err "dev, test, dev+test or none"

echo "a table that ends too early"
short() { ablate run parts.ini --threads 1 --progress plain --only base -s position=learned "$@"; }
exits 1 short -s learned.max_len=4 -s max_extra_tokens=0
has err "learned.max_len = 4: expected at least 8, because the longest source of test has this many tokens, including EOS"
hasnt err "eval "
exits 1 short -s learned.max_len=18 -s max_extra_tokens=11
has err "learned.max_len = 18: expected at least 19, because outputs can be max_extra_tokens = 11 tokens longer than the longest source of test, which has 8"
exits 0 short -s learned.max_len=19 -s max_extra_tokens=11
finish
