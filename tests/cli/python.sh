#!/usr/bin/env bash
# Plugins as Python files: their results have the digits of the same plugins in C. They work with `check`, `new`,
# `list`, `run`, `replay`, `publish` and `verify`. Messages explain mistakes in these files, and a missing Python.
source "$(dirname "$0")/common.bash" "$@"
python=${ABLATE_PYTHON:-python3}

echo "without Python: one sentence that says what to do"
cat >cosine.py <<'PY'
import ablate as ab
from angle import unit


@ab.attention(doc="attention by the cosine of query and key",
              temperature=ab.real(10, 0.1, 1000, "multiplies the cosine [none]"))
def cosine(c, x, mem, temperature):
    q, k, v = unit(c.query(x)), unit(c.key(mem)), c.value(mem)
    return c.output(c.weighted_sum(c.dropout(c.softmax(c.scores(q, k, temperature))), v))
PY
cat >angle.py <<'PY'
def unit(t):
    return t / (t.square().sum(-1) + 1e-6).sqrt()
PY
ABLATE_PYTHON=/none exits 2 ablate list plugins ./cosine.py
has err "a plugin in Python needs Python 3.9 or newer, and '/none' does not run; install it"
# pretends NAME STATEMENTS: a Python in which these statements have run
pretends() {
    printf '#!/bin/sh\nexec %s -c "import sys, sysconfig; sys.executable = \047/usr/bin/python3\047; %s; exec(sys.stdin.read())"\n' \
        "$python" "$2" >$1
    chmod +x $1
}
pretends old "sys.version = '3.7.2 (2018)'; sys.version_info = (3, 7, 2)"
pretends static "sys.version_info = (3, 11); sysconfig.get_config_var = str.lower; sys.base_prefix = sys.base_exec_prefix = '/'"
ABLATE_PYTHON=./old exits 2 ablate list plugins ./cosine.py
has err "a plugin in Python needs Python 3.9 or newer, and /usr/bin/python3 is 3.7.2"
ABLATE_PYTHON=./static exits 2 ablate list plugins ./cosine.py
has err "/usr/bin/python3 has no libpython3.11.so; install it (Debian: apt install libpython3-dev)"
ablate list plugins ./cosine.py >out 2>err || {
    grep -q "needs Python" err && sed 's/^/skipped: /' err && exit 77
}
has out "temperature          real   10 (0.1..1000)"

echo "the digits of the twin in C"
sed -n '/^```c$/,/^```$/p' "$source/docs/plugins.md" | sed '/^```/d; s/"cosine"/"cosine_c"/' >cosine_c.c
{ tiny twins 20 && printf 'attention = ./cosine_c.c\n[variant python]\nattention = ./cosine.py\n'; } >twins.ini
exits 0 ablate run twins.ini --threads 1 --no-check
equal "$(sql "SELECT count(DISTINCT quote(value)) FROM results WHERE metric = 'PPL' AND experiment = 'twins'")" 1 \
    "the row in Python has the digits of the row in C"
has out "python  attention=cosine"
hasnt out "†"
{ tiny open 20 && printf '[variant python]\nattention = ./cosine.py\ncosine.temperature = 20\n'; } >open.ini
exits 0 ablate run open.ini --threads 1 --sandbox
exits 0 ablate replay open/python --step 5 --plugin-path .
hasnt err "differs"

echo "its identity: the file, what it imports, and the version"
echo "# changed" >>angle.py
exits 0 ablate table twins
has out "† 1 run of 1 row was trained with a plugin whose file has changed since"
sed -i '$d' angle.py
exits 0 ablate table twins
hasnt out "†"

echo "published with what it imports, and verified"
exits 0 ablate publish open folder
has folder/README.md "- cosine: plugins/cosine.py, SHA-256 with its imports and ablate's version"
equal "$(ls folder/plugins)" "$(printf 'angle.py\ncosine.py')" "sources"
exits 0 ablate verify folder --build-plugins
has out "retrained: 1 of 1 runs with the same digits"
exits 0 ablate record open open.json
exits 1 ablate verify open.json --only python
has err "attention: found cosine.py, a file that no record carries; publish the experiment to verify it"

