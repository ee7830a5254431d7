#!/usr/bin/env bash
# format.sh ROOT [--list] - holds the files that tests/format.list names to .clang-format, with clang-format 14 (Debian 12's). Skipped, in words, where
# that version is missing: each version formats in its own way. --list prints the files that are formatted now: a file that is
# formatted goes into the list (`bash tests/format.sh . --list >tests/format.list`) and stays so.
set -euo pipefail
cd "${1:?the folder to look at}"
if ! command -v clang-format >/dev/null; then
    echo "skipped: clang-format is not installed (apt-get install clang-format)"
    exit 77
fi
version=$(clang-format --version | grep -o 'version [0-9]*')
if [ "$version" != "version 14" ]; then
    echo "skipped: clang-format is of $version, the tree is formatted with 14"
    exit 77
fi
if [ "${2-}" = --list ]; then
    # shellcheck disable=SC2016
    git ls-files -- '*.c' '*.h' '*.cc' '*.cu' '*.cuh' '*.inc' | sort |
        xargs -P "$(nproc)" -n 1 sh -c 'clang-format --dry-run --Werror --ferror-limit=1 "$0" 2>/dev/null && echo "$0" || true' | sort
    exit
fi
while read -r file; do
    [ -e "$file" ] || { echo "tests/format.list: $file is gone; take its line away" && exit 1; }
done <tests/format.list
xargs -P "$(nproc)" -n 20 clang-format --dry-run --Werror --ferror-limit=3 <tests/format.list
echo "$(wc -l <tests/format.list) files are formatted as .clang-format says"
