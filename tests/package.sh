#!/usr/bin/env bash
# package.sh ROOT - builds the tarball and the wheel (packaging/build.sh) and uses them as a stranger does. The tarball:
# in a Debian 11 without any development package, in a folder with blanks in its name, the quick sweep. The wheel: in a
# fresh venv, a sweep, a plugin built with its header, the manual. Skipped (77) without network or what build.sh needs.
set -euo pipefail
cd "${1:?root of the checkout}"
for tool in cmake ninja objcopy dpkg-source tclsh python3 patch mmdebstrap; do
    command -v $tool >/dev/null || { echo "skipped: no $tool" && exit 77; }
done
python3 -c 'import ensurepip, venv' 2>/dev/null || { echo "skipped: no python3-venv" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" download -q --no-deps -d "$work" wheel==0.45.1 2>/dev/null ||
    { echo "skipped: PyPI is not reached" && exit 77; }
rc=0
ABLATE_CUDA=${ABLATE_CUDA-OFF} packaging/build.sh "$(uname -m)" || rc=$?
[ $rc -ne 75 ] || { echo "skipped: what build.sh needs cannot be fetched" && exit 77; }
[ $rc -eq 0 ] || exit $rc
version=$(sed -n 's/^project(ablate VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=ablate-$version-linux-$(uname -m)
wheel=$(echo build/package/ablate-"$version"-*_"$(uname -m)".whl)

echo "the wheel"
"$work/venv/bin/pip" install -q "$wheel" ziglang==0.17.1
(
    PATH=$work/venv/bin:$PATH
    cd "$work"
    ablate --version
    ablate plugins >plugins
    grep -q '^attention/scaled_dot' plugins
    printf "%s\n" "[experiment]" "name = tiny" "[base]" "task = sequence" "d_model = 16" "layers = 1" "steps = 20" >tiny.ini
    ablate run tiny.ini
    ablate table table3 >table
    ablate new attention mine
    ablate check ./mine.c # finds the header beside the program
    mkdir zig
    ln -s "$(python -c 'import ziglang; print(ziglang.__path__[0])')/zig" zig
    rm mine.so
    PATH=$work/zig "$work/venv/bin/ablate" plugins ./mine.c # no other compiler
    [ -s "$work/venv/include/ab_plugin.h" ] && [ -s "$work/venv/share/man/man1/ablate.1" ]
    ! command -v man >/dev/null || [ "$(man -w ablate)" = "$work/venv/share/man/man1/ablate.1" ]
)

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
    \"\$1\" run '../$name/share/ablate/experiments/quick.ini'
    \"\$1\" table quick | grep 'position=none'
" --customize-hook="upload build/package/$name.tar.gz /root/package.tar.gz" || rc=$?
[ $rc -ne 77 ] || echo "skipped: no chroot can be made"
exit $rc
