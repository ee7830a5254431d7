#!/usr/bin/env bash
# A published folder is complete and verifies on any machine; verify finds a changed file, result or run of the folder.
# fault: publish|start|publish faults home/published$RANDOM|-
# fault: verify|empty|verify record.json --runs 0|
# fault: retrain|empty|verify record.json --only base --seed 1|-
source "$(dirname "$0")/common.bash" "$@"

exits 0 ablate new attention mine
sed -i 's/\.accepts = [^,]*,/.accepts = AB_POS_EMBED,/' mine.c # accepts fewer encodings, so that the check is shorter
{ tiny small 20 && printf '[sweep A]\nattention = ./mine.c\n'; } >small.ini
exits 0 ablate run small.ini --threads 1 --progress none --seeds 1,2
exits 0 ablate publish small folder
hasnt err "plugin"
for file in small.ini runs.json table.csv page.html README.md plugins/mine.c SHA256SUMS; do
    exits 0 test -s "folder/$file"
done
exits 0 cmp mine.c folder/plugins/mine.c
exits 0 cmp small.ini folder/small.ini
has folder/README.md "- mine: plugins/mine.c, SHA-256 of the object "
hasnt folder/README.md "**"
(cd folder && sha256sum -c --quiet SHA256SUMS) || wrong "sha256sum -c"
grep -qrF "$work" folder && wrong "a folder of this machine is in the published one"
exits 1 ablate publish small folder
has err "folder is not empty"
exits 0 ablate publish small -o by_option
exits 2 ablate publish small
has err "expected one new folder, as FOLDER or with -o"
exits 1 ablate publish other folder2
has err 'found no experiment "other"'
exits 1 test -e folder2
echo "no database" >broken.db
exits 1 ablate publish small folder2 --db broken.db
has err "broken.db: found a file that is not an SQLite database"
equal "$(ls -d folder* | paste -sd' ')" folder "folders"

echo "it holds"
export ABLATE_HOME=$work/elsewhere ABLATE_DB=$work/elsewhere.db
exits 0 ablate verify folder --only base --runs 2
has out "files: 6 of 6 match SHA256SUMS"
has out "table: the runs give table.csv, digit by digit"
has out "the same, in all"
has out "retrained: 2 of 2 runs with the same digits"
exits 1 ablate verify folder --only A/attention=mine@2
has err "--build-plugins"
mkdir gone && mv mine.c mine.so gone
exits 0 ablate verify folder --only A/attention=mine@2 --build-plugins
has out "retrained: 1 of 1 runs with the same digits"
exits 0 ablate verify folder/runs.json --runs 1 --only base
exits 1 ablate verify folder --at-most 0.0001
has err "found no finished run that ablate trained in at most 0.0001 s"
exits 0 ablate verify folder --runs 0
hasnt out "retrained"
exits 1 ablate verify nowhere
has err "nowhere"

echo "two dots in a name lead nowhere"
{ tiny v1..2 10; } >dots.ini
exits 0 ablate run dots.ini --threads 1 --progress none
exits 0 ablate publish v1..2 dots
exits 0 ablate verify dots --runs 0

echo "no code of a stranger runs, also where the runs name its folder"
mkdir -p evil && cp gone/mine.so evil/mine.so
cp -r folder five && sed -i "s|\"plugin_path\":\"[^\"]*\"|\"plugin_path\":\"$work/evil\"|" five/runs.json &&
    (cd five && sha256sum $(awk '{ print $2 }' SHA256SUMS) >sums && mv sums SHA256SUMS)
exits 1 ablate verify five --only A/attention=mine@2
has err "without --build-plugins: the run's settings, attention: found mine.c, a file that no record carries"

echo "it does not"
cp -r folder one && echo "# more" >>one/small.ini
exits 1 ablate verify one --runs 0
has out "one/small.ini: differs from SHA256SUMS"
cp -r folder two && rm two/page.html && echo stray >two/stray
exits 1 ablate verify two --runs 0
has out "page.html"
has out "two/stray: is not in SHA256SUMS"
cp -r folder three && sed -i 's/"seed":1,/"seed":7,/' three/runs.json && (cd three && sha256sum $(awk '{ print $2 }' SHA256SUMS) >sums && mv sums SHA256SUMS)
exits 3 ablate verify three --only base@7
has out "digits agree"
has out "retrained: 0 of 1 runs with the same digits"
cp -r folder four && awk -F, -v OFS=, 'NR == 2 { $5 += 0.001 } 1' folder/table.csv >four/table.csv && (cd four && sha256sum $(awk '{ print $2 }' SHA256SUMS) >sums && mv sums SHA256SUMS)
exits 1 ablate verify four --runs 0
has out "the runs give another table than table.csv"
printf '%s  ../outside\n' "$(printf x | sha256sum | cut -c1-64)" >four/SHA256SUMS
exits 1 ablate verify four --runs 0
has err 'SHA256SUMS:1: four: found the name "../outside" with the part .., expected one below this folder'
finish
