#!/usr/bin/env bash
# pythons.sh [SUITE]... - runs a plugin in Python with the tarball of packaging/build.sh, which must be there, on the
# Python of bare Debians and Ubuntus: 3.9 (bullseye) to 3.14 (forky); default: all six. In each, its digits must be
# those of the plugin's twin in C with the distribution's own Python, in a venv, and with Python in a folder as conda
# and as uv install it; without libpython the message must say what to install. Skipped (77) without chroots.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
source tests/chroot.bash
declare -A version=([bullseye]=3.9 [jammy]=3.10 [bookworm]=3.11 [noble]=3.12 [trixie]=3.13 [forky]=3.14)
[ $# -gt 0 ] || set -- bullseye jammy bookworm noble trixie forky
packages=(build/package/ablate-*-linux-"$(uname -m)".tar.gz)
[ -e "${packages[0]}" ] || { echo "skipped: no tarball (packaging/build.sh)" && exit 77; }

# shellcheck disable=SC2016
script='
mkdir /root/study && cd /root/study
tar xzf /root/package.tar.gz -C /root
ablate=$(echo /root/ablate-*/bin/ablate)
cat >twins.ini <<INI
[experiment]
name = twins
[base]
task = sequence
d_model = 16
layers = 1
steps = 20
feed_forward = swiglu
[variant python]
feed_forward = ./swiglu_py.py
INI
mv /root/swiglu_py.py .
! "$ablate" list plugins ./swiglu_py.py 2>said
grep "has no libpython$VERSION.so; install it (Debian: apt install libpython3-dev)" said
apt-get install -y -q --no-install-recommends libpython$VERSION python$VERSION-venv >/dev/null

# twins WHICH: both rows have the same perplexity with the Python of $PATH; keeps it for the next
twins() {
    "$ablate" run twins.ini --threads 1 --db $1.db --progress none >$1.txt
    "$ablate" query --db $1.db --format csv \
        "SELECT DISTINCT quote(value) FROM results WHERE metric = '\''PPL'\''" | tail -n +2 >>values
    echo "$VERSION: $1: $(sort -u values)"
    [ "$(sort -u values | wc -l)" = 1 ]
}
twins own
python3 -m venv venv
echo "known = 1" >venv/lib/python$VERSION/site-packages/only_there.py
sed -i "1i import only_there" swiglu_py.py
! "$ablate" list plugins ./swiglu_py.py 2>said
grep "No module named '\''only_there'\''" said
(PATH=$PWD/venv/bin:$PATH && twins venv)
sed -i 1d swiglu_py.py

# conda writes the final folder into its file of settings; uv leaves the folder in which its Python was built
library=$(echo /usr/lib/*/libpython$VERSION.so.1.0)
for layout in conda/envs/study .local/share/uv/python/cpython-$VERSION; do
    at=/root/$layout
    mkdir -p $at/bin $at/lib
    cp /usr/bin/python$VERSION $at/bin
    ln -s python$VERSION $at/bin/python3
    cp $library $at/lib
    cp -r /usr/lib/python$VERSION $at/lib
    case $layout in conda*) built=$at ;; *) built=/install ;; esac
    echo "build_time_vars.update(LIBDIR=\"$built/lib\", MULTIARCH=\"\")" |
        tee -a $at/lib/python$VERSION/_sysconfigdata_*.py >/dev/null
done
rm /usr/lib/*/libpython$VERSION*
(PATH=/root/conda/envs/study/bin:$PATH && twins conda)
/root/.local/share/uv/python/cpython-$VERSION/bin/python3 -m venv --without-pip from_uv
(PATH=/root/.local/share/uv/python/cpython-$VERSION/bin:$PATH && twins uv)
(PATH=$PWD/from_uv/bin:$PATH && twins venv_of_uv)
'
for suite; do
    echo "== $suite: Python ${version[$suite]:?bullseye, jammy, bookworm, noble, trixie or forky}"
    rc=0
    in_distro "$suite" "VERSION=${version[$suite]}$script" --include=python3 \
        --customize-hook="upload ${packages[0]} /root/package.tar.gz" \
        --customize-hook="upload tests/python/ports/swiglu_py.py /root/swiglu_py.py" || rc=$?
    [ $rc -eq 0 ] || exit $rc
done
