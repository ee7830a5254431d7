#!/usr/bin/env bash
# deb.sh SUITE - tests the Debian package: builds it in a bare Debian of that suite from a clone of the current commit,
# installs the package in another bare Debian, runs the quick sweep there, prints the paper's Table 3, and compiles a
# plugin against it. For bookworm or trixie; see chroot.bash.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
source tests/chroot.bash
suite=${1:?bookworm or trixie}

OUT=$(mktemp -d)
trap 'rm -rf "'"$OUT"'"' EXIT
git bundle create -q "$OUT/ablate.bundle" HEAD
in_distro "$suite" "
    git clone -q /root/ablate.bundle /root/ablate
    cd /root/ablate
    ./ablate list plugins >/root/plugins
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends dpkg-dev file
    (cd build && cpack)
    mkdir /root/out
    mv build/*.deb /root/out" --include=git,ca-certificates \
        --customize-hook="upload $OUT/ablate.bundle /root/ablate.bundle"
built=$OUT/out
deb=$(cd "$built" && echo *.deb)
dpkg-deb --info "$built/$deb"
unset OUT

# shellcheck disable=SC2016
in_distro "$suite" '
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends /root/'"$deb"'
    mkdir /root/study && cd /root/study
    ablate run /usr/share/ablate/experiments/quick.ini
    ablate table table3
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends gcc libc6-dev pkg-config
    ablate run /usr/share/ablate/experiments/quick.ini --dry-run >/dev/null
    cc -shared $(pkg-config --cflags ablate) /root/mine.c -o mine.so
    ablate check ./mine.so' \
    --customize-hook="upload $built/$deb /root/$deb" --customize-hook="upload $PWD/plugins/attention/dot.c /root/mine.c"
echo "$suite: $deb installs and works"
