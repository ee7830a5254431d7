#!/usr/bin/env bash
# One sweep with rows that work, fail, diverge or are not applicable: its rows, its table in every format, SQL, skipping
# finished runs, rerunning, overrides, dry runs, translating, provenance.
export GIT_CEILING_DIRECTORIES= # runs record the commit
source "$(dirname "$0")/common.bash" "$@"
unset GOMP_SPINCOUNT # as for users

{
    tiny mix 40
    cat <<'INI'
[sweep A]
heads = 1, 4
[variant short]
position = learned
learned.max_len = 4
[variant wild]
lr = 1000
warmup = 0
norm = none
[variant pair]
attention = linear
position = shaw
INI
} >mix.ini
fast=(--threads 1 --progress plain)

echo "the sweep"
exits 1 ablate run mix.ini --seeds 1..2 "${fast[@]}"
equal "$(sql "SELECT status||' '||count(*) FROM run GROUP BY status ORDER BY 1" |
    tr '\n' ';')" "done 8;failed 2;skipped 2;" "runs"
has err "failed  short s1"
has err "        | error: learned.max_len = 4: expected at least 58, because outputs can be max_extra_tokens = 50 tokens longer than the longest source"
has err "        log: $work/home/runs/mix/"
has err "diverged wild s1"
has err "done    A/heads=4 s2"
has err "12 runs: 8 done, 2 failed, 2 skipped"
has err "2 failed (see \`ablate watch RUN --log\`): repeat with \`--rerun failed\` to train them again"
has err "results: $work/results.db"
hasnt err $'\r'
hasnt err $'\033'
for row in base heads=1 heads=4 short wild pair failed diverged n/a; do has out "$row"; done
has out "attention linear does not support the hooks of position shaw"
equal "$(sql "SELECT count(*) FROM result q JOIN metric m ON m.id=q.metric_id WHERE m.name='PPL' AND value IS NULL")" \
    2 "diverged PPLs"
equal "$(sql "SELECT count(*) FROM tag WHERE tag='diverged' AND value LIKE 'diverged at step %'")" 2 \
    "words on divergence"
cp out table.txt

echo "again: nothing is done, the same table"
attempts=$(sql 'SELECT count(*) FROM attempt')
exits 1 ablate run mix.ini --seeds 1..2 "${fast[@]}"
equal "$(diff out table.txt)" "" "table of a sweep that is done"
equal "$(sql 'SELECT count(*) FROM attempt')" "$attempts" "attempts"
hasnt err "start "
hasnt err "resume "
exits 0 ablate run mix.ini --seeds 1..2 --only base --only 'A/*' "${fast[@]}"

echo "--rerun"
exits 1 ablate run mix.ini --seeds 1..2 --rerun failed "${fast[@]}"
equal "$(sql 'SELECT count(*) FROM attempt')" $((attempts + 2)) "attempts after --rerun failed"
before=$(sql "SELECT variant,seed,metric,quote(value) FROM results WHERE status='done' ORDER BY 1,2,3")
exits 0 ablate run mix.ini --seeds 1..2 --rerun all --only A "${fast[@]}"
equal "$(sql 'SELECT count(*) FROM attempt')" $((attempts + 6)) "attempts after --rerun all --only A"
equal "$(sql "SELECT variant,seed,metric,quote(value) FROM results WHERE status='done' ORDER BY 1,2,3")" "$before" \
    "numbers of the second time"

echo "--only, --seeds, -s"
exits 0 ablate run mix.ini --only A/heads=4 "${fast[@]}" --db only.db
equal "$(sql "SELECT group_concat(variant||seed,' ') FROM (SELECT DISTINCT variant,seed FROM results WHERE status='done')" only.db)" "A/heads=41" "--only"
exits 0 ablate run mix.ini --only A --seeds 3,5 "${fast[@]}" --db only.db
equal "$(sql "SELECT group_concat(seed,' ') FROM (SELECT DISTINCT seed FROM results WHERE status='done' AND variant='A/heads=1' ORDER BY 1)" only.db)" "3 5" "--seeds"
tiny plain 20 >plain.ini
exits 0 ablate run plain.ini -s d_ff=48 -s steps=10 -s heads=1,2 "${fast[@]}" --db set.db
equal "$(sql "SELECT group_concat(name,' ') FROM (SELECT name FROM table_row ORDER BY place)" set.db)" \
    "base cli/heads=1 cli/heads=2" "rows of -s heads=1,2"
equal "$(sql "SELECT group_concat(DISTINCT value) FROM param WHERE key='d_ff'" set.db)" 48 "-s d_ff=48"
equal "$(sql "SELECT group_concat(DISTINCT step) FROM result" set.db)" 10 "-s steps=10"
equal "$(sql "SELECT count(*) FROM run" set.db)" 2 "equal rows run once"

echo "--dry-run is an INI of the same runs"
exits 0 ablate run mix.ini --seeds 1..2 --dry-run --db none.db
equal "$(head -1 err |
    grep -cE '^mix: [0-9]+ rows.*, 2 seeds, [0-9]+ runs: about .*\(updates .*\), [0-9.e-]+ core hours and [0-9.e+]+ FLOPs, .*of memory each, .*of disk$')" 1 \
    "the summary stands first"
