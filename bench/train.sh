#!/usr/bin/env bash
# Training speed of ablate and PyTorch on this machine: both alternately, medians of the repeats, one table and one JSON
# line each.
#
# usage: bench/train.sh PYTHON LENGTHS [REPEATS [SECONDS [CONFIG...]]]
#   PYTHON   an interpreter with a recent torch
#   LENGTHS  one batch per line, src:tgt pairs in tokens (bench/make_lengths.py makes it from text files)
#   CONFIG   tiny, small, base (all three), table3-quarter, table3-core
# Modes of the rival: $TORCH_MODES (train_torch.py has the list); threads: $THREADS (2).
set -eu
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
python=$1 lengths=$2 repeats=${3:-3} seconds=${4:-10}
shift $(($# > 4 ? 4 : $#))
configs=${*:-tiny small base}
threads=${THREADS:-2}
modes="bf16-compile-packed autocast-compile-packed bf16-eager-packed fp32-compile-packed fp32-eager-packed"
modes=${TORCH_MODES:-$modes}
program=${ABLATE_BENCH:-$here/../build/ablate-bench} # `ninja -C build ablate-bench` makes it
out=$(mktemp)
for repeat in $(seq "$repeats"); do
    for config in $configs; do
        for precision in bf16 fp32; do
            vocab=(--vocab 10000)
            [[ $config != table3-* ]] || vocab=() # with the experiment's own vocabulary
            "$program" train "${vocab[@]}" --lengths "$lengths" --config "$config" --precision $precision \
                --seconds "$seconds" --threads "$threads" | tee -a "$out"
        done
        for mode in $modes; do
            "$python" "$here/train_torch.py" --lengths "$lengths" --config "$config" --mode "$mode" --seconds \
                "$seconds" --steps 5 --threads "$threads" 2>/dev/null | tee -a "$out"
        done
    done
done
"$python" - "$out" <<'PY'
import json, statistics, sys
rows = {}
for line in open(sys.argv[1]):
    r = json.loads(line)
    rows.setdefault((r["config"], r.get("who", "torch"), r["mode"]), []).append(r)
speed = lambda k: statistics.median(r["tokens_per_s"] for r in rows[k])
print(f"{'config':7}{'who':8}{'mode':26}{'tokens/s':>10}{'ms/step':>10}{'MB':>8}{'n':>4}")
for k in rows:
    m = lambda f: statistics.median(r[f] for r in rows[k])
    print(f"{k[0]:7}{k[1]:8}{k[2]:26}{speed(k):10.0f}{m('ms_per_step'):10.1f}{m('peak_rss_mb'):8.0f}{len(rows[k]):4}")
for c in dict.fromkeys(k[0] for k in rows):
    for kind in ("bf16", "fp32"):
        theirs = [k for k in rows if k[0] == c and k[1] != "ablate" and (k[2].startswith("fp32") == (kind == "fp32"))]
        if theirs and (c, "ablate", kind) in rows:
            best = max(theirs, key=speed)
            print(f"{c} {kind}: ablate / {best[2]} = {speed((c, 'ablate', kind)) / speed(best):.2f}")
PY
rm -f "$out"
