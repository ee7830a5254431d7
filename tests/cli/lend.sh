#!/usr/bin/env bash
# --workers auto: a seed's longest run starts first; cores that no queued run needs go to the runs that train; a run's
# numbers do not depend on its number of threads.
source "$(dirname "$0")/common.bash" "$@"
unset OMP_NUM_THREADS # otherwise nproc would print this number
[ "$(nproc)" -ge 2 ] || { echo "skipped: found one core, where nothing can be lent"; exit 77; }

spec() { # NAME STEPS: prints an INI with a model so large that its kernels use several threads
    cat <<INI
[experiment]
name = $1
[base]
translation.data = synthetic
vocab   = words
layers  = 1
d_model = 64
d_ff    = 128
heads   = 4
dropout = 0.1
batch_tokens = 1024
steps   = $2
warmup  = 10
lr      = 0.3
eval_every = $2
save_every = $2
beam_size = 1
INI
}
models() { # FOLDER: the sum of each run's model, by its settings
    local folder
    for folder in "$1"/*/; do
        echo "$(basename "${folder%-g*}") $(sha256sum <"$folder/model.safetensors")"
    done | sort
}

echo "any number of threads"
spec bits 5 >bits.ini
printf '[sweep attention]\nattention = additive, linear, entmax, talking_heads\n[sweep position]\nposition = rotary, t5, shaw
[variant bf16]\nprecision = bf16\n[variant fp32]\nprecision = fp32
[variant muon]\noptimizer = muon\nlr = 0.01\n[variant moe]\nfeed_forward = moe
[variant lstm]\nattention_encoder = lstm\n[variant delta]\nattention_decoder = delta_net\n' >>bits.ini
for threads in 1 3; do
    exits 0 ablate run bits.ini --threads $threads --workers 1 --no-check --progress none --db $threads.db
    models $threads.db.runs/bits >models-$threads
done
equal "$(wc -l <models-1)" 14 "models"
equal "$(diff models-1 models-3)" "" "models with 1 and with 3 threads"

echo "the longest first, and its threads"
spec tail 60 >tail.ini
printf '[variant long]\nsteps = 500\neval_every = 500\nsave_every = 500\n' >>tail.ini
exits 0 taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/-/,/' | awk -F, '{ print $1 "," $2 }')" \
    "$program" run tail.ini --workers auto --no-check --progress plain
has err "2 runs at a time"
equal "$(grep -m1 '^start' err)" "start   long s1" "the first run to start"
has err "threads long s1  now 2: no run waits for these cores"
equal "$(sql "SELECT value FROM tag WHERE tag='threads_lent'" | sed 's/step [0-9]*/step N/')" "2 from step N" "what it records"
equal "$(sql "SELECT count(*) FROM runs WHERE tokens_second > 0")" 2 "runs with a speed of their own threads"
exits 0 ablate run tail.ini --threads 1 --workers 1 --no-check --progress none --db alone.db
equal "$(diff <(models home/runs/tail) <(models alone.db.runs/tail))" "" "models with and without lent threads"
equal "$(sql "SELECT count(*) FROM tag WHERE tag='threads_lent'" alone.db)" 0 "runs with lent threads where --workers is a number"

echo "fewer runs than cores share them from the start, but where their time decides what they learn"
own="SELECT argv LIKE '%\"--threads\",\"$(nproc)\"%' FROM attempt WHERE"
spec few 20 >few.ini
exits 0 ablate run few.ini --workers auto --no-check --progress plain
hasnt err "from here on"
equal "$(sql "$own log_path LIKE '%/few/%'")" 1 "a run alone with $(nproc) threads"
{ spec timed 10 | sed '/^steps/s/$/\nmax_time = 90s/'; } >timed.ini
exits 0 ablate run timed.ini --workers auto --no-check --progress plain
equal "$(sql "$own log_path LIKE '%/timed/%'")" 0 "a run with max_time that has $(nproc) threads"
finish