equal "$(sed -n 3p err | grep -c '^row .*updates.*time of a run')" 1 "then the rows"
equal "$(test -e none.db && echo there)" "" "database of a dry run"
cp out dry.ini
exits 0 ablate run dry.ini --dry-run
equal "$(grep -v '^# dry.ini\|^# mix.ini' out | diff - <(grep -v '^# mix.ini' dry.ini))" "" "dry run of the dry run"
# The estimate counts searches: 4 candidates, then 2. If the data are missing on this machine, the estimate uses their
# published sizes.
sed 's/^lr .*/lr = tune(0.001 .. 0.01, 4)/' plain.ini >searched.ini
exits 0 ablate run searched.ini --dry-run
has err '6 trials of searches'
# A run first prints the time that its searches take, then the time of its own runs alone.
exits 0 ablate run searched.ini "${fast[@]}" --db searched.db
equal "$(grep -cE '^searches: 6 trials, about [0-9]+ s$' err)" 1 "time of the searches"
equal "$(grep -cE '^1 run: about [0-9]+ s on this machine \(updates' err)" 1 "time of the runs"
hasnt err 'trials of searches'
# The estimate times updates of sentence lengths that occur in the data: here max_len is the longest.
sed 's/^task .*/task = arithmetic/; s/^sequence.*//; s/^vocab .*//' plain.ini >positions.ini
printf 'arithmetic.kind = addition\narithmetic.digits = 10\nposition = learned\nlearned.max_len = 32\n' >>positions.ini
exits 0 ablate run positions.ini --dry-run
equal "$(grep -cE '^plain: 1 row, .*: about [0-9]+ s on this machine' err)" 1 "time with positions that end"
{ tiny absent 20 | grep -v '^sequence'; echo 'translation.data = wmt14-en-de'; } |
    sed 's/^task .*/task = translation/; s/^vocab .*//' >absent.ini
ABLATE_DATA=/nowhere exits 0 ablate run absent.ini --dry-run
has err 'the data are not here; their published sizes were used: row base: '
has err 'no file /nowhere/wmt14-en-de/train.en'
equal "$(sed -n 's/^base .* \([0-9.]*\) \(s\|min\)$/number/p' err)" number "the time of a run without its data"
ABLATE_DATA=/nowhere exits 1 ablate run absent.ini --progress none --db none.db
attempts=$(sql 'SELECT count(*) FROM attempt')
exits 1 ablate run dry.ini "${fast[@]}"
equal "$(sql 'SELECT count(*) FROM attempt')" "$attempts" "attempts: the dry run's rows are the sweep's"

echo "tables and SQL"
exits 0 ablate table mix --format csv
head -1 out >heading
has heading "row,name,change,state,n,failed,PPL"
equal "$(wc -l <out)" 7 "lines of CSV"
exits 0 ablate table mix --format json
json=$(tr -d '\n' <out | sed "s/'/''/g")
equal "$(sql "WITH t(j) AS (SELECT '$json') SELECT json_valid(j)||' '||json_array_length(j,'$.rows') FROM t")" "1 6" \
    "JSON of the table: valid, 6 rows"
exits 0 ablate table mix --format md
has out "| base |"
exits 0 ablate table mix --format latex
has out '\begin{tabular}'
exits 0 ablate table mix --metric PPL
hasnt out acc_near
equal "$(sql 'SELECT count(*) FROM mix')" 6 "SELECT * FROM mix: rows"
equal "$(sql "SELECT n||' '||(PPL>1)||' '||(PPL_sd>0) FROM mix WHERE name='A/heads=4'")" "2 1 1" "SELECT FROM mix"
exits 0 ablate ls
has out mix
exits 0 ablate ls mix
has out "diverged at step"
exits 0 ablate show mix/base@2
has out "seed                  2"
has out "status                done"
exits 0 ablate show mix/base@1 --ini
cp out one.ini
exits 0 ablate run one.ini "${fast[@]}" --db one.db
equal "$(sql "SELECT m.name,quote(q.value) FROM result q JOIN metric m ON m.id=q.metric_id ORDER BY 1" one.db)" \
    "$(sql "SELECT metric,quote(value) FROM results WHERE experiment='mix' AND variant='base' AND seed=1 ORDER BY 1")" \
    "one run from the database alone"
exits 0 ablate watch mix/short --log
has out "error:"
exits 0 ablate report mix -o mix.html
has mix.html "<html"

