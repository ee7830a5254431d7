#!/usr/bin/env bash
# Nothing is written, removed or started outside of the folders that the user named, whatever names a database, a
# record, a folder of runs or a published folder contains. Needs sqlite3 and python3.
source "$(dirname "$0")/../cli/common.bash" "$@"
for tool in sqlite3 python3; do
    command -v $tool >/dev/null || { echo "skipped: found no $tool here"; exit 77; }
done

{ tiny strange 4 | sed 's/^\(eval\|save\)_every.*/\1_every = 4/'; } >strange.ini
exits 0 ablate run strange.ini --threads 1 --progress none
exits 0 ablate record strange record.json
cp results.db honest.db && cp -r home honest

# files of the user outside of the working folder
mkdir -p outside/deep/stranger outside/0123456789ab-s1-g0
config=0123456789ab-s1-g0
for file in mine.c mine.h step-1.safetensors best-2.safetensors config.json log.txt state.safetensors deep/mine.c job \
    $config/log.txt $config/config.json $config/step-4.safetensors $config/x.tmp; do
    echo "the user's own $file" >"outside/$file"
done
echo "the stranger's" >outside/deep/stranger/mine.c
ls_outside() { find outside -printf '%p %y %l\n' -type f -exec sha256sum {} \; | sort; }
ls_outside >before
untouched() { # NAME
    checks=$((checks + 1))
    ls_outside | diff before - >changed || { wrong "$1 changed files outside:" && sed 's/^/    | /' changed; }
}
mkdir bin work
link() { rm -rf "$1" && ln -s "$work/outside" "$1"; }

# names, one per line, as JSON strings
cat >names <<'NAMES'
../../outside/mine
../../../outside/mine
../outside/mine
../mine
../../mine
OUT/mine
./../../outside/mine
a/../../../outside/mine
../../outside/mine\u0000
../../outside/mine\n
link/mine
/mine
.
..
%2e%2e/mine
NAMES
sed -i "s|OUT|$work/outside|" names
echo "publish: names of plugins, also of an imported record"
while IFS= read -r name; do
    cp honest.db bad.db
    python3 - "$name" "$work/outside/deep/stranger/x.so" <<'PY'
