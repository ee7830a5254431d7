#!/usr/bin/env bash
# usage: spills.sh FOLDER [MODULE]   - the logs of nvcc there: no kernel may spill registers to memory, except for the interpreter of score
# programs, which is slow anyway.
set -eu
logs=("$1"/*.log)
[ -e "${logs[0]}" ] || { echo "no logs in $1"; exit 1; }
kernels=$(cat "${logs[@]}" | grep -c 'Compiling entry function') || true
echo "$kernels kernels (all architectures counted)"
[ "$kernels" -gt 0 ] || { echo "WRONG: the logs name no kernel"; exit 1; }
bad=$(awk '/Function properties for/ { name = $NF } / spill / && !/ 0 bytes spill stores, 0 bytes spill loads/ && name !~ /score_interpreter/ {
    print FILENAME ": " name ": " $0 }' "${logs[@]}")
[ -z "$bad" ] || { echo "WRONG: registers are spilled:"; echo "$bad"; exit 1; }