echo "where the runs came from"
facts=$(sql "SELECT host IS NOT NULL AND pid>0 AND device LIKE '%thread%' AND json_valid(plugins_json) AND json_valid(argv)
    AND json_valid(build_json) AND parameters>1000 AND flops_step>1e4 AND tokens_second>0
    AND peak_memory>1e6 AND exit_code=0
    AND a.ended_at>=a.started_at AND log_path LIKE '%/log.txt' AS complete FROM attempt a JOIN run r ON r.id=run_id AND r.attempt=n
    JOIN variant v ON v.id=r.variant_id WHERE v.name IN('base','A/heads=1')")
equal "$(sort <<<"$facts" | uniq -c | tr -s ' ')" " 4 1" "runs whose provenance is complete"
for key in task attention_encoder attention_decoder attention_cross position optimizer; do
    equal "$(sql "SELECT length(json_extract(plugins_json,'$.$key.sha256')) FROM attempt WHERE run_id=1 AND n=1")" 64 \
        "hash of plugin $key"
done
equal "$(sql "SELECT json_extract(plugins_json,'$.attention_cross.sha256') FROM attempt WHERE run_id=1 AND n=1")" \
    "$(sha256sum "$(dirname "$program")/plugins/attention/scaled_dot.so" | cut -c1-64)" "hash of a plugin"
if commit=$(git -C "$(dirname "$program")" rev-parse HEAD 2>/dev/null); then
    equal "$(sql 'SELECT DISTINCT git_commit FROM attempt')" "$commit" "commit"
fi

echo "translating"
for i in $(seq 40); do echo "s000$((i % 6)) s000$((i * 7 % 6))" | cut -d' ' -f1-$((i % 2 + 1)); done >in.txt
exits 0 ablate translate --run mix/base --batch 1 <in.txt
cp out one.txt
exits 0 ablate translate --run mix/base --batch 64 <in.txt
equal "$(diff out one.txt)" "" "batches of 1 and 64"
equal "$(wc -l <out)" 40 "lines translated"
exits 0 ablate translate --run mix/base --nbest 2 --beam-size 2 <in.txt
equal "$(wc -l <out)" 80 "lines of --nbest 2"
exits 0 ablate translate --model "$(sql "SELECT path FROM artifact WHERE run_id=1 AND kind='model'")" <in.txt
equal "$(diff out one.txt)" "" "--model and --run"
exits 1 ablate translate --run mix/short <in.txt
has err "has no model"

echo "several workers, two hosts"
tiny many 60 >many.ini
printf '[sweep A]\nheads = 1, 2, 4, 8\n' >>many.ini
exits 0 ablate run many.ini "${fast[@]}" --workers 3 --seeds 1..2 --db workers.db
equal "$(sql "SELECT count(*)||' '||sum(status='done')||' '||sum(attempt) FROM run" workers.db)" "8 8 8" \
    "runs of three workers"
ablate run many.ini "${fast[@]}" --seeds 1..4 --db hosts.db >one.out 2>one.err &
ablate run many.ini "${fast[@]}" --seeds 1..4 --db hosts.db >two.out 2>two.err &
wait
equal "$(sql "SELECT count(*)||' '||sum(status='done')||' '||sum(attempt) FROM run" hosts.db)" "16 16 16" \
    "runs of two hosts: none twice"
for host in one two; do
    checks=$((checks + 1))
    grep -q '^done' $host.err || wrong "host $host did nothing: $(cat $host.err)"
done
# --workers auto runs as many runs at a time as fit, at the lowest priority.
{ tiny packed 20; printf '[sweep a]\nheads = 1, 4\n'; } >packed.ini
cores=$(env -u OMP_NUM_THREADS nproc)
exits 0 ablate run packed.ini --workers auto --progress plain --db packed.db
has err "at a time: "
has err "thread each"
[ "$(sed -n 's/^\([0-9]*\) runs* at a time.*/\1/p' err)" = "$cores" ] || [ "$cores" -gt 64 ] ||
    wrong "workers on $cores cores: $(grep 'at a time:' err)"
emulated=$(dirname "$program")/tests/emulated_cuda.so
if [ -e "$emulated" ]; then
    ABLATE_CUDA_MODULE=$emulated ABLATE_EMULATED_MEMORY=1200000000 exits 0 ablate run packed.ini --workers auto \
        --device cuda --dry-run
    has err "1 run at a time: 1 GPU, 1.2 GB of GPU memory free, up to 1.0 per run; "
    has err "of memory each and 1.0 GB of GPU memory each"
fi
if [ -e "$emulated" ]; then
    echo '3:4 5:6' >lengths.txt
    ABLATE_CUDA_MODULE=$emulated ABLATE_EMULATED_CAPABILITY=120 exits 0 "${ABLATE_BENCH:-$program-bench}" train --config mini --device gpu \
        --lengths lengths.txt --steps 1 --warmup 0
    has err "compiling kernels for kernels on the CPU, for tests: this build has no machine code for compute capability 12.0"
fi
ABLATE_CUDA_MODULE=$work/none.so exits 0 ablate run packed.ini -s device=cuda --dry-run
has err "no estimate: device cuda is not available: "
exits 2 ablate run packed.ini --device gpux
has err "device 'gpux': expected auto, cpu, cuda (or gpu) or cuda:N"
exits 2 ablate run packed.ini --workers many
has err "--workers many: expected a number from 1 to 64, or auto"

finish
