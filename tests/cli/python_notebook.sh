#!/usr/bin/env bash
# A notebook, executed cell by cell: docs/python.md's plugin and sweep with the progress bar, tables in HTML, a chart in SVG,
# DataFrames, and what a wrong shape, axis and name say (transcripts). PYTHON names an interpreter with nbclient and
# ipykernel.
source "$(dirname "$0")/common.bash" "$@"
python=${PYTHON:-python3}
for module in nbclient ipykernel; do
    $python -c "import $module" 2>/dev/null || { echo "skipped: $python has no $module (pip install $module)" && exit 77; }
done
export ABLATE_PROGRAM=$program PYTHONPATH=$source/python PYTHONDONTWRITEBYTECODE=1 HOME=$work
export PYDEVD_DISABLE_FILE_VALIDATION=1
block() { awk -v want="\`\`\`$1" -v nth="$2" '/^```$/ { on = 0 } on { print } $0 == want { on = ++n == nth }' "$source/docs/python.md"; }
block python 1 >cosine.txt
block ini 1 | sed 's/^seeds = .*/seeds = 1/' >sweep.txt
ablate list plugins "$source/tests/python/ports/wsd_py.py" >out 2>err || {
    grep -q "needs Python" err && sed 's/^/skipped: /' err && exit 77
}
# write FILE FILE2: a cell that writes FILE2 into FILE
write() { printf '# %%%%\n%%%%writefile %s\n' "$1" && cat "$2"; }
{
    write cosine.py cosine.txt
    write cosine.ini sweep.txt
    cat <<'PY'
# %%
import ablate as ab
ab.run("cosine.ini", threads=1)
# %%
ab.query("SELECT row, n FROM cosine")
# %%
ab.plot("cosine", forest=True)
# %%
ab.judge([dict(model=m, seed=s, acc=0.6 + s / 100 + (m == "wide") / 10) for m in ("base", "wide") for s in range(5)],
         row="model", seed="seed", metric="acc", base="base")
# %%
help(ab.Context.scores)
PY
} >cells
exits 0 $python "$source/tests/python/execute.py" cells executed.ipynb
cp out page
hasnt page "Error:"
has page '[3] text/html: <progress value=3 max=3></progress> 3 done'
has page '[3] text/html: <table><tr><th>row</th>'
has page '<td>colder</td>'
has page '[4] text/html: <table><tr><th>row</th><th>n</th></tr>'
has page '[5] image/svg+xml: <svg'
has page '[6] text/html: <table>'
has page '<td>wide</td>'
has page 'Factor of the products of queries and keys.'
if $python -c 'import nbconvert' 2>/dev/null; then
    exits 0 $python -m nbconvert --to html --log-level ERROR executed.ipynb
    equal "$(grep -c '<td>colder</td>\|data-mime-type="image/svg+xml"' executed.html)" 3 "lines with the row, in two tables, and a chart"
fi

echo "a shape, an axis and a name that are wrong: transcripts of a notebook"
{ tiny wrong 20 && echo 'attention = ./wrong.py'; } >tiny.txt
# transcript LINE TEXT: LINE stands after the projections
transcript() {
    sed "s|^    return|    $1\n    return|; s/def cosine/def wrong/" cosine.txt >wrong.txt
    {
        write wrong.py wrong.txt
        write wrong.ini tiny.txt
        printf '# %%%%\nimport ablate as ab\nab.run("wrong.ini", threads=1)\n'
    } >cells
    exits 0 $python "$source/tests/python/execute.py" cells failed.ipynb
    equal "$(sed -n "s/^\[3\] Error: //p" out | sed "s|$work/||")" "no estimate: no row could be estimated
ablate run: no row can be trained; the first: wrong.py:$2" "transcript of $1"
}
transcript 'q = q @ k' '9: matmul: inner widths 8 and 4 differ: [2,2,4,8] times [2,2,4,8]'
transcript 'q = q / q.sum(4)' '9: sum: axis 4, expected -4 to 3, or -1 for the last'
transcript 'q = c.sofmax(q)' "9: AttributeError: the context has no 'sofmax'; did you mean 'softmax'?"
finish
