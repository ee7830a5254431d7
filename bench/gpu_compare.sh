#!/usr/bin/env bash
# Comparisons for bench/gpu.sh; each prints its subject and fails if there is a difference.
#
# usage: gpu_compare.sh models A.db B.db                 compares the models of A's runs with those of B's byte by byte
#        gpu_compare.sh ppl ABLATE RUN.db RECORD.json    base's dev perplexity differs from a recorded experiment's by
#        at most 5 %
#        gpu_compare.sh outputs FILE...                  outputs of `ablate-bench decode`: equal in all files
set -u
ppl_of() { # ABLATE DATABASE: prints base's dev perplexity
    "$1" query --format csv --db "$2" \
        "SELECT value FROM results WHERE variant = 'base' AND metric = 'PPL' AND value IS NOT NULL LIMIT 1" | tail -1
}
case ${1-} in
models)
    n=0
    for model in "$2".runs/*/*/model.safetensors; do
        cmp "$model" "$3.runs/${model#"$2".runs/}" || exit 1
        n=$((n + 1))
    done
    echo "every byte of the two models is the same ($n compared)"
    ;;
ppl)
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    "$2" import "$4" --db "$folder/record.db" >/dev/null || exit 1
    awk -v here="$(ppl_of "$2" "$3")" -v recorded="$(ppl_of "$2" "$folder/record.db")" 'BEGIN {
        if (!(here > 0 && recorded > 0)) {print "dev PPL \"" here "\" here, \"" recorded "\" recorded: expected two numbers"; exit 1}
        printf "dev PPL %.4f here, %.4f recorded: %.4f times\n", here, recorded, here / recorded
        exit !(here / recorded > 0.95 && here / recorded < 1.05)}'
    ;;
outputs)
    shift
    sed -n 's/.*"what":"decode".*"batch":\([0-9]*\),.*"outputs":"\([0-9a-f]*\)".*/batch \1: outputs \2/p' "$@" |
        awk '{print; n++; if (n > 1 && $NF != last) bad = 1; last = $NF} END {exit bad || n != ARGN}' ARGN=$#
    ;;
*) sed -n 's/^# usage: /usage: /p; s/^#        gpu/       gpu/p' "$0" >&2; exit 2 ;;
esac
