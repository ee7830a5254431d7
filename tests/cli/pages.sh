#!/usr/bin/env bash
# experiments/FOLDER/NAME.md equals the output of `ablate table` for the record and the comment at the head of NAME.ini.
# That comment has at most 150 words, names the split of its figures, and each interval and "mean ± sd" in it must stand
# in the table. The charts of docs/ equal those that `ablate plot` draws from the records. ABLATE_WRITE=1 writes pages
# and charts anew.
source "$(dirname "$0")/common.bash" "$@"

# Leaves columns of timings out, since an older version of the program measured them.
declare -A only=([table1]="--metric reach --metric acc --metric PPL")

figures() { grep -oE '[0-9.]+ ± [0-9.]+|\[[^][]*, [^][]*\]' | sed -E 's/^\[(.*), (.*)\]$/\1 .. \2/' || true; }

# prose FILE.ini: prints the comment at the head of FILE.ini, without the commands in it.
prose() { awk '!/^#/ { exit } !/^#    / { sub(/^# ?/, ""); print }' "$1"; }
check_prose() {
    local name=$1 ini=$2 page=$3 figure
    equal "$(($(prose "$ini" | wc -w) <= 150))" 1 "words of $name.ini's head are at most 150: $(prose "$ini" | wc -w)"
    prose "$ini" | grep -qE '\<(dev|test|test2016|validation)\>' || wrong "$name.ini's head names no split"
    prose "$ini" | grep -qF '**Does not show**' || wrong "$name.ini's head says not what it does not show"
    while IFS= read -r figure; do
        grep '^|' "$page" | grep -qF -- "$figure" || wrong "$name.ini's head says \"$figure\", which its table lacks"
    done < <(prose "$ini" | figures)
}

# Without ABLATE_TEST_LONG the largest records are skipped; `ablate test --all` checks them.
large=
[ -n "${ABLATE_TEST_LONG-}${ABLATE_WRITE-}" ] || large=$(ls -S "$source"/experiments/recorded/*.json* | head -14)
n=0
for record in "$source"/experiments/recorded/*.json*; do
    name=$(basename "$record")
    name=${name%%.*} n=$((n + 1))
    [[ $large != *"$record"* ]] || continue
    ini=$(ls "$source"/experiments/*/"$name".ini) page=${ini%.ini}.md
    # shellcheck disable=SC2086
    exits 0 ablate table "$name.recorded" --page "$ini" ${only[$name]-} --db none.db
    [ -z "${ABLATE_WRITE-}" ] || cp out "$page"
    cmp -s out "$page" || { diff out "$page" | head -5; wrong "$name.md is stale: ABLATE_WRITE=1 ./ablate test -R cli/pages"; }
    check_prose "$name" "$ini" out
done
equal $((n >= 40)) 1 "records with a page: $n"
equal "$(grep -l 'ablate table' "$source"/experiments/*/*.md | wc -l)" "$n" "pages and records"

# experiments/README.md lists every INI in its folder's section and gives the hours of its page.
for ini in "$source"/experiments/*/*.ini; do
    name=$(basename "$ini" .ini) folder=$(basename "$(dirname "$ini")") hours=—
    [ ! -e "${ini%.ini}.md" ] || hours=$(grep -oE '[0-9.]+ hours elapsed' "${ini%.ini}.md" | cut -d' ' -f1)
    row=$(sed -n "/^## $folder\$/,/^## /p" "$source/experiments/README.md" | grep -F "| [$name]($folder/$name." || true)
    equal "${row##*[?.] | }" "$hours |" "hours of $folder/$name in experiments/README.md"
done

# A table states what its design cannot show. It names no margin for a metric that it leaves out.
exits 0 ablate table mad.recorded --db none.db
has out "259 at Holm's first step over 102 rows"
has out "above 100 %, the largest possible difference"
has out "equivalent rows are at 100 %, the ceiling"
exits 0 ablate table table3-core.recorded --metric BLEU --db none.db
hasnt out "within ± 2"
exits 0 ablate table table3-core.recorded --db none.db
has out "within ± 2 %"

for chart in table3-core table3-quarter modifications; do
    exits 0 ablate plot $chart.recorded --forest --size 860x400 -o $chart.svg --db none.db
    [ -z "${ABLATE_WRITE-}" ] || cp $chart.svg "$source/docs/$chart.svg"
    cmp -s $chart.svg "$source/docs/$chart.svg" || wrong "docs/$chart.svg is stale: ABLATE_WRITE=1 ./ablate test -R cli/pages"
done
has table3-core.svg "PPL (dev), change in % against base's"
has modifications.svg "(test), less base's"

# Mistakes in a head comment are reported.
printf '# Is 9.9 ± 0.1 BLEU of test right?\n#\n# **Does not show** it.\n[experiment]\n' >stale.ini
printf '| base | 8.8 ± 0.1 |\n' >stale.md
(check_prose stale stale.ini stale.md) >said
has said '"9.9 ± 0.1", which its table lacks'
printf '# One score.\n' >stale.ini
(check_prose stale stale.ini stale.md) >said
has said "names no split"
has said "says not what it does not show"
finish
