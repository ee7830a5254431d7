# docs/notebook.md: its Python runs as it is printed, its views are in the database. Skipped where pandas or
# pyarrow is missing: ablate needs none of them. PYTHON names another interpreter.
source "$(dirname "$0")/common.bash" "$@"
python=${PYTHON:-python3}
$python -c "import pandas, pyarrow" 2>/dev/null ||
    { echo "skipped: no pandas and pyarrow for $python here"; exit 77; }
{ tiny quick 40 && printf '[sweep grid]\ncombine = grid\nheads = 1, 2\nposition = sinusoid, none\n'; } |
    sed 's/^task = .*/task = sequence/' >quick.ini
exits 0 ablate run quick.ini --progress none --seeds 1,2
exits 0 ablate export quick -o quick
awk '/^```python/ { on = 1; next } /^```/ { on = 0 } on' "$source/docs/notebook.md" |
    sed 's/\.BLEU\./.acc./' >notebook.py
has notebook.py "import sqlite3"
exits 0 $python notebook.py
has out "mean"
has out "p_adjusted"

exits 0 ablate export quick --format csv -o csv
cat >same.py <<'PY'
import pandas as pd
for name in "runs", "results", "curves":
    a, b = pd.read_parquet(f"quick/{name}.parquet"), pd.read_csv(f"csv/{name}.csv")
    assert list(a.columns) == list(b.columns) and len(a) == len(b), name
    for column in a:
        for x, y in zip(a[column], b[column]):
            alike = (pd.isna(x) or x == "") and pd.isna(y) or str(x).lower() == str(y).lower() or float(x) == float(y)
            assert alike, (name, column, x, y)
PY
exits 0 $python same.py
for view in $($python -c "
import json
for name, t in json.load(open('$source/docs/datasette.json'))['databases']['results']['tables'].items():
    print(name)
"); do
    exits 0 ablate query "SELECT count(*) FROM \"$view\""
done
finish
