#!/usr/bin/env bash
# distro.sh [--user] SUITE [COMMAND] - tests the README on a bare Debian: in a chroot with only git and a clone of the
# current commit, runs the README's two commands, or COMMAND instead (such as './ablate run experiments/quick.ini').
# --user: as a normal user without sudo, and without apt's lists, runs the first command only, then checks a plugin.
# SUITE is bookworm (Debian 12) or trixie (13). Takes about half an hour on two cores; see chroot.bash for what it
# needs.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
source tests/chroot.bash
user=root at=/root
[ "${1-}" != --user ] || { user=normal at=/home/normal && shift; }
suite=${1:?bookworm or trixie}
command='./ablate run experiments/quick.ini && ./ablate test'
[ $user = root ] || command='./ablate run experiments/quick.ini && ./ablate check plugins/attention/dot.c'
command=${2:-$command}

bundle=$(mktemp -d)
trap 'rm -rf "$bundle"' EXIT
git bundle create -q "$bundle/ablate.bundle" HEAD
as_user=
[ $user = root ] || as_user='rm -rf /var/lib/apt/lists/* && useradd -m normal'
in_distro "$suite" "
    $as_user
    su $user <<'SCRIPT'
set -eux
git clone -q /srv/ablate.bundle $at/ablate
cd $at/ablate
cat /etc/debian_version
$command
SCRIPT" --include=git,ca-certificates,passwd --customize-hook="upload $bundle/ablate.bundle /srv/ablate.bundle" \
    --customize-hook='chmod 755 "$1" && chmod 644 "$1/srv/ablate.bundle"'
echo "$suite, $user: passed at $(git log -1 --format=%h): $command"
