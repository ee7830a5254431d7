#!/usr/bin/env bash
# A dry run counts updates, evaluations, tokens and trials, leaves out runs that are done in the database, and names
# missing data. bench/estimate.py tests its seconds.
source "$(dirname "$0")/common.bash" "$@"

fast=(--threads 1 --progress plain)
# counted INI ROW KEY [ARGUMENT]...: prints the count that the estimating process reports.
counted() {
    "$program" estimate "$1" --dry-run --threads 1 "${@:4}" 2>/dev/null | tr '\t ' '\n\n' |
        sed -n "/^counts\$/,/^left=/p" | sed -n "/^$2\$/,/^left=/s/^$3=//p"
}

echo "what a run does"
tiny plain 40 >plain.ini
equal "$(counted plain.ini base updates)" 40 "updates"
equal "$(counted plain.ini base evaluations)" 5 "evaluations: steps 10, 20, 30, 40, and the scores"
equal "$(counted plain.ini base evaluations -s steps=35)" 5 "evaluations: the last step is one"
equal "$(counted plain.ini base evaluations -s checkpoint=last)" 5 "evaluations: the last checkpoint"
equal "$(counted plain.ini base evaluations -s average_checkpoints=2)" 6 "evaluations: an average"
equal "$(counted plain.ini base saves)" 8 "checkpoints"
dev=$(counted plain.ini base decoded -s decode_split=dev) test=$(counted plain.ini base decoded -s decode_split=test)
equal "$(counted plain.ini base decoded -s decode_split=dev+test)" "$((dev + test))" "tokens decoded of both splits"
equal "$(counted plain.ini base evaluated)" "$((5 * dev + test))" "tokens evaluated: dev five times and test once"
updates=$(counted plain.ini base updates -s steps=100000000 -s "max_time=1s")
[ "$updates" -gt 0 ] && [ "$updates" -lt 1000000 ] || wrong "updates in max_time = 1s: found '$updates'"
checks=$((checks + 1))

echo "decoder-only: tokens of an update as the run has them"
cat >recall.ini <<'INI'
[experiment]
name = recall
[base]
task = recall
recall.kind = mqar
recall.vocab = 64
recall.length = 32
recall.pairs = 4
recall.train_examples = 200
recall.test_examples = 50
layers = 1
d_model = 16
d_ff = 32
heads = 1
batch_tokens = 128
steps = 20
schedule = constant
lr = 0.005
eval_every = 20
save_every = 20
INI
exits 0 ablate run recall.ini "${fast[@]}" --db recall.db
equal "$(counted recall.ini base tokens --db none.db)" \
    "$(sql "SELECT CAST(tokens_second * CAST(value AS REAL) / 20 + 0.5 AS INTEGER) FROM attempt a JOIN tag t ON t.run_id = a.run_id WHERE tag = 'train_seconds'" recall.db)" \
    "tokens of an update"
equal "$(counted recall.ini base evaluated --db none.db)" $((2 * 50 * 32 + 50 * 32)) "dev twice and test once, no ends"

echo "what is done does not count"
exits 0 ablate run plain.ini --seeds 1..3 --dry-run
has err "1 row, 3 seeds, 3 runs: about"
exits 0 ablate run plain.ini --seeds 1..2 "${fast[@]}"
exits 0 ablate run plain.ini --seeds 1..3 --dry-run
has err "1 row, 3 seeds, 2 of 3 runs are done, 1 run: about"
equal "$(counted plain.ini base left --seeds 1..3)" 1 "runs left"
equal "$(counted plain.ini base left --seeds 1..3 -s lr=0.006)" 3 "runs left with another learning rate"
equal "$(counted plain.ini base left --seeds 1..3 --rerun all)" 3 "runs left with --rerun all"
# updates_timed [ARGUMENT]...: prints the seconds of training that a run announces before it starts
updates_timed() { "$program" estimate plain.ini --threads 1 "$@" 2>/dev/null | sed -n 's/^timed\t//p' | cut -f7; }
equal "$(updates_timed --seeds 1..2)" nan "seconds of updates where no run is left: none is timed"
equal "$(updates_timed --seeds 1..3 | grep -cE '^[0-9.e-]+$')" 1 "seconds of updates where one is left"

