#!/usr/bin/env bash
# aarch64.sh [COMPILER] - compiles base, graph and cpu for aarch64 with Debian's cross compiler (gcc-aarch64-linux-gnu),
# and runs the tests of matrix products and of the tape under qemu-user. Only the generic kernels exist for aarch64.
# Skipped (77) with a message if the compiler is missing; without qemu it only compiles.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
cc=${1:-aarch64-linux-gnu-gcc}
if ! command -v "$cc" >/dev/null; then
    echo "skipped: no $cc (Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross, and qemu-user to run the tests)"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-std=gnu11 -O2 -g1 -fopenmp -D_GNU_SOURCE -DABLATE_VERSION='"0"' -Icore -Itests/unit -Wall -Wextra -Wno-psabi)
compiler=("$cc")
[ -z "${CMAKE_C_COMPILER_LAUNCHER-}" ] || compiler=("$CMAKE_C_COMPILER_LAUNCHER" "$cc") # ccache
fast=(-O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast)

# compile FOLDER SOURCE...: writes objects to $work/FOLDER
compile() {
    local folder=$work/$1
    mkdir -p "$folder"
    shift
    local source
    for source in "$@"; do echo "$source"; done |
        xargs -P"$(nproc)" -I{} sh -c '"$@" -c "$0" -o "'"$folder"'/$(basename "$0").o"' {} "${compiler[@]}" \
        "${flags[@]}" "${level[@]}"
}
level=()
compile common core/base/*.c core/tensor/graph/*.c core/tensor/cpu/{cpu,isa,machine}.c
level=("${fast[@]}")
kernels=()
for source in core/tensor/cpu/*.c; do
    case $(basename "$source") in cpu.c | isa.c | machine.c) ;; *) kernels+=("$source") ;; esac
done
compile set "${kernels[@]}"
"${cc%gcc}ld" -r -o "$work/set.all" "$work"/set/*.o
"${cc%gcc}objcopy" --redefine-sym cpu_table=cpu_table_generic --keep-global-symbol=cpu_table_generic "$work/set.all" \
    "$work/set.o"
echo "core/base, core/tensor/graph and core/tensor/cpu compile for $("$cc" -dumpmachine)"

if ! command -v qemu-aarch64 >/dev/null; then
    echo "not run: no qemu-aarch64 (Debian: qemu-user)"
    exit 0
fi
"${cc%gcc}ar" rcs "$work/common.a" "$work"/common/*.o # the tests need no gzip.c, and so no zlib for aarch64
for test in cpu/test_products graph/test_tape; do
    "$cc" "${flags[@]}" -DSOURCE_DIR="\"$PWD\"" -DBUILD_DIR="\"$work\"" "tests/unit/$test.c" "$work/common.a" \
        "$work/set.o" "$work/common.a" -lm -o "$work/test"
    printf '%s: ' "$test"
    OMP_WAIT_POLICY=passive qemu-aarch64 -L "/usr/$("$cc" -dumpmachine)" "$work/test"
done
