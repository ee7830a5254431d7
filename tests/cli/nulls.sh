#!/usr/bin/env bash
# NULL in columns that never hold NULL, one column after another, in a database of more than 32 MB, which is not checked
# whole when it is opened. Each command gives its usual output, or ends with exit code 1 and a message that names table
# and column; none crashes, none omits anything. Tables that every command needs (experiments, rows, runs, metrics,
# parameters) are checked whenever a database is opened. Each column is tried with one command, in `ablate test --all`
# with four, with ABLATE_TEST_WHOLE (tests/reliability.sh whole) with all.
source "$(dirname "$0")/common.bash" "$@"
command -v sqlite3 >/dev/null || { echo "skipped: found no sqlite3 here"; exit 77; }
{ tiny holes 12 && printf '[sweep A]\nheads = 1, 4\n[variant b]\nd_ff = 16\n'; } >holes.ini
exits 0 ablate run holes.ini --threads 1 --progress none --seeds 1..3
exits 0 ablate tag holes/base@1 "note=a note"
exits 0 ablate table holes
sqlite3 results.db "PRAGMA journal_mode=DELETE; PRAGMA page_size=65536; INSERT INTO blob VALUES('padding', zeroblob(33<<20));
    INSERT INTO alias SELECT id,'twin','',99,'twin',NULL FROM variant WHERE name='b';
    INSERT INTO trial SELECT id,'b',0,0,'{}',1,12,'PPL',2.0,1.0,1.0,'chosen' FROM experiment; VACUUM" >/dev/null
cp --sparse=always results.db whole.db && rm -f results.db* # large pages: cp --sparse skips the zeros in them
cp -a home/runs whole-runs
checks=$((checks + 1))
[ "$(stat -c %s whole.db)" -gt $((32 << 20)) ] || wrong "the database is checked whole: $(stat -c %s whole.db) bytes"
commands=("table holes" "table holes --stats full --json" "ls" "ls holes" "show holes/base@1" "show holes/b@1 --ini"
    "report holes -o page.html" "watch holes --once" "diff holes/base@1 holes/b@1" "plan holes"
    "record holes again.json"
    "export holes -o tables" "log holes/base@1" "plot holes -o plot.svg"
    "run holes.ini --threads 1 --progress none --seeds 1..3")
say() { # COMMAND: prints its output, files and exit code
    local code=0
    rm -rf page.html again.json tables plot.svg home/runs
    cp -a whole-runs home/runs # `run` may train again, and writes another log then
    eval "timeout 60 $program $1" >out 2>err </dev/null || code=$?
    cat out page.html again.json plot.svg tables/*.csv 2>/dev/null | tr -d '\0'
    echo "exit $code"
}
: >varies
for k in "${!commands[@]}"; do
    cp whole.db results.db
    say "${commands[k]}" >usual-"$k"
    say "${commands[k]}" >again-"$k" # finds commands whose output differs between calls
    diff usual-"$k" again-"$k" >/dev/null || echo "${commands[k]}" >>varies
    rm -f results.db*
done

# hollow TABLE COLUMN KEY STATE: results.db with NULL in that column of one row. STATE kept: the schema still says NOT
# NULL, as in a damaged file. STATE free: the schema does not, so that SQLite cannot notice the NULL; if the table is
# one that is checked when a database is opened, the program then takes it for another program's table, and the command
# may print other rows.
hollow() {
    local text
    cp whole.db results.db
    text=$(sqlite3 results.db "SELECT replace(sql,'''','''''') FROM sqlite_master WHERE name='$1'")
    {
        echo "PRAGMA writable_schema=ON;"
        echo "UPDATE sqlite_master SET sql=replace(sql,'NOT NULL','') WHERE name='$1';"
    } | sqlite3 results.db
    sqlite3 results.db "PRAGMA ignore_check_constraints=ON;
        UPDATE \"$1\" SET \"$2\"=NULL WHERE \"$3\"=(SELECT max(\"$3\") FROM \"$1\")" || return
    [ "$4" != kept ] ||
        sqlite3 results.db "PRAGMA writable_schema=ON; UPDATE sqlite_master SET sql='$text' WHERE name='$1'"
}

every=16 # one more than the number of commands, so that the next column is tried with the next command
[ -z "${ABLATE_TEST_LONG-}" ] || every=4
[ -z "${ABLATE_TEST_WHOLE-}" ] || every=1
checked=" experiment variant alias metric param run "
same=0 refused=0 strange=0 n=0
while IFS='|' read -r table column key; do
    for state in kept free; do
        [[ $state = free || "$checked" == *" $table "* ]] || continue
        hollow "$table" "$column" "$key" $state || { wrong "cannot make $table.$column NULL" && continue; }
        mv results.db holed.db
        for k in "${!commands[@]}"; do
            n=$((n + 1))
            [ $((n % every)) = 0 ] || continue
            cp holed.db results.db
            say "${commands[k]}" >said
            code=$(tail -1 said | sed 's/exit //')
            checks=$((checks + 1))
            what="$table.$column ($state), ${commands[k]}"
            if [ "$code" -gt 123 ]; then
                wrong "$what: exit code $code: $(tail -1 err)"
            elif [ "$code" = 1 ] && grep -q "is damaged" err; then
                refused=$((refused + 1))
                [[ "$checked" == *" $table "* ]] || has err "found NULL in "
            elif [[ $state = free && "$checked" == *" $table "* ]]; then
                strange=$((strange + 1))
            elif cmp -s said usual-"$k" || grep -qxF -- "${commands[k]}" varies; then
                same=$((same + 1))
                [ $state = free ] || wrong "$what: not refused"
            else
                wrong "$what: other output without a message, exit code $code: $(tail -2 err)"
                diff said usual-"$k" | head -4
            fi
            rm -rf results.db*
        done
    done
done < <(sqlite3 whole.db "SELECT m.name||'|'||c.name||'|'||(SELECT name FROM pragma_table_info(m.name) WHERE pk=1)
    FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type='table' AND c.\"notnull\" AND NOT c.pk
    AND m.name IN('experiment','variant','alias','metric','param','run','attempt','result','artifact','tag','trial',
    'comparison','compared')
    UNION ALL SELECT 'metric|name|id'")
echo "$refused refused, $same with the usual output, $strange of a table that allows NULL"
checks=$((checks + 1))
[ $refused -gt $((160 / every)) ] || wrong "only $refused calls were refused"
finish
