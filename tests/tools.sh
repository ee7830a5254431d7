#!/usr/bin/env bash
# tools.sh - installs what some tests are skipped for: LaTeX, Chromium, shells and a compiler for aarch64 as packages
# (root on Debian), and Python packages in build/tools, whose python those tests take from $PYTHON. Says what cannot be
# had; exit code 1 then.
set -uo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.." || exit 1
rc=0
mkdir -p build
missing=()
while read -r command packages; do
    # shellcheck disable=SC2206 # a list
    command -v "$command" >/dev/null || missing+=($packages)
done <<'NEEDS'
zsh zsh
fish fish
pdflatex texlive-latex-recommended
chromium chromium
aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu libc6-dev-arm64-cross
qemu-aarch64 qemu-user
NEEDS
apt=(timeout 300 env DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=300)
if [ ${#missing[@]} -gt 0 ]; then
    { "${apt[@]}" update && "${apt[@]}" install --no-install-recommends "${missing[@]}"; } >build/tools.log 2>&1 ||
        { echo "tools.sh: cannot install ${missing[*]}: $(tail -1 build/tools.log)" && rc=1; }
fi
if [ ! -e build/tools/whole ]; then
    { python3 -m venv build/tools && timeout 300 build/tools/bin/pip -q install nbclient ipykernel nbconvert numpydoc \
        mypy pandas pandas-stubs pyarrow && touch build/tools/whole; } >build/tools.log 2>&1 ||
        { echo "tools.sh: cannot install Python packages: $(tail -1 build/tools.log)" && rc=1; }
fi
exit $rc
