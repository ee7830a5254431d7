#!/usr/bin/env bash
# Packs ablate for a GPU machine that has none of its libraries: the program, plugins, the CUDA module, the tests for a
# real GPU, the shared libraries, bench/, the recorded lengths, and Multi30k with Table 3's INI and record. bench/gpu.sh
# runs the pack there.
#
# usage: bench/pack.sh OUT_FOLDER [--emulated]      makes OUT_FOLDER/ablate-gpu/ and OUT_FOLDER/ablate-gpu.tar.xz
#   --emulated  packs the emulated GPU and its tests from BUILD instead, to test gpu.sh without a GPU
#   BUILD       build folder (build-gpu next to the sources; an existing CMake cache is kept)
#   JOBS        simultaneous compilers (all cores)
#   ABLATE_DATA folder that contains multi30k/ (data next to the sources); without it the rows of Table 3 cannot be
#   trained there
# Needs nvcc in addition to what ./ablate needs. The C library is not packed: the other machine's must be as new as the
# printed one.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
emulated=
[ "${2-}" = --emulated ] && emulated=1
[ $# = 1 ] || [ -n "$emulated" ] || { sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2; }
mkdir -p "$1"
out=$(cd -- "$1" && pwd)
build=${BUILD:-$root/build-gpu} pack=$out/ablate-gpu data=${ABLATE_DATA:-$root/data}/multi30k
most=28000000 # most bytes of the archive, so that it and the tracked files fit into 56 MiB (tests/travels.sh)
say() { printf '%s\n' "$*" >&2; }

if [ -z "$emulated" ]; then
    generator=() && command -v ninja >/dev/null && generator=(-G Ninja)
    [ -e "$build/CMakeCache.txt" ] && generator=()
    cmake -S "$root" -B "$build" "${generator[@]}" -DABLATE_CUDA=ON >"$out/pack.log"
    cmake --build "$build" -j "${JOBS:-$(nproc)}" --target product ablate-bench ablate_cuda gpu_tests bench_kernels \
        >>"$out/pack.log" 2>&1 || {
        say "the build failed:" && tail -40 "$out/pack.log" >&2
        exit 1
    }
fi

rm -rf "$pack"
mkdir -p "$pack"/{bin/backends,lib,gcc,bench,lengths,data,experiments/{paper,recorded}}
cp -r "$build/ablate" "$build/ablate-bench" "$build/plugins" "$pack/bin/"
if [ -n "$emulated" ]; then
    cp "$build/tests/emulated_cuda.so" "$pack/bin/backends/ablate_cuda.so"
    for test in "$build"/shim_test_*; do cp "$test" "$pack/bin/gpu_${test##*/shim_}"; done
else
    cp "$build/backends/ablate_cuda.so" "$pack/bin/backends/"
    cp "$build"/gpu_test_* "$build/bench_kernels" "$pack/bin/"
fi
cp "$root"/bench/*.{sh,py} "$pack/bench/"
cp "$root"/bench/recorded/lengths/*.txt "$pack/lengths/"
cp "$root/experiments/paper/table3-multi30k.ini" "$pack/experiments/paper/"
cp "$root/experiments/recorded/table3-multi30k.json.gz" "$pack/experiments/recorded/"
if [ -d "$data" ]; then
    mkdir "$pack/data/multi30k"
    cp "$data"/{train,val,test2016,test2017}.{en,de} "$pack/data/multi30k/"
else
    say "no $data: the rows of Table 3 cannot be trained there"
fi
find "$pack/bin" -type f -perm -u+x -exec strip --strip-unneeded {} +

# Collects the libraries that any program needs, and their libraries (ldd follows them). The compiler's libraries go
# into a separate folder: if the other machine has them, its own are newer.
mapfile -t files < <(find "$pack/bin" -type f)
for file in "${files[@]}"; do ldd "$file" 2>/dev/null || true; done | sort -u >"$out/ldd.txt"
if grep 'not found' "$out/ldd.txt" >&2; then exit 1; fi
while read -r name _ path _; do
    case $name in
    ld-linux* | /lib*/ld-linux* | linux-vdso* | libc.so* | libm.so* | libdl.so* | librt.so* | libpthread.so* | \
        libresolv.so*) ;;
    libstdc++.so* | libgcc_s.so* | libgomp.so*) cp -L "$path" "$pack/gcc/$name" ;;
    lib*) cp -L "$path" "$pack/lib/$name" ;;
    esac
done <"$out/ldd.txt"
find "$pack/lib" "$pack/gcc" -type f -exec strip --strip-unneeded {} +

cat >"$pack/with" <<'SH'
#!/bin/sh
# usage: with PROGRAM ARGUMENTS...   runs it with the libraries carried here
here=$(cd "$(dirname "$0")" && pwd)
path=$here/lib
known=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null)
for name in libstdc++.so.6 libgcc_s.so.1 libgomp.so.1; do
    case $known in *"$name"*) ;; *) path=$here/lib:$here/gcc ;; esac
done
LD_LIBRARY_PATH=$path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
exec "$@"
SH
for name in ablate ablate-bench; do
    cat >"$pack/$name" <<SH
#!/bin/sh
here=\$(cd "\$(dirname "\$0")" && pwd)
exec "\$here/with" "\$here/bin/$name" "\$@"
SH
done
chmod +x "$pack/with" "$pack/ablate" "$pack/ablate-bench"

# Checks that only the C library is missing from the pack.
for file in "${files[@]}"; do LD_LIBRARY_PATH=$pack/lib:$pack/gcc ldd "$file"; done | awk '/=> \//{print $1, $3}' |
    sort -u |
    grep -v "$pack" | grep -Ev '^(libc|libm|libdl|librt|libpthread|libresolv)\.so' >"$out/outside.txt" || true
if [ -s "$out/outside.txt" ]; then say "libraries that were not carried:" && cat "$out/outside.txt" >&2 && exit 1; fi
rm -f "$out/outside.txt" "$out/ldd.txt"

needs=$(find "$pack" -type f -name '*.so*' -o -type f -path '*/bin/*' | xargs objdump -T 2>/dev/null |
    grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1)
git -C "$root" log -1 --format='%H%n%cd' >"$pack/version.txt" 2>/dev/null || true
git -C "$root" status --short >>"$pack/version.txt" 2>/dev/null || true
echo "needs $needs or newer, $(uname -m)" >>"$pack/version.txt"
env -i "$pack/ablate" list devices >/dev/null || { say "the packed program does not run here"; exit 1; }
# The module and each test contain the same kernels: a dictionary larger than a file finds the repeats (compressing
# needs 1 GB, unpacking 0.1 GB).
XZ_OPT=${XZ_OPT---lzma2=preset=6,dict=96MiB} tar -C "$out" --sort=name -cJf "$out/ablate-gpu.tar.xz" ablate-gpu
size=$(stat -c %s "$out/ablate-gpu.tar.xz")
say "$out/ablate-gpu.tar.xz: $((size / 1000000)) MB, $(du -sm "$pack" | cut -f1) MB unpacked, needs $needs or newer"
[ -n "$emulated" ] || [ "$size" -le $most ] || { say "more than $((most / 1000000)) MB"; exit 1; }
