#!/usr/bin/env bash
# usage: race_seeds.sh PROGRAM...   - each under the race detector in 19 more orders of blocks and threads.
set -u
failed=0
for seed in {2..20}; do
    for program; do
        out=$(ABLATE_SCHEDULE=$seed "$program" 2>&1) || { echo "$program, seed $seed: $?: $out" && failed=1; }
    done
done
exit $failed
