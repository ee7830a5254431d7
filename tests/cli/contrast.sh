# Contrastive pairs (key `contrast`): the metrics `contrast` and `contrast_GROUP` agree with `ablate score likelihood`
# on which target is likelier. Invalid files are refused.
source "$(dirname "$0")/common.bash" "$1" "$2"
tiny first 60 >first.ini
exits 0 ablate run first.ini --threads 1 --progress none
cat $(find . -name test.ref | head -1) >right
awk 'NF > 1 && $1 != $2' right >differ && mv differ right
awk '{ t = $1; $1 = $2; $2 = t; print }' right >wrong
# the source sentences are unknown here: any source of the same symbols will do
paste right right wrong | awk -F'\t' '{ print $0 "\t" (NR % 4 ? "near" : "far") }' >pairs.tsv
{ tiny pairs 60; printf 'contrast = pairs.tsv\n[variant swapped]\ncontrast = swapped.tsv\n'; } >pairs.ini
awk -F'\t' -v OFS='\t' '{ print $1, $3, $2, $4 }' pairs.tsv >swapped.tsv
exits 0 ablate run pairs.ini --threads 1 --progress none
exits 0 ablate table pairs --format csv
cp out table.csv
for m in contrast contrast_near contrast_far; do
    has table.csv "$m"
    equal "$(column $m <table.csv | awk '{ s += $1 } END { print s }')" 100 "$m: right and wrong exchanged"
done
cut -f1,2 pairs.tsv | "$program" score likelihood --run pairs/base --threads 1 | cut -f1 >of_right
cut -f1,3 pairs.tsv | "$program" score likelihood --run pairs/base --threads 1 | cut -f1 >of_wrong
equal "$(printf '%.6f' "$(column contrast <table.csv | head -1)")" \
    "$(paste of_right of_wrong | awk '{ n += $1 > $2 } END { printf "%.6f", 100 * n / NR }')" "the share by score likelihood"
equal "$(sql "SELECT group_concat(DISTINCT n) FROM (SELECT count(*) n FROM result JOIN metric m ON m.id = metric_id
    WHERE m.name LIKE 'contrast%' GROUP BY m.name)")" 2 "results of each metric"

printf 's0001\ts0001\ts0002\ns0001\tqq\tzz\n' >unknown.tsv
{ tiny unknown 5; echo 'contrast = unknown.tsv'; } >unknown.ini
exits 0 ablate run unknown.ini --threads 1 --progress none
equal "$(sql "SELECT value FROM tag WHERE tag = 'contrast'" | tr -d '"')" \
    "unknown.tsv: in 1 of 2 pairs both targets have equal tokens; such pairs count as wrong" "unknown words"

refused() { # NAME TEXT MESSAGE: a file of this text is refused with this message
    printf "$2" >bad.tsv
    { tiny bad 1; echo 'contrast = bad.tsv'; } >bad.ini
    rm -rf bad.db bad.db.runs
    exits 1 ablate run bad.ini --threads 1 --progress none --db bad.db
    has out "$3"
}
refused "two columns" 'a b\ta b\n' "contrast: bad.tsv:1: found 2 columns, expected SOURCE, RIGHT, WRONG"
refused "five columns" 'a\tb\tc\td\te\n' "bad.tsv:1: found 5 columns"
refused "no difference" 'a b\ta b\ta c\na b\ta b\ta b\n' "bad.tsv:2: the right and the wrong target are the same"
refused "a group" 'a b\ta b\ta c\tthis group\n' "bad.tsv:1: found the group 'this group', expected at most 32 letters"
refused "nothing" '' "bad.tsv: found no line"
{ tiny none 1; echo 'contrast = nowhere.tsv'; } >none.ini
exits 1 ablate run none.ini --threads 1 --progress none
has out "contrast: nowhere.tsv: "
finish
