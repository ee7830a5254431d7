#!/usr/bin/env bash
# docs/python.md: each block runs as printed, as does the README's plugin. Results in Python: figures, messages about
# mistakes, and DataFrames, Parquet, W&B and notebooks if their packages are installed. PYTHON names another
# interpreter.
source "$(dirname "$0")/common.bash" "$@"
python=${PYTHON:-python3}
export ABLATE_PROGRAM=$program PYTHONPATH=$source/python PYTHONDONTWRITEBYTECODE=1
$python -c 'import sys; sys.exit(sys.version_info < (3, 9))' || { echo "skipped: no Python 3.9 here"; exit 77; }
# block WORD N FILE: prints the Nth block of that language
block() { awk -v want="\`\`\`$1" -v nth="$2" '/^```$/ { on = 0 } on { print } $0 == want { on = ++n == nth }' "$3"; }
exits 0 $python "$source/python/generate.py" --check
exits 0 $python "$source/tests/python/words.py" "$source"

page=$source/docs/python.md
block python 1 "$page" >cosine.py
block ini 1 "$page" >cosine.ini
block sh 1 "$page" >commands
block python 2 "$page" | sed 's/"cosine.ini"/"cosine.ini", threads=1/' >results.py
equal "$(grep -c . cosine.py) $(grep -c . commands) $(($(grep -c . results.py) > 5))" "7 1 1" "lines of blocks"
ablate list plugins ./cosine.py >out 2>err || {
    grep -q "needs Python" err && sed 's/^/skipped: /' err && exit 77
}
exits 0 bash -c "ablate() { '$program' \"\$@\"; }; $(cat commands)"
exits 0 $python results.py
has out "colder"
has out "wide"
has out "better"
has out "Δ"
[ -s cosine.svg ] || wrong "no cosine.svg"
block python 1 "$source/README.md" >tenth.py
exits 0 ablate check ./tenth.py

echo "in a notebook"
cat >notebook.py <<'PY'
import ablate as ab
t = ab.table("cosine")
assert "<table><tr><th>row</th>" in t._repr_html_() and "<td>colder</td>" in t._repr_html_(), t._repr_html_()
assert ab.plot("cosine")._repr_svg_().startswith("<svg"), "no SVG"
assert "<td>base</td>" in ab.query("SELECT row FROM cosine")._repr_html_()
runs, curves = ab.runs("cosine"), ab.curves("cosine")
assert len(runs) == 6 and {r["heads"] for r in runs} == {2}, runs
assert runs["row"].count("colder") == 2, runs["row"]
assert {type(p["value"]) for p in curves} <= {float, int, type(None)} and len(curves) > 6, curves
def refused(call, words):
    try:
        call()
    except (ab.Error, AttributeError) as error:
        assert words in str(error), (words, str(error))
    else:
        raise AssertionError(f"not refused: {words}")
refused(lambda: ab.table("cosin"), 'found no experiment "cosin"; did you mean "cosine"?')
refused(lambda: ab.query("SELEC"), "syntax error")
refused(lambda: ab.plot("cosine", over="hades"), "no row of cosine changes this key; expected one of: attention")
refused(lambda: ab.curves("cosine", metric="dev_PLP"), "found no metric 'dev_PLP', expected one of")
refused(lambda: ab.plto, "ablate has no 'plto'; did you mean 'plot'?")
refused(lambda: runs["sed"], "found no column 'sed'")
refused(lambda: ab.run("none.ini", progress="none"), "ablate run ended with exit code")
refused(lambda: ab.judge([], row="model", metric="acc"), "judge: found no record, expected one for each run")
refused(lambda: ab.judge([dict(model="a", acc=1)], row="modle", metric="acc"),
        "judge: row='modle': found no such column among model, acc; did you mean 'model'?")
print("all of it")
PY
exits 0 $python notebook.py
has out "all of it"

echo "judge: what import says of the same records"
cat >judge.py <<'PY'
import csv, random, sys
import ablate as ab
chance = random.Random(1)
records = [dict(system=s, run=r, doc=d, score=round(chance.random() / 4 + 0.1 * (s == "new"), 3))
           for s in ("old", "new") for r in (1, 2, 3) for d in range(30)]
with open("mine.csv", "w", newline="") as file:
    out = csv.DictWriter(file, records[0])
    out.writeheader()
    out.writerows(records)
if sys.argv[1:] == ["pandas"]:
    import pandas
    records = pandas.DataFrame(records)
t = ab.judge(records, row="system", seed="run", metric="score", example="doc", base="old", name="mine")
print(*(line for line in str(t).splitlines() if not line.startswith("Imported from")), sep="\n")
PY
exits 0 $python judge.py
cp out judged
exits 0 ablate import mine.csv --as mine --row system --seed run --metric score --example doc --base old \
    --higher-is-better score
exits 0 ablate table mine
grep -v '^Imported from' out >imported
equal "$(cat judged)" "$(cat imported)" "the table of judge"
has judged "new"

if $python -c 'import pandas, pyarrow' 2>/dev/null; then
    echo "pandas and Parquet"
    exits 0 $python judge.py pandas
    equal "$(cat out)" "$(cat imported)" "the table of a DataFrame"
    cat >frames.py <<'PY'
import pandas as pd
import ablate as ab
ab.to_parquet("parquet", "cosine")
for name in "runs", "results", "curves":
    a, b = pd.read_parquet(f"parquet/{name}.parquet"), pd.read_csv(f"csv/{name}.csv")
    assert list(a.columns) == list(b.columns) and len(a) == len(b), name
    for column in a:
        for x, y in zip(a[column], b[column]):
            alike = (pd.isna(x) or x == "") and pd.isna(y) or str(x).lower() == str(y).lower() or float(x) == float(y)
            assert alike, (name, column, x, y)
assert len(ab.runs("cosine").to_pandas()) == 6
PY
    exits 0 ablate export cosine -o csv
    exits 0 $python frames.py
fi
if $python -c 'import wandb' 2>/dev/null; then
    echo "W&B"
    exits 0 env WANDB_MODE=offline WANDB_SILENT=true $python -c \
        'import ablate as ab; assert ab.to_wandb("project", "cosine") == 6, "six runs"'
    equal "$(echo wandb/offline-run-*/run-*.wandb | wc -w)" 6 "runs for W&B"
fi
for view in $($python -c "
import json
for name, t in json.load(open('$source/docs/datasette.json'))['databases']['results']['tables'].items():
    print(name)
"); do
    exits 0 ablate query "SELECT count(*) FROM \"$view\""
done
finish
