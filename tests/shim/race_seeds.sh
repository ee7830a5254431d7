#!/usr/bin/env bash
# usage: race_seeds.sh LAST|drawn PROGRAM...   - runs each program under the race detector, in random orders of blocks
# and threads: seeds 2 to LAST, or one seed drawn from 2 to 20 (races/test_* use seed 1).
set -u
failed=0 first=2 last=$1
[ "$last" != drawn ] || first=$((2 + RANDOM % 19)) last=$first
shift
echo "seeds $first to $last"
for ((seed = first; seed <= last; seed++)); do
    for program; do
        out=$(ABLATE_SCHEDULE=$seed "$program" 2>&1) || { echo "$program, seed $seed: $?: $out" && failed=1; }
    done
done
exit $failed
