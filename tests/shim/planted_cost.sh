#!/usr/bin/env bash
# usage: planted_cost.sh PROGRAM   - the cost model gives the known counts of planted kernels, in any order of threads.
set -u
program=$1 failed=0 checks=0
# want KERNEL KIND REQUESTS MOVED LEAST BYTES WIDE: expects these counts
want() {
    local found
    found=$(awk -F'\t' -v kernel="$1" -v kind="$2" '$1 == "COUNT" && $2 == kernel && $3 == kind {
        print $4, $5, $6, $7, $8 }' <<<"$out")
    checks=$((checks + 1))
    [ "$found" = "${*:3}" ] || { echo "WRONG: seed $seed: $1, $2: found $found, expected ${*:3}" && failed=1; }
}
for seed in 0 1 2; do
    out=$(ABLATE_SCHEDULE=$seed "$program") || { echo "WRONG: $program ends with $?"; failed=1; }
    want side_by_side load 1 16 16 512 512
    want side_by_side store 1 16 16 512 512
    want apart load 1 32 4 128 0
    want shifted load 1 5 4 128 0
    want same load 1 1 1 128 0
    want two_halves load 2 64 32 1024 1024
    want two_halves store 2 64 32 1024 1024
    want some_lanes load 2 6 6 192 0
    want "turned<32>" shared 64 1056 64 8192 0
    want "turned<33>" shared 64 64 64 8192 0
    want "fours<1>" shared 2 8 8 1024 1024
    want "fours<2>" shared 2 16 8 1024 1024
    grep -q "LINE.apart.load.1.32.4.planted_cost.cu:6$" <<<"$out" || { echo "WRONG: no line of apart"; failed=1; }
done
echo "$checks counts"
exit $failed
