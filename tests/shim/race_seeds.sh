#!/usr/bin/env bash
# usage: race_seeds.sh LAST PROGRAM...   - each under the race detector in the orders of blocks and threads of the seeds
# from 2 to LAST (races/test_* have that of seed 1).
set -u
failed=0 last=$1
shift
for ((seed = 2; seed <= last; seed++)); do
    for program; do
        out=$(ABLATE_SCHEDULE=$seed "$program" 2>&1) || { echo "$program, seed $seed: $?: $out" && failed=1; }
    done
done
exit $failed
