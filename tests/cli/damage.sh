#!/usr/bin/env bash
# Damaged databases: a random piece of each is overwritten, zeroed, cut off or exchanged. Every command that reads one,
# and `run`, gives its usual output, or ends with a message and an exit code from 1 to 127. Different output is right
# only if the damage changed a stored value: SQLite keeps no checksums, so it cannot notice that, but sqlite3's dump
# differs, too. Then translate, export and start_from get as many damaged models. ABLATE_TEST_DAMAGE=N: N databases [30;
# `ablate test --all`: 60; tests/reliability.sh damage: 2,000]. DAMAGE_SEED=N repeats the choices of an earlier call;
# KEEP=FOLDER keeps files.
source "$(dirname "$0")/common.bash" "$@"
n=${ABLATE_TEST_DAMAGE:-$([ -n "${ABLATE_TEST_LONG-}" ] && echo 60 || echo 30)}
command -v sqlite3 >/dev/null || { echo "skipped: found no sqlite3 here"; exit 77; }
RANDOM=${DAMAGE_SEED:-$$}
echo "seed ${DAMAGE_SEED:-$$}"
{ tiny whole 12 && printf '[sweep A]\nheads = 1, 4\n[variant b]\nd_ff = 16\n'; } >whole.ini
exits 0 ablate run whole.ini --threads 1 --progress none --seeds 1..3
exits 0 ablate tag whole/base@1 "note=a note"
sqlite3 results.db 'PRAGMA wal_checkpoint(TRUNCATE); VACUUM;' >/dev/null
mv results.db good.db && rm -f results.db-*
commands=("table whole" "table whole --stats full --json" "ls" "ls whole" "show whole/base@1" "report whole -o page.html"
    "query 'select * from results'" "watch whole --once" "diff whole/base@1 whole/b@1" "plan whole"
    "run whole.ini --threads 1 --progress none --seeds 1..3")
say() { # COMMAND: prints its output, page and exit code
    local code=0
    eval "timeout 60 $program $1" >out 2>err </dev/null || code=$?
    { cat out; [[ $1 != report* ]] || cat page.html; } 2>/dev/null
    echo "exit $code"
}
number() { echo $((((RANDOM << 30) + (RANDOM << 15) + RANDOM) % $1)); }
# damage FILE: changes a random piece of it
damage() {
    local size at length
    size=$(stat -c %s "$1")
    at=$(number "$size") length=$((1 << RANDOM % 13))
    case $((RANDOM % 6)) in
    0) head -c "$length" /dev/urandom | dd of="$1" bs=1 seek="$at" conv=notrunc status=none ;;
    1) head -c "$length" /dev/zero | dd of="$1" bs=1 seek="$at" conv=notrunc status=none ;;
    2) truncate -s "$at" "$1" ;;
    3) printf "\\x$(printf %02x $((RANDOM % 256)))" | dd of="$1" bs=1 seek="$at" conv=notrunc status=none ;;
    4) dd if="$1" bs=4096 skip="$((at / 4096))" count=1 status=none |
        dd of="$1" bs=4096 seek="$(($(number "$size") / 4096))" conv=notrunc status=none ;;
    5) printf "\\x$(printf %02x $((RANDOM % 256)))" | dd of="$1" bs=1 seek="$((at % ${2:-100}))" conv=notrunc status=none ;;
    esac
    [ "$(stat -c %s "$1")" -le $((2 * size)) ] || truncate -s "$size" "$1"
}
for k in "${!commands[@]}"; do
    cp good.db results.db
    say "${commands[k]}" >usual-"$k"
    rm -f results.db*
