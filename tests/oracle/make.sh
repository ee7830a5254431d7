#!/usr/bin/env bash
# make.sh [PYTHON] - writes all golden numbers of tests/ again, compares them with the committed ones and leaves the new
# ones in place. Without PYTHON it makes an environment in build/oracle with the packages that the scripts import (from
# PyPI; torch is large). Exit code 1 if a text differs, or a number by more than one part in 10^6. The program draws the
# examples of tasks.txt, so build `ninja -C build test_task_examples` first; without it tasks.txt is left out.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")"
root=$(cd ../.. && pwd)
python=${1:-$root/build/oracle/bin/python}
if [ $# -eq 0 ] && [ ! -e "$root/build/oracle/whole" ]; then
    python3 -m venv "$root/build/oracle"
    "$python" -m pip -q install numpy scipy statsmodels torch timm schedulefree sacrebleu regex tokenizers
    touch "$root/build/oracle/whole"
fi
unit=$root/tests/unit
files=(golden/{post,pre,odd,others,attention,optimizers,optimizers_plain,plugins,schedules}.txt
    "$unit"/statistics/statistics_scipy.tsv "$unit"/metric/{bleu,chrf_ter}_golden.tsv "$unit"/tokens/wordpiece_golden.tsv)
before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
cp "${files[@]}" "$before"
for script in golden attention plugins schedules; do "$python" $script.py >/dev/null; done
# write SCRIPT FILE [OPTION]: the file stays as it is if the script fails
write() { "$python" ${3-} "$1.py" >"$before/new" && cat "$before/new" >"$2"; }
task_test=$root/build/test_task_examples
if [ -x "$task_test" ]; then
    files+=(golden/tasks.txt)
    cp golden/tasks.txt "$before"
    "$python" tasks.py "$task_test"
else
    echo "tasks.txt: left out, $task_test is not built"
fi
write optimizers golden/optimizers.txt
write optimizers_plain golden/optimizers_plain.txt
write statistics "$unit/statistics/statistics_scipy.tsv" -P
write bleu_golden "$unit/metric/bleu_golden.tsv" -P
write chrf_ter_golden "$unit/metric/chrf_ter_golden.tsv" -P
write wordpiece "$unit/tokens/wordpiece_golden.tsv"
"$python" - "$before" "${files[@]}" <<'PY'
import math
import os
import re
import sys

def words(path):
    return re.split(r"[\s,:=]+", open(path, encoding="utf-8").read())

def number(word):
    try:
        return float(word)
    except ValueError:
        return None

bad = 0
for path in sys.argv[2:]:
    old, new = words(os.path.join(sys.argv[1], os.path.basename(path))), words(path)
    worst, text = 0.0, abs(len(old) - len(new))
    for a, b in zip(old, new):
        x, y = number(a), number(b)
        if a == b or (x is not None and y is not None and (x == y or (math.isnan(x) and math.isnan(y)))):
            continue
        if x is None or y is None:
            text += 1
        else:
            apart = abs(x - y) / max(abs(x), abs(y), 1e-9)
            worst = max(worst, apart if math.isfinite(apart) else math.inf)
    bad |= text > 0 or worst > 1e-6
    print(f"{os.path.basename(path)}: {len(new)} words, {text} other texts, numbers within {worst:.1g}")
sys.exit(bad)
PY
