#!/usr/bin/env bash
# format.sh ROOT - checks every C and CUDA file against .clang-format with clang-format 14 (Debian 12's), since other
# versions format differently. Skipped with a message if that version is missing.
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
files() { find core plugins tests bench -name '*.c' -o -name '*.h' -o -name '*.cc' -o -name '*.cu' -o -name '*.inc'; }
files | xargs -P "$(nproc)" -n 20 clang-format --dry-run --Werror --ferror-limit=3
echo "$(files | wc -l) files match .clang-format"
