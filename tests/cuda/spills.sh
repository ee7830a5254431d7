#!/usr/bin/env bash
# usage: spills.sh FOLDER [MODULE]   - the logs of nvcc there: no kernel may spill registers to memory.
set -eu
logs=("$1"/*.log)
[ -e "${logs[0]}" ] || { echo "no logs in $1"; exit 1; }
kernels=$(cat "${logs[@]}" | grep -c 'Compiling entry function') || true
bad=$(grep -H -B2 -E '[1-9][0-9]* bytes spill (stores|loads)' "${logs[@]}") || true
echo "$kernels kernels (all architectures counted)"
[ "$kernels" -gt 0 ] || { echo "WRONG: the logs name no kernel"; exit 1; }
[ -z "$bad" ] || { echo "WRONG: registers are spilled:"; echo "$bad"; exit 1; }
