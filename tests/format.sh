#!/usr/bin/env bash
# format.sh ROOT [--list] - checks the files in tests/format.list against .clang-format with clang-format 14 (Debian 12's). Skipped with a
# message if that version is missing, because versions format differently. --list prints the files that are formatted now; add a formatted
# file to the list (`bash tests/format.sh . --list >tests/format.list`).
set -euo pipefail
cd "${1:?the folder to look at}"
if ! command -v clang-format >/dev/null; then
    echo "skipped: clang-format is not installed (apt-get install clang-format)"
    exit 77
fi
version=$(clang-format --version | grep -o 'version [0-9]*')
if [ "$version" != "version 14" ]; then
    echo "skipped: found clang-format $version, expected version 14"
    exit 77
fi
if [ "${2-}" = --list ]; then
    # shellcheck disable=SC2016
    git ls-files -- '*.c' '*.h' '*.cc' '*.cu' '*.cuh' '*.inc' | sort |
        xargs -P "$(nproc)" -n 1 sh -c 'clang-format --dry-run --Werror --ferror-limit=1 "$0" 2>/dev/null && echo "$0" || true' | sort
    exit
fi
while read -r file; do
    [ -e "$file" ] || { echo "tests/format.list: $file does not exist; remove its line" && exit 1; }
done <tests/format.list
xargs -P "$(nproc)" -n 20 clang-format --dry-run --Werror --ferror-limit=3 <tests/format.list
echo "$(wc -l <tests/format.list) files match .clang-format"
