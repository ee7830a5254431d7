#!/usr/bin/env bash
# build.sh [x86_64|aarch64] - makes build/package/ablate-VERSION-linux-ARCH.tar.gz and a wheel of it. Both run from any
# folder on any Linux with glibc 2.28 or newer, and need no installed package (README.md beside this file).
#
# Needs PyPI, from which the compiler comes, and Debian or Ubuntu, as any user, with: git ca-certificates cmake
# ninja-build binutils dpkg-dev tcl python3-venv xz-utils patch make (aarch64 on x86_64: binutils-aarch64-linux-gnu).
# Builds the program in build/package. Compiler and libraries, which no checkout changes, are kept for all checkouts in
# ~/.cache/ablate/package ($XDG_CACHE_HOME), so that a second call is short; they are made anew when one of their lines
# below changes. If nvcc is found, the CUDA module is built too (but not with ABLATE_CUDA=OFF). Exits with 75 if
# something could not be fetched.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
root=$PWD
arch=${1:-x86_64}
glibc=2.28
case $arch in x86_64 | aarch64) ;; *) echo "found '$arch', expected x86_64 or aarch64" >&2 && exit 2 ;; esac
work=$root/build/package
at=$work/$arch
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ablate/package
theirs='/^glibc=/p; /^# ---- the compiler/,/^# ---- the program/p'
kept=$cache/$arch-$({ sed -n "$theirs" packaging/build.sh && python3 -V; } | sha256sum | cut -c1-16)
prefix=$kept/libraries
version=$(sed -n 's/^project(ablate VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=ablate-$version-linux-$arch
mkdir -p "$at" "$kept/bin" "$prefix"/{include,lib,licences}
exec {lock}>"$kept/lock"
flock "$lock" # waits for another call that may be making them
touch "$kept"
find "$cache" -mindepth 1 -maxdepth 1 -mtime +30 -exec rm -rf {} +
rm -f "$kept/not-fetched"

say() { printf 'build.sh: %s\n' "$*" >&2; }
die() {
    say "$@"
    [ ! -e "$kept/not-fetched" ] || exit 75
    exit 1
}
for tool in cmake ninja objcopy ld readelf dpkg-source tclsh python3 xz apt-get patch; do
    command -v $tool >/dev/null || die "no $tool: the first lines of packaging/build.sh name the packages to install"
done
# once NAME FUNCTION: runs the function in a temporary folder, $here, and logs its messages to a file. Does nothing if
# it has succeeded before.
here=$kept/building
once() {
    local mark=$kept/done-$1 log=$kept/$1.log
    [ ! -e "$mark" ] || return 0
    say "$1"
    rm -rf "$here" && mkdir "$here"
    { cd "$here" && "$2"; } >"$log" 2>&1 </dev/null & # set -e works in the background, but not before ||
    wait $! || { tail -30 "$log" >&2 && die "$1 failed: $log"; }
    rm -rf "$here"
    touch "$mark"
}

# ---- the compiler: clang with the headers and stubs of any glibc, as PyPI's ziglang ----------------------------------
python() { "$kept/venv/bin/python" "$@"; }
tools() {
    python3 -m venv "$kept/venv"
    python -m pip install -q ziglang==0.17.1 auditwheel==6.8.2 wheel==0.45.1 || { touch "$kept/not-fetched" && return 1; }
}
once tools tools
zig=$(python -c 'import ziglang, os; print(os.path.dirname(ziglang.__file__))')/zig
for command in cc c++; do
    # without -O zig would compile and link its library of runtime checks
    printf '#!/bin/sh\nexec %q %s -target %s-linux-gnu.%s -fno-sanitize=undefined "$@"\n' "$zig" $command "$arch" $glibc \
        >"$kept/bin/$command"
done
# tells ccache that these commands, which are scripts, are clang
export CCACHE_COMPILERCHECK=content CCACHE_COMPILERTYPE=clang
unset CMAKE_CUDA_COMPILER_LAUNCHER
own=$kept/bin/cc
if [ "$arch" != "$(uname -m)" ]; then # for this machine
    own=$kept/bin/own
    printf '#!/bin/sh\nexec %q cc "$@"\n' "$zig" >"$own"
fi
for command in ar ranlib; do printf '#!/bin/sh\nexec %q %s "$@"\n' "$zig" $command >"$kept/bin/$command"; done
chmod +x "$kept"/bin/*
binutils=
[ "$arch" = "$(uname -m)" ] || binutils=$arch-linux-gnu-
command -v "${binutils}objcopy" >/dev/null || die "no ${binutils}objcopy (Debian: binutils-${arch}-linux-gnu)"
settings=(-G Ninja -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$arch" -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_C_COMPILER="$kept/bin/cc" -DCMAKE_CXX_COMPILER="$kept/bin/c++" -DCMAKE_AR="$kept/bin/ar"
    -DCMAKE_RANLIB="$kept/bin/ranlib" -DCMAKE_LINKER="$(command -v "${binutils}ld")"
    -DCMAKE_OBJCOPY="$(command -v "${binutils}objcopy")" -DCMAKE_STRIP="$(command -v "${binutils}strip")"
    -DCMAKE_FIND_ROOT_PATH="$prefix" -DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY
    -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_INSTALL_LIBDIR=lib
    -DCMAKE_C_FLAGS="-isystem $prefix/include" -DCMAKE_CXX_FLAGS="-isystem $prefix/include")

# ---- libraries, all static, from Debian's sources --------------------------------------------------------------------
# source_of PACKAGE [PATH IN IT...]: fetches Debian's source package from the first suite that the mirror has, and
# unpacks it with Debian's patches in $here/PACKAGE; with paths, unpacks only these, from the original without patches.
# apt checks the files against the archive's signature.
source_of() {
    local package=$1 suite lists apt
    shift
    mkdir -p "$kept/sources/$package"
    cd "$kept/sources/$package"
    for suite in bookworm trixie; do
        lists=$kept/sources/$suite
        mkdir -p "$lists/sources" "$lists"/{lists,cache/archives}/partial
        printf 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' \
            "${DEBIAN:-http://deb.debian.org/debian}" $suite >"$lists/sources/debian.list"
        apt=(apt-get -y -o Debug::NoLocking=1 -o Dir::Etc::sourcelist=/dev/null
            -o Dir::Etc::sourceparts="$lists/sources" -o Dir::State::lists="$lists/lists" -o Dir::Cache="$lists/cache"
            -o APT::Sandbox::User=)
        [ -e "$lists/done" ] || "${apt[@]}" -o APT::Update::Error-Mode=any update || { touch "$kept/not-fetched" && return 1; }
        touch "$lists/done"
        if "${apt[@]}" source --only-source --download-only "$package"; then
            if [ $# -eq 0 ]; then
                dpkg-source --no-check -x ./*.dsc "$here/$package"
                cp "$here/$package/debian/copyright" "$prefix/licences/$package"
            else
                mkdir "$here/$package"
                tar xf ./*.orig.tar.xz -C "$here/$package" --strip-components=1 --wildcards "${@/#/*/}"
            fi
            cd "$here/$package"
            return
        fi
        rm -f ./*
    done
    touch "$kept/not-fetched"
    return 1
}
# archive NAME OBJECTS...: makes a static library of the objects
archive() { "$kept/bin/ar" rcs "$prefix/lib/lib$1.a" "${@:2}"; }
compile=("$kept/bin/cc" -c -O2 -fPIC)
headers() { cp "$@" "$prefix/include"; }
inih() {
    source_of libinih
    "${compile[@]}" ini.c
    headers ini.h
    archive inih ini.o
}
utf8proc() {
    source_of utf8proc
    "${compile[@]}" -DUTF8PROC_STATIC utf8proc.c
    headers utf8proc.h
    archive utf8proc utf8proc.o
}
cjson() {
    source_of cjson
    "${compile[@]}" cJSON.c
    mkdir -p "$prefix/include/cjson" && cp cJSON.h "$prefix/include/cjson"
    archive cjson cJSON.o
}
zlib() {
    source_of zlib
    "${compile[@]}" -DHAVE_UNISTD_H ./*.c
    headers zlib.h zconf.h
    archive z ./*.o
}
sqlite() {
    source_of sqlite3
    ./configure --disable-tcl CC="$own" BUILD_CC="$own"
    make sqlite3.c
    "${compile[@]}" -DSQLITE_THREADSAFE=1 -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_ENABLE_COLUMN_METADATA sqlite3.c
    headers sqlite3.h
    archive sqlite3 sqlite3.o
}
sentencepiece() {
    source_of sentencepiece
    patch -R -p1 <debian/patches/disable-static-library.patch
    # Compiles each library as one unit, since most of its files are shorter than their headers. Protobuf's files define
    # macros that its headers refuse to define twice.
    local source
    for source in third_party/protobuf-lite/*.cc; do
        printf '#ifdef PROTOBUF_NAMESPACE\n#include <google/protobuf/port_undef.inc>\n#endif\n' >>"$source"
    done
    cmake -B "$here/sentencepiece-build" "${settings[@]}" -DSPM_ENABLE_SHARED=OFF -DSPM_ENABLE_TCMALLOC=OFF \
        -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=100
    # only the libraries, not the programs
    ninja -C "$here/sentencepiece-build" sentencepiece-static sentencepiece_train-static
    headers src/sentencepiece_{processor,trainer}.h
    cp "$here"/sentencepiece-build/src/*.a "$prefix/lib"
}
# Builds OpenMP's runtime, and the functions that detect instruction sets, since zig's own report none.
llvm() {
    source_of llvm-toolchain-19 openmp cmake compiler-rt/lib/builtins/cpu_model
    cmake -S openmp -B "$here/openmp-build" "${settings[@]}" -DCMAKE_INSTALL_PREFIX="$prefix" \
        -DOPENMP_STANDALONE_BUILD=ON -DLIBOMP_ENABLE_SHARED=OFF -DLIBOMP_OMPT_SUPPORT=OFF -DLIBOMP_OMPD_SUPPORT=OFF \
        -DLIBOMP_INSTALL_ALIASES=OFF -DOPENMP_ENABLE_LIBOMPTARGET=OFF \
        -DOPENMP_TEST_C_COMPILER=/none # otherwise it needs ThreadSanitizer, which zig would compile
    ninja -C "$here/openmp-build" install
    cp openmp/LICENSE.TXT "$prefix/licences/llvm"
    [ "$arch" != x86_64 ] ||
        "${compile[@]}" compiler-rt/lib/builtins/cpu_model/x86.c -o "$prefix/lib/cpu_model.o"
}
once libinih inih
once utf8proc utf8proc
once cjson cjson
once zlib zlib
once sqlite3 sqlite
once sentencepiece sentencepiece
once llvm llvm
rm -rf "$kept/sources"
exec {lock}>&-

# ---- the program -----------------------------------------------------------------------------------------------------
say "building ablate $version for $arch, glibc $glibc"
model=
[ "$arch" != x86_64 ] || model=$prefix/lib/cpu_model.o
nvcc=
[ "$arch" != "$(uname -m)" ] || [ "${ABLATE_CUDA-}" = OFF ] ||
    nvcc=$(PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin command -v nvcc || true)
cuda=(-DABLATE_CUDA=OFF)
if [ -n "$nvcc" ]; then
    toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
    cuda=(-DABLATE_CUDA=ON "-DABLATE_CUDA_GPUS=80;86;89;90" -DNVCC="$nvcc" -DCUDA_HEADER="$toolkit/include")
    [ ! -e "$toolkit/include/cublasLt.h" ] || cuda+=(-DCUBLASLT_HEADER="$toolkit/include")
    for folder in "${CUDNN_HOME:-$toolkit}/include" "${CUDNN_HOME:-$toolkit}"; do
        [ ! -e "$folder/cudnn.h" ] || cuda+=(-DCUDNN_HEADER="$folder")
    done
fi
loudly() { # LOG COMMAND...
    local log=$at/$1
    shift
    "$@" >"$log" 2>&1 </dev/null || { tail -30 "$log" >&2 && die "failed: $log"; }
}
loudly configure.log cmake -S . -B "$at/ablate" "${settings[@]}" "${cuda[@]}" -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON \
    -DOpenMP_C_FLAGS=-fopenmp -DOpenMP_C_LIB_NAMES=omp -DOpenMP_CXX_FLAGS=-fopenmp -DOpenMP_CXX_LIB_NAMES=omp \
    -DOpenMP_omp_LIBRARY="$prefix/lib/libomp.a" -DCMAKE_SKIP_RPATH=ON -DCMAKE_EXE_LINKER_FLAGS="$model"
loudly ablate.log ninja -C "$at/ablate" product
[ -z "$nvcc" ] || loudly cuda.log ninja -C "$at/ablate" ablate_cuda
rm -rf "${at:?}/$name"
loudly install.log cmake --install "$at/ablate" --strip --prefix "$at/$name"
cp -R "$prefix/licences" "$at/$name/share/doc/ablate"

# ---- checks: the program needs only libraries and symbols of the promised glibc --------------------------------------
newest=0
while read -r file; do
    head -c 4 "$file" | grep -q ELF || continue
    for found in $("${binutils}readelf" -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
        case $found in libc.so.6 | libm.so.6 | libpthread.so.0 | libdl.so.2 | librt.so.1 | ld-linux-*) ;;
        *) die "$file needs $found, which is no part of glibc" ;; esac
    done
    found=$("${binutils}readelf" -d "$file" | sed -n 's/.*(RU\?N\?R\?PATH).*\[\(.*\)\]/\1/p')
    case $found in '' | "\$ORIGIN"*) ;; *) die "$file looks for libraries in $found" ;; esac
    found=$("${binutils}readelf" -V "$file" | { grep -o 'Name: GLIBC_[0-9.]*' || true; } | sed 's/.*_//' | sort -V | tail -1)
    newest=$(printf '%s\n' "$newest" ${found:+"$found"} | sort -V | tail -1)
    [ "$(printf '%s\n' $glibc "$newest" | sort -V | tail -1)" = $glibc ] || die "$file needs GLIBC_$newest"
done < <(find "$at/$name" -type f)
[ -z "$nvcc" ] || loudly module.log bash tests/cuda/module.sh "$at/$name/bin/ablate"
say "newest symbol: GLIBC_$newest; libraries: glibc's own; no RUNPATH outside"

# ---- the packages ----------------------------------------------------------------------------------------------------
tar -C "$at" --owner=0 --group=0 --numeric-owner --sort=name -czf "$work/$name.tar.gz" "$name"
say "$work/$name.tar.gz"
# In the wheel the program is a script and all other files are data, so that pip installs the tarball's layout.
wheel=$at/wheel/ablate-$version
rm -rf "$at/wheel"
mkdir -p "$wheel.data/data" "$wheel.data/scripts" "$wheel.dist-info"
cp -a "$at/$name"/{include,lib,share} "$wheel.data/data"
cp "$at/$name/bin/ablate" "$wheel.data/scripts"
cp -a "$at/$name/lib/ablate/python/ablate" "$at/wheel" # for `import ablate`; plugins use the one in lib
cat >"$wheel.dist-info/METADATA" <<TEXT
Metadata-Version: 2.1
Name: ablate
Version: $version
Summary: Which part of a Transformer matters? Ablation studies from one INI file
License: MIT
TEXT
cat >"$wheel.dist-info/WHEEL" <<TEXT
Wheel-Version: 1.0
Generator: packaging/build.sh
Root-Is-Purelib: false
Tag: py3-none-manylinux_${glibc/./_}_$arch
TEXT
loudly wheel.log python -m wheel pack -d "$work" "$at/wheel"
made=$work/ablate-$version-py3-none-manylinux_${glibc/./_}_$arch.whl
loudly auditwheel.log python -m auditwheel show "$made"
grep -q "manylinux_${glibc/./_}_$arch\|manylinux_2_[0-9]_\|manylinux_2_1[0-9]_" <<<"$(tr -d '\n' <"$at/auditwheel.log")" ||
    { cat "$at/auditwheel.log" >&2 && die "auditwheel refuses $made"; }
say "$made"
