#!/usr/bin/env bash
# The program opens code only if the user named it. Each of the names below is written into a database, a record, a
# published folder, a model, and an INI that only completion reads. Every command then reads these files. Needs sqlite3
# and python3.
source "$(dirname "$0")/../cli/common.bash" "$@"
for tool in sqlite3 python3; do
    command -v $tool >/dev/null || { echo "skipped: found no $tool here"; exit 77; }
done

# Opening the library creates the file PWNED; building the source leaves evil.so beside it.
mkdir art source
cat >source/evil.c <<C
#include <stdio.h>
__attribute__((constructor)) static void go(void) { FILE *f = fopen("$work/PWNED", "w"); if (f) fclose(f); }
C
cc -shared -fPIC source/evil.c -o art/evil.so
cp art/evil.so art/evil && cp art/evil.so "art/per%s%n.so" && cp art/evil.so "art/a blank.so" && cp art/evil.so evil.so
ln -s evil.so art/link
cp art/evil.so "art/$(printf 'l%.0s' {1..240}).so"
printf 'open("%s", "w")\n' "$work/PWNED" >art/evil.py
shut() { # NAME: fails if code ran since the last call
    checks=$((checks + 1))
    [ ! -e PWNED ] && [ ! -e source/evil.so ] || wrong "code ran: $1"
    rm -f PWNED source/evil.so
}
"$program" list plugins art/evil.so >/dev/null 2>&1
[ -e PWNED ] || wrong "the planted code does not show that it runs"
rm -f PWNED
"$program" list plugins art/evil.py >out 2>err
[ -e PWNED ] || grep -q "needs Python" err || wrong "the planted Python does not show that it runs: $(cat err)"
rm -f PWNED

# names, one per line, as JSON strings; A stands for the folder art
cat >names <<'NAMES'
A/evil.so
A/evil.py
art/evil.py
same\nattention = A/evil.py
A/evil
A/link
A/per%s%n.so
A/a blank.so
A/LONG.so
./art/evil
art/evil
../WORK/art/evil.so
./evil.so
evil.so
/proc/self/cwd/art/evil
A/../source/evil.c
source/evil.c
A//evil
A/evil.so 
 A/evil.so
\tA/evil.so\t
A/evil.so ; x
A/evil # x
scaled_dot, A/evil
A/evil, scaled_dot
scaled_dot/A/evil
3*scaled_dot + 1*A/evil
3*A/evil + 1*scaled_dot
\"A/evil\"
\"scaled_dot, A/evil\"
same\nplugin_path = A
same\n[sweep x]\nattention = A/evil
A/evil\u0000.x
tune(A/evil, 2)
%A/evil
NAMES
sed -i "s|LONG|$(printf 'l%.0s' {1..240})|; s|WORK|${work##*/}|; s|A/|$work/art/|g; s|= A\$|= $work/art|" names
cat >keys <<KEYS
attention_encoder	$work/art/evil
attention	$work/art/evil
layers.encoder.0.attention	$work/art/evil
task	$work/art/evil
norm	$work/art/evil
optimizer	$work/art/evil
position	$work/art/evil
plugin_path	$work/art
plugin_path 	$work/art
 plugin_path	$work/art
\\tplugin_path	$work/art
plugin_path;	$work/art
PLUGIN_PATH	$work/art
plugin_path/norm	$work/art/layer_norm
attention_encoder 	$work/art/evil
attention_encoder/norm	$work/art/evil/layer_norm
[base]\\nplugin_path	$work/art
KEYS

{ tiny strange 4 | sed 's/^\(eval\|save\)_every.*/\1_every = 4/'; } >strange.ini
exits 0 ablate run strange.ini --threads 1 --progress none
exits 0 ablate record strange record.json
model=$(find home/runs -name model.safetensors | head -1)
cp results.db honest.db
# forge.py KEY VALUE (both as JSON): puts them into the settings of bad.json, bad.db and bad.safetensors.
cat >forge.py <<'PY'
import json, shutil, sqlite3, struct, sys
key, value = (json.loads('"%s"' % x) for x in sys.argv[1:3])
record = json.load(open('record.json'))
for row in record['variants']: row['config'][key] = value
json.dump(record, open('bad.json', 'w'))
shutil.copy('honest.db', 'bad.db')
d = sqlite3.connect('bad.db')
for i, text in d.execute('SELECT id, config_json FROM variant').fetchall():
    d.execute('UPDATE variant SET config_json = ? WHERE id = ?', (json.dumps({**json.loads(text), key: value}), i))
d.execute('UPDATE attempt SET plugins_json = ?', (json.dumps({key: {'name': value, 'sha256': 'ab' * 32, 'file': value}}),))
d.commit()
whole = open(sys.argv[3], 'rb').read()
n = struct.unpack('<Q', whole[:8])[0]
head = json.loads(whole[8:8 + n])
meta = head['__metadata__']
meta['config'] = json.dumps({**json.loads(meta['config']), key: value})
meta['plugins'] = json.dumps({**json.loads(meta['plugins']), key: {'name': value, 'sha256': 'ab' * 32, 'file': value}})
text = json.dumps(head).encode()
text += b' ' * (-len(text) % 8)
open('bad.safetensors', 'wb').write(struct.pack('<Q', len(text)) + text + whole[8 + n:])
PY

