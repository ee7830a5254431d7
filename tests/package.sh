#!/usr/bin/env bash
# package.sh ROOT [aarch64] - builds the tarball and the wheel (packaging/build.sh) and uses each as its users do. The
# tarball: the quick sweep in a Debian 11 without development packages, in a folder with blanks in its name. The wheel:
# a sweep, a plugin built with its header and the manual, in a fresh venv, and what wheel.sh does in Python. If the
# tools are installed, also the conda package or the image, chosen at random. Skipped (77) without network or what
# build.sh needs. With ABLATE_TEST_WHOLE compiler and libraries are fetched and built anew, the quick sweep is run in
# full, and both conda package and image are made. With aarch64: only the tarball for aarch64, under qemu-user (Debian:
# qemu-user proot libc6-arm64-cross), which takes half an hour.
set -euo pipefail
cd "${1:?root of the checkout}"
arch=${2:-$(uname -m)}
for tool in cmake ninja objcopy dpkg-source tclsh python3 patch mmdebstrap; do
    command -v $tool >/dev/null || { echo "skipped: no $tool" && exit 77; }
done
python3 -c 'import ensurepip, venv' 2>/dev/null || { echo "skipped: no python3-venv" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" download -q --no-deps -d "$work" wheel==0.45.1 2>/dev/null ||
    { echo "skipped: PyPI is not reached" && exit 77; }
short='-s steps=20 --seeds 1'
others=(conda_package image)
if [ -n "${ABLATE_TEST_WHOLE-}" ]; then
    export XDG_CACHE_HOME=$work/cache
    unset CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER # without a cache of compiled files
    short=
else
    others=("${others[RANDOM % 2]}")
fi
rc=0
ABLATE_CUDA=${ABLATE_CUDA-OFF} packaging/build.sh "$arch" || rc=$?
[ $rc -ne 75 ] || { echo "skipped: what build.sh needs cannot be fetched" && exit 77; }
[ $rc -eq 0 ] || exit $rc
version=$(sed -n 's/^project(ablate VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=ablate-$version-linux-$arch
wheel=$(echo build/package/ablate-"$version"-*_"$arch".whl)
if [ "$arch" != "$(uname -m)" ]; then
    for tool in proot "qemu-$arch"; do command -v "$tool" >/dev/null || { echo "skipped: no $tool" && exit 77; }; done
    mkdir "$work/a place"
    tar xzf "build/package/$name.tar.gz" -C "$work/a place"
    cd "$work/a place"
    there() { proot -0 -q "qemu-$arch -L /usr/$arch-linux-gnu" "./$name/bin/ablate" "$@"; }
    there --version
    there check attention/scaled_dot
    there run "$name/share/ablate/experiments/quick.ini" -s steps=20 --seeds 1
    there table quick | grep 'position=none'
    exit
fi

echo "the wheel"
"$work/venv/bin/pip" install -q "$wheel" ziglang==0.17.1
(
    PATH=$work/venv/bin:$PATH
    cd "$work"
    ablate --version
    ablate list plugins >plugins
    grep -q '^attention/scaled_dot' plugins
    printf "%s\n" "[experiment]" "name = tiny" "[base]" "task = sequence" "d_model = 16" "layers = 1" "steps = 20" >tiny.ini
    ablate run tiny.ini
    ablate table table3 >table
    ablate new attention mine
    ablate check ./mine.c # finds the header in the program's own folder
    mkdir zig
    ln -s "$(python -c 'import ziglang; print(ziglang.__path__[0])')/zig" zig
    rm mine.so
    PATH=$work/zig "$work/venv/bin/ablate" list plugins ./mine.c # no other compiler on PATH
    [ -s "$work/venv/include/ab_plugin.h" ] && [ -s "$work/venv/share/man/man1/ablate.1" ]
    ! command -v man >/dev/null || [ "$(man -w ablate)" = "$work/venv/share/man/man1/ablate.1" ]
)

rc=0
bash tests/wheel.sh "$PWD" "$wheel" $short || rc=$?
[ $rc -eq 0 ] || [ $rc -eq 77 ] || exit $rc

echo "the tarball"
source tests/chroot.bash
rc=0
in_distro bullseye "
    mkdir -p '/root/a place'
    cd '/root/a place'
    tar xzf /root/package.tar.gz
    mkdir study
    cd study
    set -- '../$name/bin/ablate'
    \"\$1\" --version
    \"\$1\" new attention mine
    ! \"\$1\" check ./mine.c >said 2>&1
    grep 'no C compiler: found none of cc, gcc, clang, tcc and zig; install one' said
    \"\$1\" run '../$name/share/ablate/experiments/quick.ini' $short
    \"\$1\" table quick | grep 'position=none'
" --customize-hook="upload build/package/$name.tar.gz /root/package.tar.gz" || rc=$?
[ $rc -ne 77 ] || { echo "skipped: no chroot can be made" && exit 77; }
[ $rc -eq 0 ] || exit $rc

conda_package() {
    if "$work/venv/bin/pip" install -q py-rattler-build==0.73.0 py-rattler==0.28.0 2>"$work/said"; then
        "$work/venv/bin/python" tests/conda.py packaging/conda/recipe.yaml "$work/conda" "$work/environment"
        (cd "$work" && "$work/environment/bin/ablate" --version)
    else
        echo "skipped: $(tail -1 "$work/said")"
    fi
}
image() {
    if command -v buildah >/dev/null; then
        here() { buildah --storage-driver vfs --root "$work/image/root" --runroot "$work/image/run" "$@"; }
        apt-config dump | grep -E '^Acquire::(http|https|Check|Retries|ForceIPv)' >"$work/apt.conf" || true
        mmdebstrap --quiet --variant=apt --aptopt="$work/apt.conf" trixie "$work/trixie.tar" "$(archive)"
        made=$(here from scratch) # makes the base image itself, as the registry may be unreachable
        here add -q "$made" "$work/trixie.tar" / >/dev/null
        here commit -q "$made" docker.io/library/debian:13-slim >/dev/null
        here build --isolation chroot --pull-never -f packaging/Containerfile -t ablate . >"$work/said" 2>&1 ||
            { cat "$work/said" && exit 1; }
        made=$(here from --pull-never localhost/ablate)
        here run --isolation chroot "$made" -- sh -eux -c '
            ablate --version
            ablate new attention mine
            ablate check ./mine.c | grep "future .*ok"
            ablate run /opt/ablate-*/share/ablate/experiments/quick.ini -s steps=20 --seeds 1 | grep "position=none"'
    else
        echo "skipped: no buildah"
    fi
}
for other in "${others[@]}"; do
    echo "the ${other/_/ }"
    "$other"
done