done
same=0 refused=0 other=0 lost=0
for ((i = 1; i <= n; i++)); do
    cp good.db bad.db
    damage bad.db
    k=$((RANDOM % ${#commands[@]}))
    cp bad.db results.db
    say "${commands[k]}" >said
    code=$(tail -1 said | sed 's/exit //')
    if cmp -s said usual-"$k"; then
        same=$((same + 1))
    elif [ "$code" -eq 124 ]; then
        wrong "seed $i, ${commands[k]}: no end" && cp bad.db "hung-$i.db"
    elif [ "$code" -gt 127 ]; then
        wrong "seed $i, ${commands[k]}: ended by signal $((code - 128)): $(tail -1 err)"
        [ -z "${KEEP:-}" ] || cp bad.db "$KEEP/crash-$i.db"
    elif [ "$code" -ne 0 ]; then
        [ -s err ] || wrong "seed $i, ${commands[k]}: exit code $code without a message"
        refused=$((refused + 1))
    elif [[ ${commands[k]} == run* ]]; then
        lost=$((lost + 1)) # `run` trains the lost runs again
    else
        cp bad.db dumped.db
        if [ "$(sqlite3 dumped.db .dump 2>&1 | grep -av '^PRAGMA')" = "$(sqlite3 good.db .dump | grep -av '^PRAGMA')" ]; then
            wrong "seed $i, ${commands[k]}: other output, and the file holds the same values: $(diff said usual-"$k" | head -3)"
            [ -z "${KEEP:-}" ] || cp bad.db "$KEEP/damage-$i.db"
        fi
        other=$((other + 1))
    fi
    checks=$((checks + 1))
    rm -rf results.db* page.html
done
echo "$n damaged databases: $same usual output, $refused refused, $other other values in the file, $lost trained again"

echo "an index that lacks all rows: SQLite itself would answer without them and without an error"
cp good.db lacks.db
sqlite3 -cmd '.dbconfig defensive off' lacks.db "CREATE TABLE t(a, b, UNIQUE(a, b)); PRAGMA writable_schema = ON;
    UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_t_1')
        WHERE name = 'sqlite_autoindex_run_1'; DELETE FROM sqlite_schema WHERE tbl_name = 't'" >/dev/null
for command in "${commands[@]}"; do
    cp lacks.db results.db
    equal "$(say "$command" | tail -1)" "exit 1" "$command"
    has err "is damaged (row 1 missing from index sqlite_autoindex_run_1"
    rm -f results.db*
done

echo "a file that was looked at is looked at again once it has changed"
export XDG_CACHE_HOME=$work/cache
exits 0 "${ABLATE_BENCH:-$program-bench}" host --folder . --keep large.db --runs 100 --points 2000 --workers 1 \
    --events 10 --rows 1 --seeds 1 --watched 100 --queued 100
exits 0 ablate ls --db large.db
equal "$(cat cache/ablate/looked/* | cut -d' ' -f1)" "$(stat -c %s large.db)" "the size in the mark"
exits 0 ablate ls --db large.db
cp large.db again.db
dd if=/dev/zero of=large.db bs=4096 seek=3 count=40 conv=notrunc status=none
exits 1 ablate ls --db large.db
has err "is damaged"
cp large.db again.db # the undamaged file had this name and size, so the stored mark "was checked" is also for this file
exits 1 ablate ls --db again.db
unset XDG_CACHE_HOME

model=$(find home/runs -name model.safetensors | head -1)
cp "$model" good.safetensors
printf 's0001 s0002 s0003\n' >in.txt
printf 's0001 s0002\ts0001 s0002\n' >pairs.tsv
tiny from 2 >from.ini && echo 'start_from = bad.safetensors' >>from.ini
commands=("translate --model bad.safetensors --threads 1 <in.txt" "export bad.safetensors --format ctranslate2 -o there"
    "export bad.safetensors --format gguf -o there" "score likelihood --model bad.safetensors --threads 1 <pairs.tsv"
    "run from.ini --threads 1 --progress plain")
header=$(od -An -td8 -N8 good.safetensors | tr -d ' ')
done=0 refused=0
for ((i = 1; i <= n; i++)); do
    cp good.safetensors bad.safetensors
    damage bad.safetensors $((header + 8))
    k=$((RANDOM % ${#commands[@]}))
    code=0
    eval "timeout 60 $program ${commands[k]}" >out 2>err || code=$?
    checks=$((checks + 1))
    if [ $code -ge 124 ]; then
        wrong "model $i, ${commands[k]}: $([ $code = 124 ] && echo no end || echo "ended by signal $((code - 128))"): $(tail -1 err)"
        [ -z "${KEEP:-}" ] || cp bad.safetensors "$KEEP/model-$i.safetensors"
    elif [ $code -ne 0 ]; then
        [ -s err ] || wrong "model $i, ${commands[k]}: exit code $code without a message"
        refused=$((refused + 1))
    else
        done=$((done + 1))
    fi
    rm -rf there results.db* home/runs/from
done
echo "$n damaged models: $done were used (its numbers may be others), $refused refused"
finish
