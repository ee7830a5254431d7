# gpu_report.sh - sourced by gpu.sh: writes the report from the parts in $out. Uses gpu.sh's variables.

report() {
    [ -n "$sampler" ] && kill "$sampler" 2>/dev/null && wait "$sampler" 2>/dev/null
    sampler=
    awk -F'\t' '$2 == "skipped" {skipped = skipped "\n  " $6; next} $2 != 0 && $2 != 77 {failed = failed "\n  rc " $2 "  " $6}
        END {print NR " parts" (failed ? "\nfailed:" failed : ", none failed") (skipped ? "\nno time was left for:" skipped : "")}' "$out/parts.tsv" |
        tee "$out/report.txt"
    "$python" -c '' 2>/dev/null || { echo "no Python here: bench/gpu_table.py makes the table from $out elsewhere"
    return; }
    local csv
    for csv in "$out"/ncu-*.csv; do
        [ -s "$csv" ] && { echo "${csv##*/}"; "$python" "$here/gpu_counters.py" "$csv"; } >"${csv%.csv}.txt" 2>&1
    done
    "$python" "$here/gpu_table.py" "$out" "$lengths" "$out/results.json" ${BEFORE:+"$BEFORE"} | tee "$out/table.txt"
}
