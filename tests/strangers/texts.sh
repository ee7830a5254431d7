#!/usr/bin/env bash
# A database from a stranger: commands print its texts without control bytes. Needs sqlite3 to forge one.
source "$(dirname "$0")/../cli/common.bash" "$@"
command -v sqlite3 >/dev/null || { echo "skipped: found no sqlite3 here"; exit 77; }

{ tiny strange 6 && printf '[variant one]\nheads = 1\n'; } >strange.ini
exits 0 ablate run strange.ini --threads 1 --progress none
cp results.db honest.db

echo "control characters in every text"
sqlite3 results.db "
    UPDATE experiment SET note='note'||char(27)||'[2J'||char(10)||'base  9.99';
    UPDATE variant SET name=name||char(10)||'faked  0.01'||char(27)||']0;title'||char(7), change=change||char(155)||'31m' WHERE NOT is_base;
    UPDATE variant SET config_json=replace(config_json,'\"task\":\"sequence\"','\"task\":\"\\u001b[31m\\nsteps = 1\"');
    UPDATE variant SET config_json=json_set(config_json,'$.heads','1'||char(27)||'[2J'||char(10)||'steps 1') WHERE NOT is_base;
    UPDATE metric SET name=name||char(27)||'[8m' WHERE name='acc';
    UPDATE attempt SET host='host'||char(27)||'c', error='error'||char(27)||'[1m', git_commit='commit'||char(10)||'[base]';
    INSERT INTO tag SELECT id,'note','tagged'||char(27)||'[5m'||char(10)||'status  done' FROM run;"
printf 'a line\033[2Jof the log\rover\n' >>"$(find home/runs -name log.txt | sort | head -1)"
# obeys FILE: true if it has a byte that a terminal would obey, or a line that begins like a forged row.
obeys() { LC_ALL=C grep -aqP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]' "$1"; }
for command in "table" "table --format md" "table --format latex" "table --format csv" "table --format json" \
    "table --stats full" "ls" "ls strange" \
    "ls --json" "show 1" "show 2" "show 2 --ini" "show 2 --json" "diff 1 2" "log 1" "log 2" "report -o page.html" \
    "query --list" \
    "query SELECT+*+FROM+runs" "query SELECT+*+FROM+settings --format md" "show strange/faked" "watch --once" \
    "plot -o plot.svg"; do
    read -ra words <<<"$command"
    words=("${words[@]//+/ }")
    ablate "${words[@]}" >out 2>err
    code=$?
    [[ $command == *csv* ]] && sed -i 's/\r$//' out # CSV's line end
    [ $code -lt 128 ] || wrong "ablate $command ended with $code"
    for file in out err page.html plot.svg; do
        [ -f $file ] || continue
        checks=$((checks + 1))
        obeys $file && wrong "ablate $command: $file has control characters:" &&
            LC_ALL=C grep -aP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' $file | head -3 | cat -v
        grep -aq '^faked\|^base  9.99\|^status  done\|^steps = 1' $file &&
            wrong "ablate $command: $file has a forged line"
    done
done
exits 0 ablate table
has out 'one\x0afaked  0.01\x1b]0;title\x07'
exits 0 ablate watch "$(sql "SELECT run FROM runs ORDER BY log LIMIT 1")" --log
has out 'a line\x1b[2Jof the log\x0dover'
exits 2 ablate tag 1 "note=$(printf 'two\nlines')"
has err "found a control character"

echo "triggers, views and virtual tables that ablate did not make"
forged() { # SQL: makes results.db, which differs from an honest one by this statement
    rm -f results.db* && cp honest.db results.db && sqlite3 results.db "$1"
}
while IFS='|' read -r sql name; do
    forged "$sql"
    for command in "table" "ls" "tag 1 note=hello" "run strange.ini --threads 1 --progress none"; do
        exits 1 ablate $command
        has err "results.db: found the $name, which ablate did not make"
    done
    equal "$(sqlite3 results.db 'SELECT count(*) FROM run')" 2 "runs after: $sql"
done <<'CASES'
CREATE TRIGGER empties AFTER INSERT ON tag BEGIN DELETE FROM run; END|trigger "empties"
CREATE VIEW mine AS SELECT 1|view "mine"
DROP VIEW summary; CREATE VIEW summary AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n) SELECT x FROM n|view "summary"
CREATE VIRTUAL TABLE notes USING fts5(x)|virtual table "notes"
CASES
forged ""
exits 0 ablate tag 1 note=hello

echo "files that a database names"
passwd() { hasnt out "root:"; }
for path in /etc/passwd /dev/zero "$work/pipe" "$work/home/runs/strange/000000000000-s1-g0/log.txt"; do
    forged "UPDATE attempt SET log_path='$path', plugins_json=json_replace(plugins_json,'$.'||(SELECT key FROM json_each(plugins_json) LIMIT 1)||'.file','$path');
        UPDATE artifact SET path='$path' WHERE kind='model'; UPDATE artifact SET path='/etc/'||kind||'/test.hyp' WHERE path LIKE '%/test.hyp'"
    rm -rf pipe home/runs/strange/000000000000-s1-g0
    mkfifo pipe
    mkdir -p home/runs/strange/000000000000-s1-g0 && ln -s /etc/passwd home/runs/strange/000000000000-s1-g0/log.txt
    exits 1 timeout 20 "$program" watch 1 --log
    has err "is not in a run's folder"
    passwd
    exits 1 timeout 20 "$program" translate --run 1 </dev/null
    passwd
    exits 1 timeout 20 "$program" show 1 --hyp test
    passwd
    exits 0 timeout 20 "$program" table
    exits 0 timeout 20 "$program" report -o page.html
done
rm -rf home/runs/strange/000000000000-s1-g0

echo "pipes, devices and folders in place of files are refused at once"
for at in "$work/pipe" /dev/zero "$work"; do
    exits 2 timeout 20 "$program" run "$at"
    has err ", expected a file"
    exits 1 timeout 20 "$program" import "$at"
    has err ", expected a file"
    exits 1 timeout 20 "$program" translate --model "$at" </dev/null
    has err ", expected a file"
done

echo "a long path"
exits 1 ablate ls --db "$(printf 'x%.0s' {1..2281})"
has err "found a path of"
has err "bytes to the database, expected at most 500"
finish
