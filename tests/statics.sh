#!/bin/bash
# statics.sh BUILD - counts the mutable static variables in the product's C libraries. All code in a process shares such
# variables, so there should be few. The tests' emulations of a GPU (gpu, ptx, races_*) do not count. Fails above LIMIT,
# which may only fall.
set -u
limit=28
command -v objdump >/dev/null || { echo "skipped: no objdump"; exit 77; }
found=$(for library in "$1"/libab_*.a; do
    [[ $library =~ _(shim|gpu|ptx|races_.*)\.a$ ]] || objdump -t "$library" | awk -v library="$(basename "$library" .a)" '
        /file format/ { file = $1; sub(/:$/, "", file) }
        / O / && / \.(bss|data|tbss|tdata)/ && !/\.data\.rel\.ro/ && !/DW\.ref/ { print library, file, $NF }'
done)
count=$(grep -c . <<<"$found")
((count <= limit)) && exit 0
echo "$found"
echo "found $count mutable statics in libraries, expected at most $limit: keep state in a struct that callers pass"
exit 1
