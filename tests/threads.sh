#!/usr/bin/env bash
# threads.sh - builds the program with clang's ThreadSanitizer in build/threads and runs a sweep with three workers of
# two threads each, which also decode in threads, while `report --watch` writes its page; then the tests of hosts,
# workers and the database. Fails on any reported race.
# Needs clang and libomp-dev, whose libarcher.so tells the sanitizer what OpenMP's barriers order.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
build=$PWD/build/threads
flags="-fsanitize=thread -O1 -g1"
[ -e "$build/build.ninja" ] ||
    cmake -S . -B "$build" -G Ninja -DABLATE_CUDA=OFF -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
        -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="$flags" -DCMAKE_CXX_FLAGS_DEBUG="$flags" >/dev/null
tests=$(cd tests/unit && ls launch/test_*.c results/test_*.c | sed 's/.*\///; s/\.c$//')
# shellcheck disable=SC2086 # a list
ninja --quiet -C "$build" product $tests
archer=$(dirname "$(ldd "$build/ablate" | awk '/libomp/ { print $3 }')")/libarcher.so
[ -e "$archer" ] || { echo "threads.sh: found no $archer; without it every barrier counts as a race" && exit 2; }
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
cd "$work"
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 log_path=$work/race" OMP_TOOL_LIBRARIES=$archer KMP_BLOCKTIME=0
# count WHAT: prints the number of races so far; exits if there are any.
count() {
    local races
    races=$(cat race.* 2>/dev/null | grep -c '^WARNING' || true)
    echo "$1: $races races"
    [ "$races" = 0 ] || { grep -h '^SUMMARY' race.* | sort | uniq -c && exit 1; }
}
cat >threads.ini <<'INI'
[experiment]
name  = threads
seeds = 1..2
[base]
task           = sequence
vocab          = words
layers         = 1
d_model        = 32
d_ff           = 64
heads          = 2
batch_tokens   = 256
steps          = 20
warmup         = 5
eval_every     = 10
save_every     = 10
[sweep mixer]
combine   = grid
heads     = 1, 4
attention = scaled_dot, linear
INI
timeout -k 10 600 "$build/ablate" run threads.ini --workers 3 --threads 2 --progress plain --db results.db >run.log 2>&1 ||
    { cat run.log && exit 1; }
"$build/ablate" report threads --watch -o page.html --db results.db >written 2>&1 &
page=$!
timeout -k 10 600 "$build/ablate" run threads.ini --seeds 3..4 --workers 3 --threads 2 --progress none --db results.db \
    >run.log 2>&1 &
sweep=$!
wait $sweep || { cat run.log && exit 1; }
kill -INT $page && wait $page
count "20 runs by three workers of two threads, a page written meanwhile"
grep -q "20 of 20 runs done" page.html
ABLATE_TEST_LONG=1 ctest --test-dir "$build" -R '^(launch|results)/|^cli/(lend|interrupt)$' >tests.log ||
    { tail -20 tests.log && exit 1; }
count "$(grep 'tests passed' tests.log)"
