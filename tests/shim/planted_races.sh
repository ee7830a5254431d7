#!/usr/bin/env bash
# usage: planted_races.sh PROGRAM   - each planted race must be found, and the report must have its kind and the lines
# of both accesses, in any order of the threads; the mended kernels must have none.
set -u
program=$1 failed=0 found=0 silent=0
wrong() { echo "WRONG: $*"; failed=1; }

block="no __syncthreads between two warps of a block"
warp="no __syncwarp between two threads of a warp"
grid="no __threadfence and atomic between two blocks"
streams="no event between two streams"
# race CASE WHAT WORDS...: CASE must be found; WHAT is the missing order, WORDS are other parts of the report
race() {
    local case=$1 what=$2 words out rc seed
    shift 2
    for seed in 0 1 2; do
        out=$(ABLATE_SCHEDULE=$seed "$program" "$case" 2>&1)
        rc=$?
        [ $rc -eq 66 ] || wrong "$case, seed $seed, ends with $rc, expected 66: $out"
        for words in "$what" "$@"; do
            grep -qF -- "$words" <<<"$out" || wrong "$case, seed $seed: no \"$words\" in: $out"
        done
    done
    found=$((found + 1))
}
sound() {
    local seed out
    for seed in 0 1 2; do
        out=$(ABLATE_SCHEDULE=$seed "$program" "$1" sound 2>&1) || wrong "$1, sound, seed $seed, ends with $?: $out"
        [ -z "$out" ] || wrong "$1, sound, seed $seed, says: $out"
    done
    silent=$((silent + 1))
}
race between_warps "$block" "shared memory s, byte" "k_between_warps: planted_races.cu:"
race in_warp "$warp" "dynamic shared memory, byte" "written, 4 bytes, by block 0,0,0 thread"
race next_turn "$block" "read, 4 bytes, by block 0,0,0"
race two_writers "k_two_writers: no __sync" "device memory of 2560 bytes, byte 0"
race halves "$block" "written, 2 bytes"
race bytes "$block" "written, 1 bytes"
race warp_leaves "$block"
race fence_before "$grid"
race barrier_before "$grid"
race barrier_after "$block" "shared memory last, byte 0"
race fence_after "$grid"
race ticket "$grid"
race neighbour_block "$grid"
race streams "$streams" "k_set: planted_races.cu"
race streams_in_graph "$streams"
for case in between_warps in_warp next_turn two_writers halves bytes warp_leaves fence_before one_fence groups \
    neighbour_block streams streams_in_graph; do
    sound $case
done
echo "$found races found, $silent programs without one"
exit $failed
