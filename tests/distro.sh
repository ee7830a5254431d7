#!/usr/bin/env bash
# distro.sh SUITE [COMMAND] - tests the README on a bare Debian: in a chroot with only git and a clone of the current commit, runs the
# README's two commands, or COMMAND instead (such as './ablate run experiments/quick.ini').
# SUITE is bookworm (Debian 12) or trixie (13). Takes about half an hour on two cores; see chroot.bash for what it needs.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
source tests/chroot.bash
suite=${1:?bookworm or trixie}
command=${2:-./ablate run experiments/quick.ini && ./ablate test}

bundle=$(mktemp -d)
trap 'rm -rf "$bundle"' EXIT
git bundle create -q "$bundle/ablate.bundle" HEAD
in_distro "$suite" "
    git clone -q /root/ablate.bundle /root/ablate
    cd /root/ablate
    cat /etc/debian_version
    $command" --include=git,ca-certificates --customize-hook="upload $bundle/ablate.bundle /root/ablate.bundle"
echo "$suite: passed at $(git log -1 --format=%h): $command"
