#!/usr/bin/env bash
# Tasks in Python: the tasks of experiments/python pass the checks and train. Messages explain mistakes in a task.
source "$(dirname "$0")/common.bash" "$@"
cp "$source"/experiments/python/* .
sed -i 's/^seeds = .*/seeds = 1/' python-*.ini
sed -i 's/"train": [0-9]*000/"train": 2000/' *.py # ten times fewer examples
ablate list plugins ./parity.py >out 2>err || {
    grep -q "needs Python" err && sed 's/^/skipped: /' err && exit 77
}
export ABLATE_DATA=$work
mkdir pairs
for split in train dev test; do
    for i in $(seq 1 40); do
        echo "{\"source\": \"a$((i % 3)) b$((i % 5))\", \"target\": \"b$((i % 5)) a$((i % 3))\"}"
    done >pairs/$split.jsonl
done
for name in parity words treecall depo mano dataset; do
    equal "$(($(wc -l <$name.py) <= 40))" 1 "$name.py has at most 40 lines"
    exits 0 ablate check ./$name.py $([ $name = dataset ] && echo -s dataset.folder=pairs)
    exits 0 ablate run python-$name.ini -s steps=4 -s warmup=2 -s eval_every=4 -s save_every=4 \
        --threads 1 --progress none --no-check
    equal "$(sql "SELECT count(*) > 1 FROM results WHERE experiment = 'python-$name' AND metric = 'acc'")" 1 "$name: rows with acc"
done
exits 0 ablate table python-dataset
has out 'Data of base: 40 of 40 dev pairs also occur as training pairs; 40 of 40 test pairs also occur'
exits 0 ablate new task my_task.py
exits 0 ablate check ./my_task.py

echo "screen.py: the rank correlation of values that rank in one order, in the other, and not at all"
mkdir stub && cat >stub/ablate.py <<'PY'
def runs(experiment):
    def run(task, k, **value):
        return dict(status="done", task=task, attention=f"mixer{k}", **value)

    for k in range(8):
        if experiment == "screen-lm":
            yield run("lm", k, bits_per_char=2 - k / 10)
        else:
            yield run("recall", k, accuracy=10.0 * k)
            yield run("/folder/words.py", k, acc=-k)
            yield run("/folder/treecall.py", k, acc=1)
PY
PYTHONPATH=stub exits 0 "${ABLATE_PYTHON:-python3}" "$source/experiments/tasks/screen.py"
has out "recall    +1.00, 95 % interval +1.00 to +1.00, 8 mixers"
has out "words     -1.00, 95 % interval -1.00 to -1.00, 8 mixers"
has out "treecall  no rank: all mixers have one value"
exits 0 ablate import "$source"/experiments/recorded/screen{,-lm}.json.gz --db screen.db
PYTHONPATH=$source/python ABLATE_PROGRAM=$program ABLATE_DB=screen.db exits 0 "${ABLATE_PYTHON:-python3}" "$source/experiments/tasks/screen.py"
printf '%s (%s to %s)\n' $(sed -E 's/-/−/g; s/^[a-z]+|,? 95 % interval|to|, 10 mixers//g' out) >said
equal "$(wc -l <said)" 3 "correlations on record"
while read -r line; do has "$source/docs/results.md" "$line"; done <said

echo "mistakes"
# refuses LINE MESSAGE: if the sixth line of bad.py is LINE, the file is refused with MESSAGE
refuses() {
    printf 'import ablate as ab\n@ab.task(doc="wrong")\nclass bad:\n    def examples(split, seed):\n        for i in range(9):\n%s\n%s\n' \
        "            $1" "    def score(outputs, references): ${3-return dict(acc=[1] * len(outputs))}" >bad.py
    ablate check ./bad.py >out 2>err || true
    has out "$2"
}
refuses 'yield 3' "bad.py:"
has out "bad: example 1 of train: found 3, expected a pair (source, target)"
refuses 'yield "a", 7' "bad: example 1 of train: found 7, expected a text or a list of tokens"
refuses 'yield "a\nb", "c"' "found a line end or a NUL in 'a\\nb', expected one line"
refuses 'yield "a", [][1]' "bad.py:6: IndexError: list index out of range"
refuses 'yield "a", "b"' "acc has 1 numbers, expected one for each of" 'return dict(acc=[1])'
refuses 'yield "a", "b"' "score returned 3, expected {name: a number for each example}" 'return 3'
refuses 'yield "a", "b"' "bad.py:7: ZeroDivisionError: division by zero" 'return 1 / 0'
printf 'import ablate as ab\n@ab.task(doc="wrong", vocab="wrds")\nclass bad:\n    def examples(split, seed): yield "a", "b"\n' >bad.py
exits 2 ablate list plugins ./bad.py
has err "vocab='wrds': expected one of subword, words, chars, symbols; did you mean 'words'?"
finish
