#!/usr/bin/env bash
# headers.sh ROOT [C++-COMPILER] - the headers of the tensor engine compile as C++, so that CUDA files may include them.
# Left out are headers that need NVIDIA's headers, and the headers of cpu/, which are made for C (vectors, one
# compilation for each instruction set).
set -euo pipefail
cd "${1:?the folder to look at}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for folders in "graph comm device" cuda; do
    headers=$(cd core && for f in $folders; do ls tensor/"$f"/*.h; done | grep -v cublaslt)
    for h in $headers; do echo "#include \"$h\""; done >"$work/all.cc"
    "${2:-c++}" -std=gnu++17 -fsyntax-only -Wall -Wextra -Werror -DGPU_ON_CPU -Icore -Itests/shim "$work/all.cc"
    echo "$folders: $(wc -w <<<"$headers") headers compile as C++"
done
