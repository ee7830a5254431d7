#!/usr/bin/env bash
# A database from a stranger: its texts are shown and not obeyed. Needs sqlite3 to forge one.
source "$(dirname "$0")/common.bash" "$@"
command -v sqlite3 >/dev/null || { echo "skipped: found no sqlite3 here"; exit 77; }

{ tiny strange 6 && printf '[variant one]\nheads = 1\n'; } >strange.ini
exits 0 ablate run strange.ini --threads 1 --progress none
cp results.db honest.db

echo "control characters in every text"
sqlite3 results.db "
    UPDATE experiment SET note='note'||char(27)||'[2J'||char(10)||'base  9.99';
    UPDATE variant SET name=name||char(10)||'faked  0.01'||char(27)||']0;title'||char(7), change=change||char(155)||'31m' WHERE NOT is_base;
    UPDATE variant SET config_json=replace(config_json,'\"task\":\"sequence\"','\"task\":\"\\u001b[31m\\nsteps = 1\"');
    UPDATE metric SET name=name||char(27)||'[8m' WHERE name='acc';
    UPDATE attempt SET host='host'||char(27)||'c', error='error'||char(27)||'[1m', git_commit='commit'||char(10)||'[base]';
    INSERT INTO tag SELECT id,'note','tagged'||char(27)||'[5m'||char(10)||'status  done' FROM run;"
printf 'a line\033[2Jof the log\rover\n' >>"$(find home/runs -name log.txt | sort | head -1)"
# No byte that a terminal obeys, and no line that begins like a forged row.
obeys() { LC_ALL=C grep -aqP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]' "$1"; }
for command in "table" "table --format md" "table --format latex" "table --format csv" "table --format json" "table --stats full" "ls" "ls strange" \
    "ls --json" "show 1" "show 2" "show 2 --ini" "show 2 --json" "diff 1 2" "log 1" "log 2" "report -o page.html" "query --list" \
    "query SELECT+*+FROM+runs" "query SELECT+*+FROM+settings --format md" "show strange/faked" "watch --once" "plot -o plot.svg"; do
    read -ra words <<<"$command"
    words=("${words[@]//+/ }")
    ablate "${words[@]}" >out 2>err
    code=$?
    [[ $command == *csv* ]] && sed -i 's/\r$//' out # CSV's line end
    [ $code -lt 128 ] || wrong "ablate $command ended with $code"
    for file in out err page.html plot.svg; do
        [ -f $file ] || continue
        checks=$((checks + 1))
        obeys $file && wrong "ablate $command: $file has control characters:" && LC_ALL=C grep -aP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' $file | head -3 | cat -v
        grep -aq '^faked\|^base  9.99\|^status  done\|^steps = 1' $file && wrong "ablate $command: $file has a forged line"
    done
done
exits 0 ablate table
has out 'one\x0afaked  0.01\x1b]0;title\x07'
exits 0 ablate log "$(sql "SELECT run FROM runs ORDER BY log LIMIT 1")"
has out 'a line\x1b[2Jof the log\x0dover'
exits 2 ablate note 1 "$(printf 'two\nlines')"
has err "found a control character"
finish
