#!/usr/bin/env bash
# usage: travels.sh SOURCES   - what is copied to a rented GPU has at most 56 MiB: the tracked files and the pack of
# bench/pack.sh.
set -u
cd "$1" || exit 2
git rev-parse --git-dir >/dev/null 2>&1 || { echo "skipped: no git repository" && exit 77; }
tracked=$(git ls-files -z | xargs -0 stat -c %s | awk '{sum += $1} END {print sum}')
pack=$(sed -n 's/^most=\([0-9]*\) .*/\1/p' bench/pack.sh) most=$((56 << 20))
echo "tracked files have $tracked bytes, the pack at most $pack: $((tracked + pack)) of $most"
[ -n "$pack" ] && [ $((tracked + pack)) -le $most ]