import json, sqlite3, sys
name = json.loads('"%s"' % sys.argv[1])
plugin = json.dumps({'attention_encoder': {'name': name, 'sha256': 'ab' * 32, 'file': sys.argv[2]}})
d = sqlite3.connect('bad.db')
d.execute('UPDATE attempt SET plugins_json = ?', (plugin,))
d.commit()
record = json.load(open('record.json'))
for run in record['runs']: run['attempts'][0]['plugins_json'] = plugin
json.dump(record, open('bad.json', 'w'))
PY
    mkdir -p work/outside/deep && echo "the user's own" >work/outside/mine.c && cp work/outside/mine.c work/mine.c
    exits 0 ablate publish strange work/outside/deep/folder --db bad.db
    has err "left out a run's plugin, whose name is not valid"
    "$program" import bad.json --db new.db >/dev/null 2>&1 &&
        exits 0 ablate publish strange.recorded work/outside/deep/other --db new.db
    untouched "publish, plugin $name"
    equal "$(cat work/outside/mine.c work/mine.c | sort -u)" "the user's own" "files beside, plugin $name"
    equal "$(find work/outside -name '*.c' | wc -l)" 1 "sources after a plugin $name"
    rm -rf work/* new.db*
done <names

echo "verify: names in SHA256SUMS"
exits 0 ablate publish strange folder
ln -s "$work/outside" folder/link && ln -s "$work/outside/mine.c" folder/mine.c
cp folder/SHA256SUMS sums
while IFS= read -r name; do
    python3 -c 'import json, sys; sys.stdout.buffer.write(("ab" * 32 + "  " + json.loads("\"%s\"" % sys.argv[1]) + "\n").encode())' \
        "$name" >folder/SHA256SUMS
    exits 1 ablate verify folder --runs 0
    grep -q "expected one below this folder\|zero byte\|differs\|cannot be opened\|expected a hash" err out ||
        wrong "verify, a file $name: $(cat err)"
done <names
for name in link/mine.c mine.c ../outside/mine.c "$work/outside/mine.c"; do
    printf '%s  %s\n' "$(sha256sum <outside/mine.c | cut -c1-64)" "$name" >folder/SHA256SUMS
    exits 1 ablate verify folder --runs 0
    has err "SHA256SUMS:1: folder: found the name"
done
untouched verify

echo "experiments and rows with such names"
for name in ../outside/mine ../../outside/mine "$work/outside/mine" .. .; do
    cp honest.db bad.db
    sqlite3 bad.db "UPDATE experiment SET name='$name'; UPDATE variant SET name='$name/../../outside/x'"
    for format in tensorboard csv; do
        "$program" export "$name" --db bad.db --format $format -o work/exported >/dev/null 2>&1
    done
    "$program" record "$name" --db bad.db >/dev/null 2>&1
    "$program" publish "$name" work/published --db bad.db >/dev/null 2>&1
    "$program" report --db bad.db -o work/page.html >/dev/null 2>&1
    "$program" sync "$name" --db bad.db >/dev/null 2>&1
    "$program" rm --experiment "$name" --yes --db bad.db >/dev/null 2>&1
    untouched "an experiment $name"
    rm -rf work/*
done
equal "$(find . -path ./outside -prune -o -name 'mine*' -print | sort | paste -sd' ')" "./folder/mine.c" "files of these names"
mkdir work/exported && ln -s "$work/outside" work/exported/base@1
exits 1 ablate export strange --format tensorboard -o work/exported
has err 'found the name "base@1" with a link that leads out'
untouched "export through a link"

echo "rm: folders that a database names, and links in the folder of runs"
run=$(cd home/runs/strange && echo *-s1-g0)
for path in "$work/outside/0123456789ab-s1-g0" "home/runs/strange/../../../outside/0123456789ab-s1-g0" \
    "$work/home/runs/strange/0123456789ab-s1-g0" "$work/home/runs/link/0123456789ab-s1-g0" "$work/home/runs/strange/$run/../0123456789ab-s1-g0"; do
    rm -rf results.db* home && cp honest.db results.db && cp -r honest home
    ln -s "$work/outside/0123456789ab-s1-g0" home/runs/strange/0123456789ab-s1-g0
    ln -s "$work/outside" home/runs/link
    sqlite3 results.db "UPDATE attempt SET log_path='$path/log.txt'"
    exits 0 ablate rm 1 --yes
    untouched "rm, a log in $path"
done

echo "run: checkpoints that a link in the folder of runs leads to"
rm -rf results.db* home && cp honest.db results.db && cp -r honest home
hash=${run%-s1-g0}
sed 's/^seeds.*//' strange.ini >more.ini
ln -s "$work/outside/0123456789ab-s1-g0" "home/runs/strange/$hash-s1-g00"
exits 0 ablate run more.ini --threads 1 --progress none --seeds 1,2
untouched "run beside a link to a folder with checkpoints"

echo "sync: folders in claims"
export ABLATE_TASK_LEASE=0.2
rm -rf results.db* home && cp honest.db results.db && cp -r honest home
exits 0 ablate run strange.ini --threads 1 --progress none --seeds 2 --launcher "sh -c false" --detach
claims=$(echo home/runs/strange/engine/*/claims)
wait_for 20 test -s "${claims%claims}status-0" # the command has failed, so an honest host would start its worker again
cp "$claims" claims
for folder in "$work/outside" "$work/home/runs/strange/../../../outside" ../../outside; do
    awk -F'\t' -v OFS='\t' -v f="$folder" '{ $7 = f } 1' claims >"$claims"
    exits 1 ablate sync
    has err "$claims:1: found the folder $folder, expected one below"
    untouched "sync, a run in $folder"
done
cp claims "$claims"

echo "sync: a command that another wrote into the folder of runs"
command=${claims%claims}command
printf '1\nsh -c "touch %s/outside/STARTED"\n' "$work" >"$command"
exits 0 timeout 60 "$program" sync --wait
untouched "sync, a command of another"
equal "$(sql "SELECT status, error LIKE '%command is not started again: this user did not write it' FROM runs WHERE seed = 2")" \
    "killed,1" "the lost run"

echo "sync: Ctrl-C ends no process that another wrote into the folder of runs"
# an engine that never runs anything
exits 0 ablate run strange.ini --threads 1 --progress none --seeds 3 --launcher "sh -c true" --detach
host=$(ls -d home/runs/strange/engine/*/host-1 | tail -1)
setsid sleep 300 &
victim=$!
owner=$(cat "$host") # PLACE/PROCESS/START
printf '%s/%s/%s' "${owner%/*/*}" $victim "$(sed 's/.*) //' /proc/$victim/stat | cut -d' ' -f20)" >"$host"
env --default-signal=INT timeout -s INT -k 20 1 "$program" sync --wait >out 2>err
kill -0 $victim 2>/dev/null || wrong "sync has ended process $victim, which it did not start: $(cat err)"
checks=$((checks + 1))
kill $victim 2>/dev/null
finish