echo "named by others, a Python file does not run"
mkdir other && sed "1i open('$work/ran', 'w')" cosine.py >other/cosine.py && cp angle.py other
(cd other && exits 0 ablate table open)
equal "$(ls "$work/ran" 2>/dev/null)" "" "a file of the same name beside did not run"
mkdir scripts && printf 'import ablate as ab\nopen("%s/ran", "w")\n' "$work" >scripts/mine.py
exits 0 ablate list plugins norm --plugin-path scripts
equal "$(ls "$work/ran" 2>/dev/null)" "" "a script in a plugin folder that decorates nothing did not run"

echo "new: a skeleton passes the checks"
for kind in norm schedule; do
    exits 0 ablate new $kind my_$kind.py
    has out "ablate check ./my_$kind.py"
    exits 0 ablate check ./my_$kind.py
done
exits 1 ablate new norm my_norm.py
has err "my_norm.py already exists; not changed"

echo "mistakes: the line of the file, what was found and what to do"
head='import ablate as ab


@ab.attention(doc="wrong")
def wrong(c, x, mem):
    q, k, v = c.query(x), c.key(mem), c.value(mem)'
tail='    return c.output(c.weighted_sum(c.softmax(c.scores(q, k, 1)), v))'
# mistake LINE MESSAGE: if the seventh line of wrong.py is LINE, `check` ends with MESSAGE
mistake() {
    printf '%s\n%s\n%s\n' "$head" "    $1" "$tail" >wrong.py
    exits 1 ablate check ./wrong.py
    has out "$work/wrong.py:${LINE-7}: $2"
}
mistake 'q = q @ k' "matmul: inner widths 4 and 3 differ: [2,2,3,4] times [2,2,3,4]"
mistake 'q = q + c.full(1, 5)' "ADD: shapes [2,2,3,4] and [5] differ at axis -1"
mistake 'q = q / q.sum(4)' "sum: axis 4, expected -4 to 3, or -1 for the last"
mistake 'q = c.sofmax(q)' "AttributeError: the context has no 'sofmax'; did you mean 'softmax'?"
mistake 'q = c.exp(q)' "AttributeError: the context has no function 'exp' (a method of tensors: t.exp())"
mistake 'q = q.sqaure()' "AttributeError: a tensor has no 'sqaure'; did you mean 'square'?"
mistake 'q = q * c.info.dmodel' "AttributeError: info has no 'dmodel'; did you mean 'd_model'?"
mistake 'q = c.linear(q, 3, 4)' "linear: argument 2 is 3, expected a text"
mistake 'q = q[0]' "index 0: expected slices with step 1; t[..., 3:4] keeps the axis"
mistake 'q = q if q else k' "a tensor has no truth value while the graph is traced; where(condition, a, b)"
mistake 'q = q ** 5' "** 5: expected one of 1, 2, 3, 4, 0.5, -0.5, -1, -2"
LINE=4 mistake 'return None' "wrong returned None, expected a tensor; is a \`return\` missing?"
mistake 'q = q if q == 1 else k' "== and != compare no values of tensors; (a - b).abs() < 0.5"
mistake 'q = q + None' "add: argument 2 is None, expected a tensor or a number; is a \`return\` missing?"
mistake 'raise ValueError("\udc80\ud800")' "ValueError: "
mistake 'raise type("Odd", (Exception,), {"__str__": lambda s: 5})()' "Odd, whose text fails with TypeError"
mistake 'wrong.c = getattr(wrong, "c", c); q = q + wrong.c.full(1, 1)' "a context of another call; contexts end with their call"
mistake 'q = [][1]' "IndexError: list index out of range"
mistake 'c.fail("found no luck, expected some")' "found no luck, expected some"
mistake 'q = c.assign(q, k)' "c.assign was called in an attention's forward; it may be called in an optimizer's update"
mistake 'q = ab.log(q)' "AttributeError: ablate has no 'log'"
mistake 'raise SystemExit(0)' "the plugin ends the process: plugins return, they do not exit"
mistake 'q = q * len(open(__file__).read())' "open was used while the graph is traced"
mistake 'import os; q = q * len(os.environ)' "os.environ was used while the graph is traced"
mistake 'import time; q = q * time.time()' "time.time was used while the graph is traced: a graph may depend on arguments"
for clock in 'time() time.time' 'date.today().day date.today' 'd.datetime.now().day datetime.now'; do
    head="import datetime as d
