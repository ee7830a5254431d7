#!/usr/bin/env bash
# usage: module.sh PROGRAM [MODULE]   - the CUDA module opens on any machine, and reports the GPUs or why no GPU is
# found.
set -u
program=$1
out=$("$program" list devices) || { echo "WRONG: devices failed: $out"; exit 1; }
echo "$out"
grep -q '^cpu ' <<<"$out" || { echo "WRONG: no CPU"; exit 1; }
if grep -q '^cuda:0 ' <<<"$out"; then
    grep -Eq 'compute capability [0-9]+\.[0-9]+, [0-9.]+ GiB' <<<"$out" || { echo "WRONG: no memory or capability"
    exit 1; }
    exit 0
fi
grep -Eq '^cuda    none: .*(driver|GPU)' <<<"$out" || { echo "WRONG: it does not say why there is no GPU"; exit 1; }
printf '[experiment]\nname = x\n[base]\ntask = sequence\nsteps = 1\n' >"${TMPDIR:-/tmp}/ablate-module-$$.ini"
words=$("$program" run "${TMPDIR:-/tmp}/ablate-module-$$.ini" --device cuda 2>&1) &&
    { echo "WRONG: --device cuda ran without a GPU: $words"; exit 1; }
rm -f "${TMPDIR:-/tmp}/ablate-module-$$.ini"
grep -q 'device cuda is not available' <<<"$words" || { echo "WRONG: it says: $words"; exit 1; }
