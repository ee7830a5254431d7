#!/usr/bin/env bash
# Figures in README.md and in the pages below docs/ equal those that commands print from the recorded experiments.
# Between `<!-- figures: COMMAND; COMMAND -->` and `<!-- end -->`, each "mean ± sd", "[low, high]" and p must occur in the
# commands' tables; if they are in one line of the page's table, they must occur in one row of the commands' tables.
# After `figures of several rows`, a line may have figures of several rows, but each number with a decimal point must
# occur in some row, too. Between `<!-- numbers: COMMANDS -->` and the end, only numbers are checked: this is for tables
# of one seed, and for tables whose rows and columns differ from the commands'. `<!-- numbers but 41.02 and 0.003:
# COMMANDS -->` exempts numbers that have another source. Outside of such blocks there must be no result: no "mean ±
# sd", no interval, no number with a decimal point and a metric's unit.
source "$(dirname "$0")/common.bash" "$@"

# Prints the cells of all commands' tables, one line per row label: "| base | 13.83 ± 0.10 | −11.1, −7.1 | 0.004 |".
printed() {
    local one kept IFS=';'
    for one in $1; do
        IFS=' ' read -ra words <<<"$one"
        kept=kept.${one//[^A-Za-z0-9.-]/_} # the output is kept: several tables may name one command
        [ -e "$kept" ] || { exits 0 "${words[@]}" --format md --db none.db && mv out "$kept"; }
        cp "$kept" out
        sed -En 's/\\|\*\*//g; s/ \.\. /, /g; /^\| /p
                 # differences by size
                 /^ +([^|]+ against base, loss by parameters|for each doubling|check):? /{ s/^/| /; s/([ (])-/\1−/g; p }
                 /^  [^|]+: .* p /{ s/([ (])-/\1−/g; s/ \(|\), p / | /g; s/^  ([^:]*): (.*)/| \1 | | \2 |/p }' out
    done | awk -F'|' '{ key = $2 "|" $3; if (!(key in of)) order[++n] = key; of[key] = of[key] $0 }
                      END { for (i = 1; i <= n; i++) print of[order[i]] }' >printed
}
# Prints the figures of a line of text, each on a line of its own, written like a cell of a table.
figures() {
    grep -oE '[0-9.]+ ± [0-9.]+|\[[^][]*, [^][]*\]|(, |p )<?[01]\.[0-9]+' |
        sed -E 's/^(, |p )(<?[01]\.)/\2/; s/^\[(.*)\]$/\1/; s/^/| /; s/$/ /'
}
numbers() { grep -oE '(^|[^0-9.,])[0-9]+\.[0-9]+' | grep -oE '[0-9.]+$' || true; }
result='[0-9.]+ ± [0-9.]+|\[[+−]?[0-9.]+, |[0-9]\.[0-9]+ (%|BLEU|F1|PPL|bits|nats|points)'
check_file() {
    local line number=0 on= code= figure wanted
    while IFS= read -r line; do
        number=$((number + 1))
        case $line in
        '<!-- numbers'*' -->') on=numbers figure=${line%%: *} line=${line#*: } && printed "${line% -->}"
            { numbers <printed && numbers <<<"$figure"; } >known && continue ;;
        '<!-- figures'*' -->') on=row figure=${line%%: *} && [[ $line != *'several rows'* ]] || on=any
            line=${line#*: } && printed "${line% -->}"
            { numbers <printed && numbers <<<"$figure"; } >known && continue ;;
        '<!-- end -->') on= ;;
        '```'*) [ "$code" ] && code= || code=yes ;;
        esac
        if [ ! "$on" ]; then
            [[ $code || $line == '    '* ]] || ! grep -qE "$result" <<<"$line" || wrong "$1:$number: a result outside of a block"
            continue
        fi
        if [ "$on" != row ]; then
            while IFS= read -r figure; do
                checks=$((checks + 1))
                grep -qxF -- "$figure" known || wrong "$1:$number: \"$figure\" is in no row of the experiment"
            done < <(numbers <<<"$line")
            [ "$on" = any ] || continue
        fi
        cp printed rows
        while IFS= read -r figure; do
            checks=$((checks + 1)) wanted=$figure
            grep -qF -- "$wanted" rows ||
                wrong "$1:$number: \"${figure#| }\" is in no row of the experiment, or not with the line's other figures"
            [[ $on$line == 'row|'* ]] && { grep -F -- "$wanted" rows >left || true; } && mv left rows
        done < <(figures <<<"$line")
    done <"$source/$1"
    [ $number -gt 0 ]
}
check_file README.md
check_file docs/parsing.md
check_file docs/results.md
for page in architecture cluster gpu idioms import language-models notebook pictures plugins \
    plugins/{attention,optimizer,tensors}; do
    check_file "docs/$page.md"
done
equal "$((checks > 150))" 1 "$checks figures are checked: more than 150"
# A stale figure is reported.
printf '<!-- figures: ablate table table3-quarter -->\n| big | 21.9 ± 0.1 |\n<!-- end -->\n' >stale.md
(source=$PWD && check_file stale.md) >said
has said 'stale.md:2: "21.9 ± 0.1 " is in no row'
printf '<!-- numbers: ablate table parsing-genia -->\nGENIA: 85.0, not 85.1\n<!-- end -->\n' >stale.md
(source=$PWD && check_file stale.md) >said
has said 'stale.md:2: "85.1" is in no row'
printf 'It has 9.9 BLEU.\n' >stale.md
(source=$PWD && check_file stale.md) >said
has said 'stale.md:1: a result outside of a block'
printf '<!-- figures of several rows but 3.5: ablate table parsing-genia -->\n3.5: 85.0, not 85.1\n<!-- end -->\n' >stale.md
(source=$PWD && check_file stale.md) >said
has said 'stale.md:2: "85.1" is in no row'
finish
