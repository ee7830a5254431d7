#!/usr/bin/env bash
# usage: mutants.sh BUILD part|whole [SEED]   - tests the GPU tests: plants mistakes in nvcc's PTX, one at a time
# (break.c), and runs that kernel's tests with the race detector. Mistakes: a barrier or fence is deleted, or an integer
# bound shifted by one. part: a few barriers of three tests. whole: every barrier and fence, and 100 bounds drawn by
# SEED [1]; takes hours. survivors.tsv lists mistakes that no test can find, with reasons. The script fails if a barrier
# or fence outside of that list survives, or if a mistake in it is found; bounds that survive are printed.
# BUILD/ptx/mutants.txt has the verdict of the last run on each mistake.
set -u
here=$(cd "$(dirname "$0")" && pwd) build=$(cd "$1" && pwd) seed=${3:-1}
cd "$build" || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ABLATE_PRODUCT=own ABLATE_CUDNN=none ABLATE_KERNELS='' ABLATE_TEST_LONG=
tests=(norm_product select step) barriers=3 bounds=0
[ "$2" = part ] ||
    { tests=(norm_product select step rows shape generic optim product attend score) barriers=9999 bounds=100; }

# each place KIND:FILE:LINE:COLUMN, and the tests whose PTX contains this place, the quickest test first
for test in "${tests[@]}"; do
    PTX_PLACES=$work/places timeout 1200 ptx/ptx_test_"$test" >"$work/out" 2>&1 ||
        { echo "$test fails as it is" && cat "$work/out" && exit 1; }
    sort -u "$work/places" | sed "s/\$/\t$test/" >>"$work/all"
    rm -f "$work/places"
done
awk -F'\t' '{tests[$1] = tests[$1] " " $2} END {for (place in tests) print place "\t" tests[place]}' "$work/all" |
    sort >"$work/each"
[ "$2" = whole ] || sed -n -i -E '/:(norm_product|product|select|attend_step)\.cu:/p' "$work/each" # theirs alone
drawn() { shuf --random-source=<(yes "$seed") -n "$1"; }
[ "$2" = whole ] || seed=$RANDOM
{ grep -v '^bound:' "$work/each" | drawn "$barriers"; grep '^bound:' "$work/each" | drawn "$bounds"; } >"$work/chosen"

failed=0 found=0 known=0
: >ptx/mutants.txt
while IFS=$'\t' read -r place those; do
    for test in $those; do
        PTX_BREAK=$place PTX_RACES=1 timeout 300 ptx/ptx_test_"$test" >"$work/out" 2>&1
        rc=$?
        [ $rc = 0 ] || break
    done
    reason=$(grep -F "$place"$'\t' "$here/survivors.tsv" | cut -f2)
    case $rc:$reason in
    0:?*) known=$((known + 1)) ;;
    0:)
        echo "NOT FOUND by$those: $place"
        [ "${place%%:*}" = bound ] || failed=1
        ;;
    *:?*) failed=1 && echo "$place is found, but survivors.tsv says: $reason" ;;
    *) found=$((found + 1)) ;;
    esac
    words=$(grep -m1 '^ptx: ' "$work/out" | cut -c1-200)
    printf '%s\t%s\t%s\t%s\n' "$rc" "$place" "$test" "$words" >>ptx/mutants.txt
done <"$work/chosen"
echo "$(wc -l <"$work/chosen") of $(wc -l <"$work/each") places, seed $seed: $found found," \
    "$known survive for the reasons listed"
exit $failed
