#!/usr/bin/env bash
# reliability.sh [PART]... - the third tier of tests, before a release: the long runs that docs/reliability.md reports;
# without arguments all parts. CI runs a part of each.
#   whole    all cases of the tests of which `ablate test --all` runs only a part (label `whole`)
#   races    the emulated CUDA kernels under the race detector: all cases, and twenty orders of blocks and threads
#   ptx      the GPU's tests on nvcc's PTX, all with its race detector in both orders, and planted mistakes
#   toolkits the GPU backend by CUDA 12.8 and cuDNN 9.25 from PyPI (tests/cuda/toolkits.sh)
#   faults   fault loops over every command, each call in turn (tests/fault/loop.sh; FAULTS=N: N random calls per
#            command and kind)
#   kills    1,000 kill -9 of worker, host or both (tests/cli/kill.sh; KILLS=N), and one at each place where a command
#            opens, writes, syncs, renames, removes, forks or calls SQLite
#   hosts    the same random kills with three hosts on one sweep at the same time (HOSTS=N: N kills [300])
#   damage   2,000 damaged databases and models (tests/cli/damage.sh; DAMAGE=N)
#   fuzz     ten million executions of the fuzz targets (tests/fuzz/run.sh; MILLIONS=N)
#   threads  a sweep, a watched page, and tests of hosts and workers under ThreadSanitizer (tests/threads.sh)
#   records  one run of each recorded experiment, trained again if it took at most 300 s (tests/cli/retrained.sh)
#   promises each wrong line of tests/oracle/promises.txt in turn: the test named beside the line must fail
set -uo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.." || exit 1
[ $# -gt 0 ] || set -- whole races ptx toolkits faults kills hosts damage fuzz threads records promises
./ablate list plugins >/dev/null && ninja --quiet -C build ablate-bench tests/fault.so || exit 1
rc=0
for part in "$@"; do
    case $part in
    whole) ABLATE_TEST_WHOLE=1 ./ablate test --all -L whole || rc=1 ;;
    races) ninja --quiet -C build race_tests || exit 1
        for test in $(ninja -C build -t query race_tests | grep -o 'races_test_[a-z_]*$' | sort -u); do
            ABLATE_TEST_LONG=1 ABLATE_TEST_WHOLE=1 ABLATE_SCHEDULE=1 OMP_NUM_THREADS=2 "build/$test" || rc=1
        done
        bash tests/shim/race_seeds.sh 20 build/races_test_{select,step,shape,rows,generic} || rc=1 ;;
    ptx) ninja --quiet -C build ptx_tests || exit 1
        for test in build/ptx/ptx_test_*; do
            for how in PTX_ORDER=first PTX_RACES=1 PTX_ORDER=reversed; do
                (cd build && env ABLATE_PRODUCT=own ABLATE_CUDNN=none ABLATE_KERNELS= $how "${test#build/}") || rc=1
            done
        done
        bash tests/ptx/mutants.sh build whole || rc=1 ;;
    toolkits) ninja --quiet -C build cuda_test_dnn || exit 1
        bash tests/cuda/toolkits.sh . build/toolkits || rc=1 ;;
    faults) bash tests/fault/loop.sh "$PWD/build/ablate" "$PWD" "$PWD/build/tests/fault.so" "${FAULTS:-whole}" ||
        rc=1 ;;
    kills) ABLATE_TEST_KILLS=${KILLS:-1000} bash tests/cli/kill.sh "$PWD/build/ablate" "$PWD" || rc=1
        ABLATE_FAULT_KILL=yes bash tests/fault/loop.sh "$PWD/build/ablate" "$PWD" "$PWD/build/tests/fault.so" whole ||
            rc=1 ;;
    hosts) ABLATE_TEST_HOSTS=3 ABLATE_TEST_KILLS=${HOSTS:-300} bash tests/cli/kill.sh "$PWD/build/ablate" "$PWD" ||
        rc=1 ;;
    damage) ABLATE_TEST_DAMAGE=${DAMAGE:-2000} bash tests/cli/damage.sh "$PWD/build/ablate" "$PWD" || rc=1 ;;
    fuzz) bash tests/fuzz/run.sh "${MILLIONS:-10}" || rc=1 ;;
    threads) bash tests/threads.sh || rc=1 ;;
    records) ABLATE_RETRAIN=300 bash tests/cli/retrained.sh "$PWD/build/ablate" "$PWD" || rc=1 ;;
    promises) MUTANTS=tests/oracle/promises.txt bash tests/mutants.sh . || rc=1 ;;
    *) echo "reliability.sh: found '$part', expected whole, races, ptx, toolkits, faults, kills, hosts, damage, fuzz, threads, records or promises" && exit 2 ;;
    esac
done
exit $rc
