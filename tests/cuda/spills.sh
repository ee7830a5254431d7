#!/usr/bin/env bash
# usage: spills.sh FOLDER [WHAT THE LOGS ARE OF]...
# Checks nvcc's logs in FOLDER. No kernel may spill registers to memory, except the interpreter of score programs, which
# is slow anyway. No wgmma may wait for the wgmma before it: ptxas makes it wait, with a warning C75.., if it cannot
# follow the registers. A block uses at most 65,536 registers (large_blocks of the emulation lists the large blocks).
set -eu
logs=("$1"/*.log)
[ -e "${logs[0]}" ] || { echo "no logs in $1"; exit 1; }
kernels=$(cat "${logs[@]}" | grep -c 'Compiling entry function') || true
echo "$kernels kernels (all architectures counted)"
[ "$kernels" -gt 0 ] || { echo "WRONG: the logs name no kernel"; exit 1; }
bad=$(awk '/Function properties for/ { name = $NF } / spill / && !/ 0 bytes spill stores, 0 bytes spill loads/ && name !~ /score_interpreter/ {
    print FILENAME ": " name ": " $0 }' "${logs[@]}")
[ -z "$bad" ] || { echo "WRONG: registers are spilled:"; echo "$bad"; exit 1; }
serial=$(grep -h '(C75[0-9]*)' "${logs[@]}") && { echo "WRONG: products that wait for each other: $serial"; exit 1; }
list=$(sed -n '/large_blocks\[\]/,/^};/p' "$(dirname "$0")/../shim/gpu_emulation.cc" |
    grep -o '"[a-z_]*", [0-9]*' | tr -d '",')
[ -n "$list" ] || { echo "WRONG: no list of large blocks"; exit 1; }
while read -r name threads; do
    most=$(awk -v name="$name" '/Compiling entry function/ { on = index($0, name) } on && / Used [0-9]+ registers/ {
        for (i = 1; i < NF; i++) if ($i == "Used" && $(i + 1) > most) most = $(i + 1) } END { print most + 0 }' \
            "${logs[@]}")
    [ "$most" -gt 0 ] || { echo "WRONG: the logs name no kernel $name"; exit 1; }
    [ $(((most + 7) / 8 * 8 * threads)) -le 65536 ] || { echo "WRONG: $name has $most registers for $threads threads"
    exit 1; }
    echo "$name: $most registers, $threads threads"
done <<<"$list"
