#!/usr/bin/env bash
# usage: planted.sh PROGRAM SANITIZED   - each planted mistake must be found, and nothing without one. SANITIZED: ON or
# OFF: only the address sanitizer finds reads and writes outside of an allocation.
set -u
program=$1 sanitized=$2 failed=0
wrong() { echo "WRONG: $*"; failed=1; }

out=$("$program" none 2>&1) || wrong "without a mistake it ends with $?: $out"
"$program" no_barrier 2>/dev/null
[ $? -eq 1 ] || wrong "a dropped barrier is not found"
out=$("$program" barrier_not_for_all 2>&1) && wrong "a barrier that not all threads reach is not found"
grep -q 'wait for each other' <<<"$out" || wrong "a barrier that not all threads reach: it says $out"
out=$("$program" grid) || wrong "a grid that no GPU takes ends with $?"
[[ $out == "k_large: a grid of 1 x 65536 x 1 blocks, expected"* ]] || wrong "a grid that no GPU takes: it says $out"
out=$("$program" block) || wrong "a block that may have too few registers ends with $?"
[[ $out == "k_large: blocks of 512 x 1 x 1 threads, expected whole warps, at most 256"* ]] ||
    wrong "a block of 512 threads: it says $out"
if [ "$sanitized" = OFF ]; then # under the sanitizer, static shared memory is not checked
    "$program" unwritten
    [ $? -eq 3 ] || wrong "static shared memory that was not written is read as a number"
    out=$("$program" large) || wrong "too much shared memory ends with $?"
    [[ $out == "k_large: 40960 bytes of static and 192512 of dynamic shared memory, at most 49152 and 232448 in all" \
        ]] ||
        wrong "too much shared memory: it says $out"
fi
if [ "$sanitized" = ON ]; then
    for mistake in overrun shared_overrun host; do
        out=$("$program" $mistake 2>&1) && wrong "$mistake is not found"
        grep -q 'AddressSanitizer' <<<"$out" || wrong "$mistake: it says $out"
    done
    echo "8 programs"
else
    echo "7 programs; overruns are left to the build under sanitizers"
fi
exit $failed
