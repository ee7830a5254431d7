#!/usr/bin/env bash
# loop.sh PROGRAM SOURCE_FOLDER LIBRARY [whole|half|N] [COMMAND...] - fault loops: every command with its 1st, 2nd,
# 3rd ... allocation, write, sync, rename, removal, open, fork, mapping or database call failing (fault.c, the LIBRARY),
# once, and from then on.
#
# Allowed outcomes: success with the output of an undisturbed run, or an error message with exit code 1 to 127.
# Afterwards the same command without faults must give its undisturbed output, and the database must be intact. N: that
# many random calls per command and kind fail in turn [2]; `half`: one call, for a random half of the pairs of command
# and kind; `whole`: every call. ABLATE_FAULT_SEED repeats a random choice, ABLATE_FAULT_KINDS="open write" selects
# kinds, ABLATE_FAULT_SECONDS=600 is the time limit of a command on a shared machine. ABLATE_FAULT_KILL=yes: instead of
# failing, the call kills its process; the conditions for afterwards stay the same; `whole` then means a call at each
# place in the program.
source "$(dirname "$0")/../cli/common.bash" "$1" "$2"
[ -r "$3" ] || { echo "loop.sh: found no library to preload at $3; ninja -C build tests/fault.so" >&2; exit 2; }
library=$3 how_many=${4:-2} half=
[ "$how_many" != half ] || how_many=1 half=1
shift $(($# < 4 ? $# : 4))
only=" $* "
export GOMP_SPINCOUNT=2000 ABLATE_TASK_LEASE=1 ABLATE_FAULT_COUNT=$work/count
export ABLATE_CUDA_MODULE=none # the CUDA runtime itself crashes if an allocation fails while it starts
limit=${ABLATE_FAULT_SECONDS:-60}
seed=${ABLATE_FAULT_SEED:-$((10#$(date +%N) % 32768))}
RANDOM=$seed
kill=${ABLATE_FAULT_KILL:+:kill}
every="open write fsync rename unlink fork sqlite"
read -ra kinds <<<"${ABLATE_FAULT_KINDS:-${kill:+$every}${kill:-malloc $every mmap}}"
kinds=("${kinds[@]%:kill}")
echo "calls drawn with ABLATE_FAULT_SEED=$seed"

# ---- databases that the commands start from: $work/start after a small sweep, $work/half after one killed midway ----
export ABLATE_HOME=$work/home ABLATE_DB=$work/home/results.db
{
    tiny faults 8
    printf '[sweep A]\nheads = 1, 2\n'
} | sed 's/^eval_every.*/eval_every = 4/; s/^save_every.*/save_every = 3/; s/^warmup.*/warmup = 2/
    s/^sequence.train_examples.*/sequence.train_examples = 40/; s/^sequence.test_examples.*/sequence.test_examples = 5/' >faults.ini
printf 's0001 s0002\ns0003\n' >in.txt
printf 's0001 s0002\ts0001 s0002\n' >pairs.tsv
for i in {100..999}; do printf 's0%s s0002\ts0%s\n' "$i" "$i"; done >many.tsv
printf 'model,seed,acc\nbase,1,0.5\nbase,2,0.75\nwide,1,0.25\nwide,2,1\n' >runs.csv
printf '0-0 1-1\n' >links.txt
printf '(S (NP (NN dog)) (VP (VB runs)))\n' >tree.txt
mkdir -p empty/experiments home/experiments
cp -r "$source/experiments/published" empty/experiments && cp -r "$source/experiments/published" home/experiments
exits 0 ablate run faults.ini --threads 1 --progress none
exits 0 ablate record faults record.json
cat >writer.ini <<'INI' # for generate
[experiment]
name = writer
[base]
task = lm
lm.file = small.txt
lm.context = 8
layers = 1
d_model = 16
d_ff = 32
heads = 2
batch_tokens = 32
steps = 2
eval_every = 2
save_every = 2
INI
mkdir texts && awk 'BEGIN { for (i = 0; i < 60; i++) print "the cat sat on the mat" }' >texts/small.txt
export ABLATE_DATA=$work/texts
exits 0 ablate run writer.ini --threads 1 --progress none
mv home start
cp -r empty home
ABLATE_FAULT=fsync:9:on LD_PRELOAD=$library ablate run faults.ini --threads 1 --progress none >out 2>err
mv home half
cp -r empty older # a database of the first version of the schema
gunzip -c "$source/tests/data/versions/3772abc.db.gz" >older/results.db

# NAME|STATE|COMMAND|QUERY: the query's answer is compared instead of the command's output; -: nothing is compared. A
# script of tests/cli may list the cases of its command, in lines `# fault: NAME|...`.
cases='run|empty|run faults.ini --threads 1 --progress plain --rerun failed|SELECT variant,seed,metric,quote(value) FROM results ORDER BY 1,2,3
resume|half|run faults.ini --threads 1 --progress plain --rerun failed|SELECT variant,seed,metric,quote(value) FROM results ORDER BY 1,2,3
dry-run|empty|run faults.ini --dry-run|
table|start|table faults|
latex|start|table faults --format latex|
published|start|table table3|
ls|start|ls faults|
show|start|show faults/base|
watch|start|watch faults --once|-
diff|start|diff faults/base@1 faults/base@1|
note|start|tag faults/base note=busy|SELECT value FROM tag WHERE tag='\''note'\''
tag|start|tag faults/base paper=yes|SELECT value FROM tag WHERE tag='\''paper'\''
log|start|watch faults/base --log|
rm|start|rm faults/base --yes|SELECT count(*) FROM run
upgrade|older|ls old|
restore|start|rm --experiment faults --undo|
query|start|query "SELECT row, PPL FROM faults"|
report|start|report faults -o page.html|
plot|start|plot faults -o plot.svg|
plan|start|plan faults.ini --detect "1 PPL" --sd 1|-
new|empty|new attention mine_$RANDOM$RANDOM|-
sync|start|sync faults|-
export|start|export faults -o tables|
man|empty|man|
plugins|empty|list plugins attention|
check|empty|check optimizer/sgd|
predict|start|predict --run faults/base --threads 1 <in.txt|
translate|start|translate --run faults/base --threads 1 <in.txt|
generate|start|generate --run writer/base --tokens 5 --seed 1|
attention|start|attention --run faults/base --text s0001 -o heads.html|
heads|start|heads faults/base|
agree|empty|score agree in.txt in.txt|
bleu|empty|score bleu --ref in.txt --tok none <in.txt|
chrf|empty|score chrf --ref in.txt --word-order 2 <in.txt|
ter|empty|score ter --ref in.txt --normalized <in.txt|
likelihood|start|score likelihood --run faults/base --threads 1 <pairs.tsv|
align|start|align --run faults/base --threads 1 <pairs.tsv|
aer|empty|score aer --gold links.txt <links.txt|
f1|empty|score f1 --gold tree.txt <tree.txt|
data|empty|list corpora|
record|start|record faults again.json|
csv|empty|import runs.csv --as mine --row model --metric acc|SELECT variant,seed,metric,quote(value) FROM results ORDER BY 1,2,3
data-check|empty|data check ./many.tsv|
model|start|export faults/base --format ctranslate2 -o model|
tensorboard|start|export faults --format tensorboard -o events|
launcher|empty|run faults.ini --threads 1 --progress plain --rerun failed --launcher "env {}"; c=$?; sync_all|SELECT variant,seed,value FROM results ORDER BY 1,2
import|empty|import record.json|SELECT variant,metric,quote(value) FROM results ORDER BY 1,2
reference|empty|list keys|
devices|empty|list devices|-
completion|empty|completion bash|'
cases+=$'\n'$(sed -n 's/^# fault: //p' "$source"/tests/cli/*.sh)

# ---- one command ----

# Gives each command a home of its own: processes that an engine started for the command before may live on.
fresh() {
    local left
    left=$(leftovers)
    [ -z "$left" ] || kill -9 $left 2>/dev/null
    rm -rf home && cp -a "$state" home
}
# Waits for the results of the tasks that a launcher started. c: the launcher's exit code.
sync_all() {
    local s=0
    timeout -s KILL "$limit" "$program" sync --wait || s=$?
    return $((s > c ? s : c))
}
# Runs the command, writes its output (or the query's answer) to $1, and returns the command's exit code.
perform() {
    local code=0 c=0
    eval "timeout -s KILL $limit \"\$program\" $command" >"$1" 2>err || code=$?
    return $code
}
# Prints the query's answer to $1, if the case has a query.
answer() {
    if [ ${#query} -gt 1 ]; then "$program" query "$query" --format csv >"$1" 2>>err; fi
}
calls() { od -An -td8 -j"$1" -N8 count | tr -d ' '; }

declare -A outcome=([equal]=0 [warned]=0 [refused]=0 [killed]=0)
# attempt KIND:N: runs the command with that fault, and once more without
attempt() {
    local code=0 what="$name with $1" began=$SECONDS
    rm -f count && fresh
    ABLATE_FAULT=$1 LD_PRELOAD=$library perform faulty || code=$?
    [ "$(calls 8)" != 0 ] || return 1
    checks=$((checks + 1))
    cp err words
    ! grep '^fault: signal ' words || wrong "$what: a signal to a process that has been waited for"
    if [ -n "$kill" ] && [ $code = 137 ] && [ $((SECONDS - began)) -lt "$limit" ]; then
        outcome[killed]=$((outcome[killed] + 1))
    elif [ $code -ge 128 ]; then
        wrong "$what: killed by a signal ($code)" && tail -3 words
    elif [ $code = 0 ] && grep -q '^warning: ' words; then
        # a warning explains other output: a plugin could not be opened, for example
        outcome[warned]=$((outcome[warned] + 1))
    elif [ $code = 0 ]; then
        outcome[equal]=$((outcome[equal] + 1))
        answer faulty
        [ -n "$varies" ] || cmp -s faulty calm || { wrong "$what: exit code 0, but its output is another" &&
            diff faulty calm | head -5 && tail -3 words; }
    else
        outcome[refused]=$((outcome[refused] + 1))
        # `ablate check` prints its failures to standard output
        [ -s words ] || { [ "$name" = check ] && [ -s faulty ]; } || wrong "$what: exit code $code without a word"
    fi
    code=0
    perform after || code=$?
    answer after
    # after a command that failed, its repetition may have less to do, as some files are removed already
    [ $code = $calm_code ] || [ -n "$query" ] || { wrong "$what: afterwards exit code $code, undisturbed $calm_code" &&
        tail -3 err; }
    [ -n "$varies" ] || cmp -s after calm || { wrong "$what: afterwards the output is another" && diff after calm |
        head -5; }
    if [ -e home/results.db ]; then equal "$(sql 'PRAGMA integrity_check')" ok "$what: integrity_check"; fi
    return 0
}

while IFS='|' read -r name state command query; do
    [ -n "$name" ] || continue
    [[ "$only" = "  " || "$only" == *" $name "* ]] || continue
    calm_code=0 varies=
    fresh
    perform calm || calm_code=$?
    answer calm
    [ $calm_code = 0 ] || { wrong "$name: undisturbed exit code $calm_code" && cat err; }
    [ ${#query} -le 1 ] || [ -s calm ] || { wrong "$name: nothing to compare: $query" && cat err; }
    fresh
    perform again
    answer again
    cmp -s calm again || varies=yes
    [ "$query" != - ] || varies=yes
    for kind in "${kinds[@]}"; do
        [ -z "$half" ] || [ $((RANDOM % 2)) = 0 ] || continue
        by_place=
        { [ "$how_many" = whole ] && [ $kind != malloc ] && [ $name != launcher ] && [ -z "$kill" ]; } || by_place=1
        [ -z "$by_place" ] && unset ABLATE_FAULT_PLACES || export ABLATE_FAULT_PLACES=1
        rm -f count && fresh # with N = 0 calls are only counted
        ABLATE_FAULT=$kind:0 LD_PRELOAD=$library perform faulty
        n=$(calls 0)
        if [ "$how_many" = whole ]; then
            for ((i = 1; i <= n + 5; i++)); do attempt "$kind:$i$kill" || break; done
            for ((i = 1; i <= n && ${#kill} == 0; i = i * 3 / 2 + 1)); do attempt $kind:$i:on || break; done
        else
            for ((i = 0; i < how_many && i < n; i++)); do
                stays=$kill
                [ $((RANDOM % 4)) -gt 0 ] || [ -n "$kill" ] || stays=:on
                attempt $kind:$((RANDOM % n + 1))$stays
            done
        fi
        [ -n "$by_place" ] && echo "$name: $kind: $n places" || echo "$name: $kind: $n calls"
    done
done <<<"$cases"
[ -z "$kill" ] || echo "kills: ${outcome[killed]} ended the command"
echo "faults: ${outcome[equal]} made no difference, ${outcome[warned]} brought a warning, ${outcome[refused]} were answered with an error in words"

# Every command of `ablate help` must be in the list above, or be left out for a reason below.
left_out=" bench test help parse worker man predict "
# bench: timings; test: needs a build; help: prints text; parse: needs a treebank (tests/cli/parsing.sh); worker: a run
# starts it; man: prints the help's tables; predict: has the same code as translate
for command in $(ablate help | awk '/^  [a-z]/ { print $1 }'); do
    [[ "$left_out" == *" $command "* ]] || grep -q "|[^|]*|$command" <<<"$cases" ||
        wrong "no fault loop over 'ablate $command'"
done
finish