echo "searches: by trial"
{ tiny found 40 | sed 's/^lr .*/lr = tune(0.001 .. 0.01, 4)/'; printf '[variant two]\nheads = 1\n'; } >found.ini
equal "$(counted found.ini base trials)" 6 "trials: four, then two"
equal "$(counted found.ini base trial_updates)" 160 "their updates: four of 20, two of 40"
exits 0 ablate run found.ini --only base "${fast[@]}"
equal "$(counted found.ini base trials --only base)" 0 "trials once the search is done"
equal "$(counted found.ini base left --only base)" 0 "runs left with the value that it found"
equal "$(counted found.ini base trials)" 0 "trials of base beside a row without any"
equal "$(counted found.ini two trials)" 6 "trials of the other row"
exits 0 ablate run found.ini --only base --dry-run
has err "1 of 1 run is done, 0 runs: about"
hasnt err "trials of searches"
exits 0 ablate rm found.tune/base@1001 --yes
equal "$(counted found.ini base trials --only base)" 3 "trials after one of the first rung was removed: it, and the second rung"

echo "matched rows count with the values that a run would give them"
{ tiny equal 40 | sed 's/^name.*/&\nmatch = flops by steps/'; printf '[variant deep]\nlayers = 2\n'; } >equal.ini
steps=$(counted equal.ini deep updates --db none.db)
exits 0 ablate run equal.ini "${fast[@]}" --db equal.db
equal "$steps" "$(sql "SELECT max(step) FROM results WHERE variant = 'deep'" equal.db)" "steps of the matched row"

echo "a run that goes on from another one's step"
exits 0 ablate run plain.ini -s keep_states=9 "${fast[@]}" --db fork.db
equal "$(counted plain.ini base updates -s start_from=plain/base@1 -s start_step=20 --db fork.db)" 20 "updates of a fork"

echo "several at a time"
exits 0 ablate run plain.ini --seeds 5..8 --workers 2 --threads 1 --dry-run
equal "$(head -1 err | grep -cE '4 runs: about .* one after the other .*; 2 at a time about [0-9]+ (s|min)$')" 1 "two at a time"

echo "data that are not here"
{ tiny absent 20 | grep -v '^sequence'; printf 'translation.data = wmt14-en-de\n'; } |
    sed 's/^task .*/task = translation/' >absent.ini
ABLATE_DATA=/nowhere exits 0 ablate run absent.ini --dry-run
has err "wmt14-en-de is not here; its published size is used: 4500000 lines of train, 3000 of dev, 3003 of test, with 25.7 source and 24.4 target words per line"
small=(-s layers=1 -s d_model=64 -s d_ff=64) # the estimate times one batch, so a smaller model keeps this test short
[ -z "${ABLATE_TEST_LONG-}" ] || small=()
for paper in table3-wmt14 ${ABLATE_TEST_LONG:+table2-wmt14}; do
    ABLATE_DATA=/nowhere exits 0 ablate run "$source/experiments/paper/$paper.ini" --only base --dry-run "${small[@]}"
    has err "its published size is used"
    equal "$(sed -n 's/^base .* \([0-9.]*\) \(days\|years\)$/number/p' err)" number "$paper: the time of a run"
done
ABLATE_DATA=/nowhere exits 0 ablate run "$source/experiments/paper/table4-wsj.ini" --only base --dry-run
has err "base is not timed: planning uses at most"
equal "$(awk '$1 == "base" && $2 ~ /^[0-9]/ { print $NF }' err)" "?" "table4-wsj: the time of a run that is too large to time"

finish
