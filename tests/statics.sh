#!/bin/bash
# statics.sh BUILD - counts the libraries' mutable statics, which every part of a process shares. Fails above LIMIT, which only falls.
set -u
limit=67
command -v objdump >/dev/null || { echo "skipped: no objdump"; exit 77; }
found=$(for library in "$1"/libab_*.a; do
    [[ $library == *_shim.a ]] || objdump -t "$library" | awk -v library="$(basename "$library" .a)" '
        /file format/ { file = $1; sub(/:$/, "", file) }
        / O / && / \.(bss|data|tbss|tdata)/ && !/\.data\.rel\.ro/ && !/DW\.ref/ { print library, file, $NF }'
done)
count=$(grep -c . <<<"$found")
((count <= limit)) && exit 0
echo "$found"
echo "found $count mutable statics in libraries, expected at most $limit: keep state in a struct that callers pass"
exit 1
