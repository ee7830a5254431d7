#!/usr/bin/env bash
# wheel.sh ROOT WHEEL [OPTION...] - installs the wheel in a fresh venv and uses it from Python: the quick sweep with
# these options, a plugin in Python, and a notebook that trains and shows both. Prints how long it took. Called by
# tests/package.sh. Skipped (77) where PyPI is not reached or this Python has no library.
set -euo pipefail
root=$(realpath "${1:?root of the checkout}") wheel=$(realpath "${2:?wheel}")
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset PYTHONPATH ABLATE_PROGRAM ABLATE_PYTHON ABLATE_DB ABLATE_DATA
export ABLATE_HOME=$work/home PYDEVD_DISABLE_FILE_VALIDATION=1
began=$SECONDS
python3 -m venv venv
PATH=$work/venv/bin:$PATH
pip install -q --disable-pip-version-check nbclient ipykernel || { echo "skipped: PyPI is not reached" && exit 77; }
pip install -q --disable-pip-version-check --no-index "$wheel"
[ "$(command -v ablate)" = "$work/venv/bin/ablate" ]
python -c 'import ablate; assert ablate.__file__.startswith("'"$work"'/venv/"), ablate.__file__; print(ablate.program())' >found
grep -qx "$work/venv/bin/ablate" found || { echo "found the program $(cat found), expected the venv's" && exit 1; }

ablate run venv/share/ablate/experiments/quick.ini "$@"
awk '/^```$/ { on = 0 } on { print } $0 == "```python" { on = ++n == 1 }' "$root/docs/python.md" >cosine.py
ablate check ./cosine.py 2>said || {
    grep "needs Python" said && exit 77
    cat said && exit 1
}
cat >sweep.ini <<'INI'
[experiment]
name = sweep
[base]
task = sequence
layers = 1
d_model = 16
d_ff = 32
heads = 2
steps = 20
eval_every = 10
save_every = 20
[sweep attention]
attention = ./cosine.py
INI
cat >cells <<'PY'
# %%
import ablate as ab
ab.run("sweep.ini")
# %%
ab.table("quick")
# %%
ab.plot("quick", forest=True)
PY
python "$root/tests/python/execute.py" cells notebook.ipynb >shown
for words in '[1] text/html: <progress value=2 max=2></progress> 2 done' '[1] text/html: <table><tr><th>row</th>' \
    '<td>attention=cosine</td>' '[2] text/html: <table>' 'position=none</td>' '[3] image/svg+xml: <svg'; do
    grep -qF "$words" shown || { echo "the notebook shows no '$words':" && cat shown && exit 1; }
done
echo "wheel, quick sweep, plugin and notebook: $((SECONDS - began)) s"
