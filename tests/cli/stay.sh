#!/usr/bin/env bash
# On a GPU one worker process trains run after run, and each run gives the numbers that it gives in a process of its
# own. A run that fails or is killed ends the process; the next one gets a new process. The GPU is emulated.
source "$(dirname "$0")/common.bash" "$@"
build=$(dirname "$program")
export ABLATE_CUDA_MODULE=$build/tests/emulated_cuda.so ABLATE_TEST_LEAKS=1
[ -e "$ABLATE_CUDA_MODULE" ] || { echo "skipped: the tests were not built (ninja unit_tests)"; exit 77; }
if [ -e "$build/fake_cublaslt.so" ]; then export ABLATE_PRODUCT=library ABLATE_CUBLASLT=$build/fake_cublaslt.so; fi

spec() { # NAME STEPS
    tiny "$1" "$2" | sed 's/^sequence.test_examples.*/sequence.test_examples = 2/; s/^eval_every.*/eval_every = 2/
        $a max_extra_tokens = 5' # each step of the emulation takes long
}
run() { "$program" run "$@" --device cuda --threads 1 --no-check --progress plain; }
processes="SELECT count(DISTINCT pid) FROM attempt"
numbers="SELECT row,seed,metric,printf('%.17g',value),step FROM curves ORDER BY 1,2,3,5"
scores="SELECT variant,seed,metric,quote(value),step FROM results ORDER BY 1,2,3"
facts="SELECT v.name,t.tag,t.value FROM tag t JOIN run r ON r.id=t.run_id JOIN variant v ON v.id=r.variant_id
    WHERE tag IN ('products','attention','precision','parameters','batch_fill') ORDER BY 1,2"

echo "one process for all runs of a sweep, or one for each"
spec rows 3 >rows.ini
# Rows with and without dropout, another width, an optimizer with more state, metrics of an external program, and
# products that use a fallback.
printf 'dropout = 0.1\n[sweep A]\nprecision = bf16\n[sweep B]\nd_model = 24\n[sweep C]\noptimizer = lion\n[sweep D]\nposition = alibi\n' >>rows.ini
exits 0 run rows.ini
equal "$(sql "$processes")" 1 "processes of five runs"
equal "$(sql 'SELECT count(*) FROM attempt')" 5 "attempts"
for row in base A/precision=bf16 B/d_model=24 C/optimizer=lion D/position=alibi; do
    exits 0 run rows.ini --only "$row" --db apart.db
done
equal "$(sql "$processes" apart.db)" 5 "processes of five calls"
for what in "$numbers" "$scores" "$facts"; do
    sql "$what" >together.txt
    sql "$what" apart.db >apart.txt
    checks=$((checks + 1))
    [ -s together.txt ] && cmp together.txt apart.txt || { wrong "a run in a used process differs" && diff apart.txt together.txt; }
done
for model in apart.db.runs/rows/*/model.safetensors; do
    checks=$((checks + 1))
    cmp "$model" "home/runs/${model#apart.db.runs/}" || wrong "a model differs"
done
equal "$(grep -ch '^closed with 0 blocks of memory in use$' home/runs/rows/*/log.txt | tr '\n' ' ')" "1 1 1 1 1 " \
    "logs of runs that gave back all memory"
equal "$(leftovers)" "" "processes that are left"

echo "a run that fails in the middle, and one that needs a process of its own"
spec bad 2 >bad.ini
printf '[sweep A]\nbeam_size = 40\n[sweep B]\nd_ff = 16\n[sweep C]\nd_ff = 24\n' >>bad.ini
exits 1 run bad.ini --db bad.db
equal "$(sql "SELECT status||' '||count(*) FROM run GROUP BY status ORDER BY status" bad.db | tr '\n' ' ')" "done 3 failed 1 " "runs"
equal "$(sql "$processes" bad.db)" 2 "processes, one of which ended with its run"
has err "beam_size = 40 on a GPU"
spec own 2 >own.ini
printf '[sweep A]\nd_ff = 16\n' >>own.ini
exits 0 run own.ini --profile --db own.db
equal "$(sql "$processes" own.db)" 2 "processes of profiled runs"

echo "the worker is killed in its second run"
spec kill 3000 >kill.ini
sed -i 's/^steps.*/steps = 2/; s/^eval_every.*/eval_every = 1000/' kill.ini
printf '[sweep A]\nsteps = 3000\n[sweep B]\nd_ff = 16\n' >>kill.ini
run kill.ini --db kill.db >out 2>err &
host=$!
second_trains() { grep -q '^start   A/steps=3000' err && [ "$(sql "SELECT count(*) FROM tag WHERE tag='precision'" kill.db)" = 2 ]; }
wait_for 90 second_trains || wrong "no second run trains: $(cat err)"
worker=$(leftovers)
kill -9 $worker
code=0
wait $host || code=$?
equal $code 1 "exit code after a worker was killed"
equal "$(sql "SELECT v.name||' '||status FROM run r JOIN variant v ON v.id=r.variant_id ORDER BY 1" kill.db | tr '\n' ';')" \
    "A/steps=3000 killed;B/d_ff=16 done;base done;" "runs after a worker was killed"
equal "$(sql "$processes" kill.db)" 2 "processes after a worker was killed"

echo "Ctrl-C while the second run trains"
setsid env --default-signal=INT "$program" run kill.ini --device cuda --threads 1 --no-check --progress plain --db stop.db >out 2>err &
host=$!
second_trains() { grep -q '^start   A/steps=3000' err && [ "$(sql "SELECT count(*) FROM tag WHERE tag='precision'" stop.db)" = 2 ]; }
wait_for 90 second_trains || wrong "no second run trains: $(cat err)"
kill -INT -- "-$host"
code=0
wait $host || code=$?
equal $code 130 "exit code after Ctrl-C"
equal "$(sql "SELECT status||' '||count(*) FROM run GROUP BY status ORDER BY status" stop.db | tr '\n' ' ')" "done 1 queued 2 " "runs after Ctrl-C"
equal "$(leftovers)" "" "processes that are left after Ctrl-C"
finish
