#!/usr/bin/env bash
# run.sh [MILLIONS] - runs the fuzz targets under clang's libFuzzer, AddressSanitizer and UBSan for that many million
# executions in total (default 10), slow targets fewer. Prints one line per target; exit code 1 if one crashed, with the
# input in build/fuzz/crashes. Needs clang and libomp-dev. New inputs are kept in build/fuzz/corpus and used by the next
# call.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/../.."
millions=${1:-10}
build=build/fuzz
[ -e $build/build.ninja ] ||
    cmake -S . -B $build -G Ninja -DABLATE_FUZZ=ON -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-O1 -g" -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g" >/dev/null
ninja --quiet -C $build fuzz_targets
mkdir -p $build/crashes

rc=0
total=0
# each target, and its share of each million executions
while read -r name share; do
    mkdir -p $build/corpus/"$name"
    log=$build/$name.log
    failed=
    $build/"${name}"_fuzz -runs=$((share * millions)) -timeout=120 -rss_limit_mb=4096 \
        -artifact_prefix=$build/crashes/"$name"- -print_final_stats=1 \
        $build/corpus/"$name" tests/fuzz/"${name}"_seeds >"$log" 2>&1 || failed=yes
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    total=$((total + ${runs:-0}))
    printf '%-8s %9s executions, %s\n' "$name" "${runs:-0}" "$([ -z "$failed" ] && echo no crash ||
        echo "CRASHED, see $log")"
    [ -z "$failed" ] || rc=1
done <<'LIST'
event 200000
evalb 200000
model 200000
vocab 150000
config 150000
image 50000
tree 70000
ini 20000
import 500
sheet 20000
data 20000
export 10000
LIST
echo "$total executions in all"
exit $rc
