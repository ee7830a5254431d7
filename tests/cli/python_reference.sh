#!/usr/bin/env bash
# Documentation and types of Python's module: `numpydoc validate` finds no error in public names, and `mypy --strict`
# finds none in the module and in an annotated example. Both tools find planted errors. PYTHON names another
# interpreter.
source "$(dirname "$0")/common.bash" "$@"
python=${PYTHON:-python3}
export PYTHONPATH=$source/python PYTHONDONTWRITEBYTECODE=1 MYPYPATH=$source/python
exits 0 $python "$source/python/generate.py" --check
# installed MODULE: succeeds if Python has the module, else prints that it lacks it
installed() { $python -c "import $1" 2>/dev/null || { echo "skipped: $python has no $1 (pip install $1)" && return 1; }; }
ran=

if installed numpydoc; then
    ran=numpydoc
    # Left out, as numpydoc's own manual proposes: sections with examples, with related functions, with a longer summary.
    cat >validate.py <<'PY'
import inspect, sys
import ablate as ab
from numpydoc.validate import validate
names = ["ablate"]
for name in ab.__all__:
    if callable(getattr(ab, name)):
        names.append(f"ablate.{name}")
    if inspect.isclass(getattr(ab, name)):
        for member, value in inspect.getmembers(getattr(ab, name)):
            module = getattr(getattr(value, "fget", value), "__module__", "") or ""
            if not member.startswith("_") and module.startswith("ablate"):
                names.append(f"ablate.{name}.{member}")
errors = [(name, code, words) for name in names for code, words in validate(name)["errors"]
          if code not in ("EX01", "SA01", "ES01")]
for one in errors:
    print(*one)
print(len(names) > 150, len(errors))
PY
    exits 0 $python validate.py
    equal "$(cat out)" "True 0" "what numpydoc finds in more than 150 public names"
    cp -R "$source/python" broken
    sed -i 's/^    Return the path of the program/    returns the path of the program/' broken/ablate/_frames.py
    PYTHONPATH=$work/broken exits 0 $python validate.py
    has out "ablate.program SS02 Summary does not start with a capital letter"
fi
if installed mypy; then
    ran=$ran\ mypy
    strict() { $python -m mypy --strict --cache-dir "$work/types" "$@"; }
    exits 0 strict --exclude skeletons "$source/python/ablate"
    cat >example.py <<'PY'
import ablate as ab


@ab.attention(doc="attention by the cosine", temperature=ab.real(10, 0.1, 1000, "multiplies the cosine [none]"))
def cosine(c: ab.Context, x: ab.Tensor, mem: ab.Tensor, temperature: float) -> ab.Tensor:
    q, k, v = c.query(x), c.key(mem), c.value(mem)
    q, k = (t / (t.square().sum(-1) + 1e-6).sqrt() for t in (q, k))
    return c.output(c.weighted_sum(c.dropout(c.softmax(c.scores(q, k, temperature))), v))


def best(name: str) -> list[float]:
    t: ab.Table = ab.table(name, metric="acc")
    print(t, ab.plot(name, forest=True).svg[:4], len(ab.query("SELECT 1")))
    return [row["acc"] for row in t.rows]
PY
    exits 0 strict example.py
    sed 's/c.softmax(/c.sofmax(/; s/, temperature)))/, "warm")))/; s/ab.plot/ab.plto/' example.py >wrong.py
    exits 1 strict wrong.py
    has out '"Context" has no attribute "sofmax"'
    has out 'Argument 3 to "scores" of "HostFunctions" has incompatible type "str"; expected "float"'
    has out 'Module has no attribute "plto"'
fi
[ -n "$ran" ] || exit 77
finish
