#!/usr/bin/env bash
# An error says where it is, what was expected, and the nearest name. The exit code is 2 for usage and 1 for failures;
# existing files are not overwritten.
source "$(dirname "$0")/common.bash" "$@"

tiny good 12 >good.ini
exits 0 ablate run good.ini --threads 1
before=$(sha256sum <(ablate query 'SELECT * FROM results') <(ablate query 'SELECT * FROM attempt') | cut -c1-64)

echo "a spec with seven errors: all of them in one pass"
cat >bad.ini <<'INI'
[experiment]
name = bad
[base]
task = sequence
d_modl = 16
heads = 0
steps = many
attention = scaled_dto
optimizer = ./nowhere.so
layers = 1
layers = 2
[sweeep A]
heads = 1
INI
exits 2 ablate run bad.ini
has err 'bad.ini:5: d_modl: found an unknown key'
has err 'did you mean d_model?'
has err 'bad.ini:6: heads: found "0", expected an integer from 1 to 1024'
has err 'bad.ini:7: steps: found "many", expected an integer'
has err 'bad.ini:8: attention: found "scaled_dto"'
has err 'did you mean scaled_dot?'
has err 'bad.ini:9: optimizer: found "./nowhere.so"'
has err 'bad.ini:11: layers: found a second time, expected once; the first is at bad.ini:10'
has err 'bad.ini:12: [sweeep A]: found an unknown section'
equal "$(wc -l <err)" 7 "lines of errors"
equal "$(wc -c <out)" 0 "standard output on an error"

echo "plugins' own parameters, lists, cross-checks"
{ tiny bad 12 && printf 'sequence.alphabte = 3\nscaled_dot.temperature = -1\n'; } >bad.ini
exits 2 ablate run bad.ini
has err 'sequence.alphabte'
has err 'did you mean sequence.alphabet?'
has err 'scaled_dot.temperature: found "-1"'
{ tiny bad 12 && printf '[sweep A]\nheads = 1, 2\nd_ff = 8, 16\n'; } >bad.ini
exits 2 ablate run bad.ini
has err 'combine'
{ tiny bad 12 && printf '[sweep A]\nheads = 1, 3\n'; } >bad.ini
exits 2 ablate run bad.ini
has err 'd_model'

echo "options of another launcher"
exits 2 ablate run good.ini --detach
has err "--detach needs --launcher slurm or COMMAND"
exits 2 ablate run good.ini --slurm-args "-p cpu"
has err "--slurm-args needs --launcher slurm"
exits 2 ablate run good.ini --runs-per-task 2 --launcher 'sh -c {}'
has err "--runs-per-task needs --launcher slurm"

echo "files that are none"
exits 2 ablate run nowhere.ini
has err 'nowhere.ini: cannot be opened: No such file or directory'
hasnt err "did you mean"
cp "$source/experiments/quick.ini" near.ini
exits 2 ablate run naer.ini
has err "did you mean near.ini?"
rm near.ini
mkdir folder.ini
exits 2 ablate run folder.ini
has err 'folder.ini: found a folder, expected a file'
if [ "$(id -u)" != 0 ]; then
    cp good.ini locked.ini && chmod 000 locked.ini
    exits 2 ablate run locked.ini
    has err 'locked.ini: cannot be opened: Permission denied'
fi
echo "not a database" >notes.txt
exits 1 ablate run good.ini --db notes.txt
has err 'notes.txt: found a file that is not an SQLite database'
equal "$(cat notes.txt)" "not a database" "a file taken for a database"

echo "the command line"
exits 2 ablate
exits 2 ablate tabel
has err "unknown command 'tabel'; did you mean 'table'?"
exits 2 ablate run
has err 'expected an INI file'
exits 2 ablate run good.ini bad.ini
has err 'unexpected "bad.ini"'
# Too few or too many words for the command's usage.
while IFS=: read -r words says; do
    # shellcheck disable=SC2086
    exits 2 ablate $words
    has err "$says"