# Each command below reads the forged files bad.*; any output is allowed, but the command must open no code.
cat >every <<'COMMANDS'
verify bad.json --seed 1
replay strange/base --db bad.db --step 2
translate --model bad.safetensors
COMMANDS
cat >once <<'COMMANDS'
table strange --db bad.db
table strange --db bad.db --stats full
ls --db bad.db
ls strange --db bad.db
show 1 --db bad.db
show 1 --db bad.db --ini
show 1 --db bad.db --hyp test
diff 1 1 --db bad.db
log 1 --db bad.db
plan strange --db bad.db --detect 1
report --db bad.db -o page.html
plot --db bad.db -o plot.svg
export strange --db bad.db --format csv -o exported
record strange again.json --db bad.db
publish strange published --db bad.db
sync --db bad.db
gate strange --db bad.db
query --db bad.db SELECT+*+FROM+runs
bench layers --db bad.db --into strange --length 8
predict --db bad.db --run 1
translate --db bad.db --run 1
run strange.ini --db bad.db --threads 1 --progress none
import bad.json --db new.db
verify bad.json --runs 0
export --model bad.safetensors --format huggingface -o model
attention --model bad.safetensors
heads --model bad.safetensors
patch --model bad.safetensors
score likelihood --model bad.safetensors
generate --model bad.safetensors
plugins
completion words 3 ablate table -
completion words 3 ablate show strange/
COMMANDS
walk() { # FILE WHAT
    local words line
    while IFS= read -r line; do
        read -ra words <<<"$line"
        words=("${words[@]//+/ }")
        echo "a b" | timeout 60 "$program" "${words[@]}" >out 2>err
        [ $? -lt 124 ] || wrong "$line, $2: ended with $?"
        shut "$line, $2"
    done <"$1"
    rm -rf exported published model new.db* again.json page.html plot.svg
}
echo "a plugin by each name"
while IFS= read -r name; do
    python3 forge.py attention_encoder "$name" "$model" || wrong "cannot forge $name"
    walk every "attention_encoder = $name"
done <names
echo "each key"
while IFS=$'\t' read -r key value; do
    python3 forge.py "$key" "$value" "$model" || wrong "cannot forge $key"
    walk every "$key = $value"
done <keys
echo "each command"
for what in "attention_encoder=$work/art/evil.so" "task=$work/art/evil" "task=$work/art/evil.py" "plugin_path=$work/art"; do
    python3 forge.py "${what%%=*}" "${what#*=}" "$model"
    walk once "$what"
done

echo "a key twice, a cut file, another type"
for text in '"attention_encoder":"EVIL","attention_encoder":"scaled_dot"' '"attention_encoder":"scaled_dot","attention_encoder":"EVIL"' \
    '"attention_encoder":["EVIL"]' '"attention_encoder":{"name":"EVIL"}' '"attention_encoder":"EVIL'; do
    text=${text//EVIL/$work/art/evil}
    python3 - "$text" <<'PY'
import re, sys
text = open('record.json').read()
open('bad.json', 'w').write(re.sub(r'"attention_encoder":\s*"scaled_dot"', lambda m: sys.argv[1], text))
PY
    walk <(echo "verify bad.json --seed 1") "$text"
done

echo "a published folder's own plugins are built if the user asks"
sed 's|^heads.*|&\nattention = scaled_dot|' strange.ini >published.ini
exits 0 ablate publish strange folder
mkdir folder/plugins && cp source/evil.c folder/plugins/
seal() { (cd folder && find . -type f ! -name SHA256SUMS -printf '%P\n' | xargs -d '\n' sha256sum >SHA256SUMS); }
seal
walk <(echo "verify folder --seed 1") "a folder with plugins"
python3 forge.py plugin_path "$work/folder/plugins" "$model"
cp bad.json folder/runs.json && cp art/evil.so folder/plugins/ && seal
walk <(echo "verify folder --seed 1") "plugin_path = the folder's own plugins"

echo "completion opens no plugin, and offers a row of an INI that has one"
for name in ./art/evil.py ./source/evil.c source/evil.c art/evil.so ./art/evil "$work/art/evil"; do
    sed "s|^heads.*|&\nattention = $name|" strange.ini >completed.ini
    printf '[variant mine]\ndropout = 0.2\n' >>completed.ini
    "$program" completion words 4 ablate run completed.ini --only "" >out 2>err
    shut "completion of --only, attention = $name"
    has out mine
    printf '[base]\nplugin_path = %s\n' "$work/art" >path.ini
    "$program" completion words 4 ablate run path.ini -s "" >out 2>err
    "$program" completion words 3 ablate replay path.ini/ >out 2>err
    shut "completion, plugin_path"
done
printf '[variant z$(touch${IFS}TOUCHED)]\ndropout = 0.2\n[variant v]\nname = z;touch TOUCHED;\ndropout = 0.3\n[variant z>TOUCHED]\ndropout=0.4\n' \
    >>strange.ini
mkdir bin && ln -s "$program" bin/ablate
PATH=$work/bin:$PATH bash -c 'source <(ablate completion bash); COMP_WORDS=(ablate run strange.ini --only z) COMP_CWORD=4
    _ablate; printf "%s\n" "${COMPREPLY[@]}"; for word in "${COMPREPLY[@]}"; do eval "true $word"; done' >out 2>err
has out 'z\;touch\ TOUCHED\;'
has out 'z\>TOUCHED'
hasnt out 'IFS'
checks=$((checks + 1))
[ ! -e TOUCHED ] || wrong "a row's name was obeyed by bash"

echo "the user's own INI and command line open what they name"
sed "s|^heads.*|&\nattention = ./art/evil.so|" strange.ini >own.ini
exits 2 ablate run own.ini --dry-run
[ -e PWNED ] || wrong "run does not open what its INI names"
finish