from datetime import date
from time import time
$head" LINE=10 mistake "q = q * ${clock% *}" "${clock#* } was used while the graph is traced"
done
mistake 'import time; q = q * len(time.strftime("%j"))' "time.strftime was used while the graph is traced"
cp wrong.py my_tokenize.py && sed -i 's/^    import time.*/    import os; q = q * os.path.exists("x")/' my_tokenize.py
exits 1 ablate check ./my_tokenize.py # only Python's own files are exempt
has out "$work/my_tokenize.py:7: os.path.exists was used while the graph is traced"
cat >honest.py <<'PY' # the watched functions of Python's modules are as usable as they were
import logging
import os
from datetime import datetime as clock
from email.utils import parsedate_to_datetime

import ablate as ab

logging.basicConfig(format="%(asctime)s %(message)s")
logging.warning("loaded")
FOLLOWS = os.stat in os.supports_follow_symlinks


class Many:
    """Compares element by element, as an array does."""

    def __eq__(self, other):
        return self

    def __bool__(self):
        raise ValueError("ambiguous")


MANY = Many()


@ab.feed_forward(doc="honest")
def honest(c, x):
    assert FOLLOWS and isinstance(parsedate_to_datetime("Mon, 20 Nov 1995 19:12:08 +0000"), clock)
    return c.linear(c.linear(x, "1", c.info.d_ff).relu(), "2", c.info.d_model)
PY
exits 0 ablate check ./honest.py
# loads TEXT MESSAGE: a file of this text cannot be loaded
loads() {
    printf 'import ablate as ab\n%b\n' "$1" >bad.py
    exits 2 ablate list plugins ./bad.py
    has err "$work/bad.py$2"
}
loads 'def f(: pass' ":2: SyntaxError"
loads 'x = 1' ": found 0 plugins, expected one; put @ablate.attention(doc=...) or another kind above its function"
of='@ab.feed_forward(doc="d"' body=')\ndef f(c, x, k): pass'
loads "$of, k=ab.integer(1.5, 0, 5, \"d\")$body" ":2: found 1.5, 0, 5, expected whole numbers"
loads "$of, k=ab.boolean(0.5, \"d\")$body" ":2: found the default 0.5, expected True or False"
loads "$of, k=ab.choice(\"a\", [\"a|b\", \"a\"], \"d\")$body" ":2: choices: found ['a|b', 'a'], expected a list of texts"
loads "$of, k=ab.real(float(\"nan\"), 0, 1, \"d\")$body" ":2: found nan, expected a finite number"
loads "$of, k=ab.real(\"1\", 0, 1, \"d\")$body" ":2: found '1', expected a finite number"
loads "$of, k=ab.integer(-1, -1, 5, \"d\", \"all\")$body" ":2: words: found 'all', expected a list of texts"
loads "$of, k=ab.text(5, \"d\")$body" ":2: found the default 5, expected a text"
loads "$of, k=ab.text(\"a\", None)$body" ":2: doc: found None, expected a text"
loads "$of, paper=2017$body" ":2: @feed_forward(paper=2017): expected a text"
loads "$of, claims=[1]$body" ":2: @feed_forward(claims=[1]): expected constants such as ab.CAUSAL, joined by |"
loads '@ab.optimizer(doc="d", slots="mean")\ndef f(c, p, g, slot, lr, step): pass' ":2: slots: found 'mean', expected a list"
loads '@ab.optimizer(doc="d", elementwise="no")\ndef f(c, p, g, slot, lr, step): pass' ":2: @optimizer(elementwise='no'): expected True"
loads '@ab.feed_forward(doc="d")\nclass f:\n    @classmethod\n    def forward(cls, c, x): pass' ":2: f: 'forward' is a classmethod"
loads '@ab.head(doc="d")\nclass f: pass' ":2: f: found no function, expected some of logits, losses"
printf 'import ablate as ab\n\n\n@ab.feed_forward(doc="d")\ndef f(c, x, extra): return x\n' >one_letter.py
exits 1 ablate check ./one_letter.py
has out "missing 1 required positional argument: 'extra'"
hasnt out "static variables"
mkdir -p pack deep/sub && echo 'scale = 2' | tee pack/__init__.py >deep/sub/part.py && echo 'scale = 2' >own_module.py
plain='\n@ab.norm(doc="d")\ndef f(c, x): return x'
for import in 'import pack' 'from deep.sub.part import scale' 'import importlib; importlib.import_module("own_module")' 'if True: import own_module'; do
    loads "$import$plain" ": '"
    has err "is imported where the hash of runs does not look: expected files beside this one, not packages"
done
for import in 'import own_module' 'import math, own_module' 'from own_module import scale'; do
    printf 'import ablate as ab\n%b\n' "$import$plain" >good.py
    exits 0 ablate list plugins ./good.py
done
cat >shared.py <<'PY' # a hook of a base class counts
import ablate as ab


class Shared:
    @staticmethod
    def forward(c, x):
        return c.undefined(x)


@ab.feed_forward(doc="shared")
class shared(Shared):
    pass
PY
exits 1 ablate check ./shared.py
has out "shared.py:7: AttributeError: the context has no 'undefined'"
cat >plan.py <<'PY' # a schedule gets a copy of the plan
import ablate as ab


@ab.schedule(doc="plan")
def plan(plan, step):
    plan.warmup = max(plan.warmup, 1)
    return plan.lr * min(1, step / plan.warmup)
PY
exits 0 ablate check ./plan.py
cat >shape.py <<'PY'
import ablate as ab


@ab.optimizer(doc="shape", slots=("m",))
class shape:
    @staticmethod
    def slot_shape(of, i):
        return of.shap

    @staticmethod
    def update(c, p, g, slot, lr, step):
        c.assign(slot[0], slot[0] * 0.9)
        c.assign(p, p - g * lr)
PY
exits 1 ablate check ./shape.py
has err "shape.py:8: AttributeError: the parameter has no 'shap'; did you mean 'shape'?"
loads 'import nothere' ":2: ModuleNotFoundError: No module named 'nothere'"
loads '@ab.atention(doc="d")\ndef f(c, x, mem): pass' ":2: AttributeError: ablate has no 'atention'; did you mean 'attention'?"
loads '@ab.norm(doc="d", epz=1)\ndef f(c, x): pass' ":2: @norm(epz=1): expected a setting, doc, paper, claims, or a parameter"
loads '@ab.norm(doc="d")\nclass f:\n    def forwrd(c, x): pass' ":2: f: found the function 'forwrd', expected some of forward, add; did you mean 'forward'?"
loads '@ab.norm(doc="d", eps=ab.real(2, 0, 1, "e"))\ndef f(c, x, eps): pass' ": parameter 'eps': default 2 is outside its range 0 to 1"
loads '@ab.norm(doc="d", eps=ab.real(0, 0, 1, "e"))\ndef f(c, x, ep): pass' ":2: f: forward has no argument 'eps', a parameter of the plugin; did you mean 'ep'?"
loads 'raise SystemExit(0)' ":2: the plugin ends the process"
echo "hashes, addresses and the order of a set differ between processes: check fails, and runs have one seed of hashes"
elsewhere="a second process, on another day and in another environment, has other"
# differs NUMBER: with this number in a feed-forward, check fails
differs() {
    cat >scaled.py <<PY
import ablate as ab


@ab.feed_forward(doc="scaled")
def scaled(c, x):
    return c.linear(c.linear(x, "1", c.info.d_ff).relu() * (1 + $1), "2", c.info.d_model)
PY
    exits 1 ablate check ./scaled.py
    has out "scaled: $elsewhere losses or gradients: they may depend on arguments, settings and the run's seed only, not \
on time, environment, files, id(), hash() or the order of a set"
}
differs '(id(object()) >> 4) % 2'
{ tiny scaled 20 && printf 'feed_forward = ./scaled.py\n'; } >scaled.ini
exits 0 ablate run scaled.ini --threads 1
has err "feed_forward/scaled is new and failed \`ablate check\`: process: scaled: $elsewhere"
differs 'list({"one", "two"}).index("one")'
{ tiny hashes 20 && printf 'feed_forward = ./scaled.py\n'; } >hashes.ini
for seed in 1 2 3; do
    PYTHONHASHSEED=$seed exits 0 ablate run hashes.ini --threads 1 --no-check --progress none --rerun all
    sql "SELECT quote(value) FROM results WHERE metric = 'PPL' AND experiment = 'hashes'"
done >values
equal "$(sort -u values | wc -l)" 1 "different values in runs with other seeds of hashes"
cat >steps.py <<'PY'
import ablate as ab


@ab.optimizer(doc="steps of one or two rates", elementwise=True)
def steps(c, p, g, slot, lr, step):
    c.assign(p, p - g * lr * (1 + hash("two") % 2))
PY
exits 1 ablate check ./steps.py
has out "steps: $elsewhere updates"
cat >rates.py <<'PY'
import ablate as ab


@ab.schedule(doc="one of two rates")
def rates(plan, step):
    return plan.lr * (1 + hash("two") % 2)
PY
exits 1 ablate check ./rates.py
has out "rates: $elsewhere rates"
cat >names.py <<'PY'
import random

import ablate as ab


@ab.task(doc="reversed names")
class names:
    @staticmethod
    def examples(split, seed):
        draw, known = random.Random(f"{seed} {split}"), list({"one", "two", "three", "four"})
        for _ in range(40):
            line = [draw.choice(known) for _ in range(4)]
            yield " ".join(line), " ".join(reversed(line))

    @staticmethod
    def score(outputs, references):
        return [float(a == b) for a, b in zip(outputs, references)]
PY
exits 1 ablate check ./names.py
has out "names: $elsewhere examples"
cat >two.py <<'PY'
import ablate as ab


@ab.attention(doc="goes on after a refusal")
def two(c, x, mem):
    try:
        x.reshape(7, 5)
    except ab.Error as refused:
        assert "have different numbers of elements" in str(refused)
    return c.output(c.weighted_sum(c.softmax(c.scores(c.query(x), c.key(mem), 1)), c.value(mem)))
PY
exits 0 ablate check ./two.py

for grad in 'dy square:_its_grad_returned_Tensor' '[dy,dy] expected_a_list_of_1,_one_for_each_input' \
    '["dy"] grad_of_square:_argument_1_is_'; do
    cat >rule.py <<PY
import ablate as ab


@ab.op(doc="x squared")
def square(c, x):
    return x.square()


@square.grad
def backward(c, inputs, y, dy):
    return ${grad% *}


@ab.feed_forward(doc="a square")
def rule(c, x):
    return c.linear(square(c, x), "1", c.info.d_model)
PY
    exits 1 ablate check ./rule.py
    words=${grad#* } && has out "$work/rule.py:9: " && has out "${words//_/ }"
done

cat >stairs.py <<'PY'
import ablate as ab


@ab.schedule(doc="stairs")
def stairs(plan, step):
    return plan.lr * [1.0][(step - 1) // 10]
PY
tiny stairs 20 | sed 's#^schedule .*#schedule = ./stairs.py#' >stairs.ini
exits 1 ablate run stairs.ini --threads 1 --no-check
has err "schedule stairs: the rate of update 11 is nan, expected a number; its log may say why"
cat >marks.py <<'PY'
import ablate as ab


@ab.task(doc="marks")
class marks:
    @staticmethod
    def examples(split, seed):
        yield from [(f"a b {i}", f"b {i}") for i in range(9)]

    @staticmethod
    def score(outputs, references):
        return {"PPL": [1] * len(outputs)}
PY
exits 1 ablate check ./marks.py
has out "marks: score names 'PPL', expected at most 23 bytes, and not PPL, token_accuracy"

echo "a run that fails names the line, and its log has the traceback"
cat >deep.py <<'PY'
import ablate as ab


def inner(t):
    return t.reshape(7, 5)


@ab.attention(doc="fails", fails=ab.boolean(False, "whether to fail"))
def deep(c, x, mem, fails):
    if fails:
        inner(x)
    return c.output(c.weighted_sum(c.softmax(c.scores(c.query(x), c.key(mem), 1)), c.value(mem)))
PY
{ tiny fails 20 && printf '[variant python]\nattention = ./deep.py\ndeep.fails = true\n'; } >fails.ini
exits 1 ablate run fails.ini --threads 1 --no-check
has err "$work/deep.py:5: reshape: "
grep -rhF 'in deep' home/runs >log || true
has log "line 11, in deep"
finish