done <<'W'
show a b:unexpected "b": it takes RUN
sync a b:unexpected "b": it takes [EXPERIMENT]
publish a b c:unexpected "c": it takes EXPERIMENT [FOLDER]
list keys x y:unexpected "y": it takes plugins [KIND
plan:expected an INI file or an experiment
tag x:expected a run and NAME=VALUE
diff a:expected two runs
import:expected a file
W
exits 2 ablate run good.ini --olny base
has err 'unknown option --olny; did you mean --only?'
exits 2 ablate run good.ini --threads
has err '--threads needs a value'
exits 2 ablate run good.ini --threads none
has err '--threads none: expected a number from 1'
exits 2 ablate run good.ini --workers 0
has err '--workers 0: expected a number from 1'
exits 2 ablate run good.ini --progress nice
has err 'expected auto, tty, plain, json or none'
exits 2 ablate run good.ini --rerun some
has err '--rerun some: expected failed, changed or all'
exits 2 ablate run good.ini --device cuda:99
has err 'cuda:99'
exits 2 ablate run good.ini -s d_modl=32
has err 'd_modl: found an unknown key'
has err 'did you mean d_model?'
exits 2 ablate run good.ini -s heads=0
has err 'heads: found "0", expected an integer from 1 to 1024'
exits 2 ablate run good.ini -s heads
has err 'expected -s key=value'
exits 2 ablate run good.ini --seeds x
has err 'seeds: found "x"'
exits 2 ablate run good.ini --only Z
has err 'found "Z", which no row matches'
exits 2 ablate run good.ini --only base,Z
has err '(for several rows, repeat --only)'
exits 1 ablate table nowhere --db none.db
has err 'found no experiment "nowhere" among the recorded ones, and no database at none.db; `ablate run` creates one'
[ ! -e none.db ] || wrong "a reading command made a database"
exits 1 ablate table nowhere
has err 'found no experiment "nowhere"'
exits 1 ablate show 99
has err 'run 99: not in the database'
exits 1 ablate watch base/none --log
exits 1 ablate query 'DELETE FROM run'
exits 1 ablate query 'SELEC 1'
exits 2 timeout 20 "$program" query < <(yes)
has err "standard input: found a statement of more than 1048576 bytes"
exits 1 ablate translate --run 99
has err 'run 99: not in the database'
exits 1 ablate translate --model notes.txt
has err 'notes.txt: not a safetensors file'
exits 2 ablate list plugins atention
has err 'attention'

echo "data that are not there: said once, before anything is written"
cat >data.ini <<'INI'
[base]
translation.data = nowhere
d_model = 16
heads = 2
layers = 1
steps = 5
[sweep A]
heads = 1, 2
INI
for option in --dry-run --threads=1; do
    exits 1 ablate run data.ini --db data.db $option
    equal "$(grep -c "nowhere/train.en" err)" 1 "how often missing data are told of with $option"
    has err "synthetic"
    has err "(the default folder: \$ABLATE_DATA is not set)"
    [ ! -e data.db ] || wrong "a database was made for a sweep without data"
done
ABLATE_DATA=$work/elsewhere exits 1 ablate run data.ini --db data.db
has err "$work/elsewhere"
hasnt err "the default folder"

echo "an INI in Latin-1"
{ tiny latin 10 && printf '[variant caf\xe9]\nheads = 1\n'; } >latin.ini
exits 2 ablate run latin.ini --dry-run
has err "latin.ini:$(($(wc -l <latin.ini) - 1)): found byte 0xe9, column 13, expected UTF-8"
{ tiny latin 10 && printf '# caf\xc3\xa9, \xe2\x82\xac, \xf0\x9f\x98\x80\n'; } >utf8.ini
exits 0 ablate run utf8.ini --dry-run
exits 2 ablate run utf8.ini --dry-run -s sequence.kind=$'caf\xe9'
has err "found a control character or text that is not UTF-8"

echo "what a sweep will take"
exits 0 ablate run good.ini --dry-run --db none.db
has err "1 run: about "
has err "of disk"
exits 0 ablate run good.ini --db again.db --threads 1
has err "results go to again.db, files to $work/again.db.runs/"

equal "$(sha256sum <(ablate query 'SELECT * FROM results') <(ablate query 'SELECT * FROM attempt') |
    cut -c1-64)" "$before" "the sweep that was there before"
equal "$(sql 'PRAGMA integrity_check')" ok "integrity_check"
equal "$(sql 'SELECT group_concat(name) FROM experiment')" good "experiments: none came from a spec with errors"
finish
