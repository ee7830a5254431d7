#!/usr/bin/env bash
# decode_split = dev+test decodes and scores both splits; each score names its split, and equals that of a run with one
# split. `none` decodes neither. Perplexity and token accuracy are computed for dev, and for test if test is scored.
# Tables name the split; a metric named without a split means test. A position table shorter than sentences or outputs
# is refused before training.
source "$(dirname "$0")/common.bash" "$@"

{
    tiny parts 300
    printf '[sweep split]\ndecode_split = dev, dev+test, none\n'
} >parts.ini
exits 0 ablate run parts.ini --threads 1 --progress none
cp out parts.out
value() { sql "SELECT value FROM results WHERE variant='$1' AND metric='$2'"; }
figures() { sql "SELECT group_concat(metric,' ') FROM (SELECT metric FROM results WHERE variant='$1' AND metric NOT GLOB 'PPL*' AND metric NOT GLOB 'token_accuracy*' ORDER BY 1)"; }
of_test=$(figures base) of_dev=$(figures split/decode_split=dev) count=4
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
has parts.out "acc (test)"
has parts.out "acc: runs were scored in different ways"
equal "$(figures split/decode_split=none)" "" "figures without decoding but PPL and token accuracy"
equal "$(value split/decode_split=none PPL)" "$(value base PPL)" "PPL without decoding"
every() { sql "SELECT group_concat(metric,' ') FROM (SELECT metric FROM results WHERE variant='$1' AND (metric GLOB 'PPL*' OR metric GLOB 'token*') ORDER BY 1)"; }
for row in base split/decode_split=dev+test; do
    equal "$(every $row)" "PPL PPL_test token_accuracy token_accuracy_test" "what every run has, $row"
done
for row in dev none; do equal "$(every split/decode_split=$row)" "PPL token_accuracy" "without test, $row"; done
[ "$(value base PPL_test)" != "$(value base PPL)" ] || wrong "PPL is $(value base PPL) on both parts"
equal "$(value split/decode_split=dev+test PPL_test)" "$(value base PPL_test)" "PPL of test"

echo "tables name the part"
heading() { sed -n 's/^row .*  n  *\([^ ]* ([a-z]*)\).*/\1/p' out; }
exits 0 ablate table parts --metric PPL
equal "$(heading)" "PPL (test)" "a name without its part means test"
exits 0 ablate table parts --metric ppl_dev
equal "$(heading)" "PPL (dev)" "the part can be named"
has out 'PPL (dev): exp(nll/token), EOS counted, dev'
{ tiny judged 10; printf '[criterion]\nmetric = PPL\nseeds = 3\n[variant one]\nheads = 1\n'; } >judged.ini
exits 0 ablate run judged.ini --threads 1 --progress none
has out "Criterion: PPL (test), level"
has out "paired approximate randomisation of PPL (test)"
exits 0 ablate table judged --metric PPL_dev
hasnt out "Criterion:"
{ tiny alone 10 && printf 'decode_split = dev\n'; } >alone.ini
exits 0 ablate run alone.ini --threads 1 --progress none
has out "PPL (dev)"
has out "acc (dev)"
hasnt out "(test)"
has out "acc (dev): match:whole line; dev"

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
