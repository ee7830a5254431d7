#!/usr/bin/env bash
# format.sh ROOT - compares the C and C++ files with what clang-format 14 (Debian 12's) makes of them by .clang-format. Skipped, in words, where
# that version is missing: another one formats otherwise. `git ls-files` names the files, so it is a checkout that is looked at.
set -euo pipefail
cd "${1:?the folder to look at}"
if ! command -v clang-format >/dev/null; then
    echo "skipped: clang-format is not installed (apt-get install clang-format)"
    exit 77
fi
version=$(clang-format --version | grep -o 'version [0-9]*')
if [ "$version" != "version 14" ]; then
    echo "skipped: clang-format is of $version; the tree is formatted with 14, and each version formats in its own way"
    exit 77
fi
git ls-files -z -- '*.c' '*.h' '*.cc' '*.cu' '*.cuh' '*.inc' | xargs -0 -P "$(nproc)" -n 20 clang-format --dry-run --Werror --ferror-limit=3
echo "formatted as .clang-format says"
