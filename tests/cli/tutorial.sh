#!/usr/bin/env bash
# Runs every block of docs/tutorial.md in order, with its full training, in an empty folder; the page's text must fit
# the results.
source "$(dirname "$0")/common.bash" "$@"
mkdir bin
ln -s "$program" bin/ablate
export PATH=$work/bin:$PATH

# blocks KIND: writes the page's blocks of that kind to files KIND.N.
blocks() { awk -v kind="$1" '$0 == "```" { on = 0 } on { print > (kind "." n) } $0 == "```" kind { on = 1; n++ }' "$source/docs/tutorial.md"; }
blocks sh
blocks text
equal "$(ls sh.* | wc -l)" 8 "blocks of commands"
equal "$(grep -c '^```.' "$source/docs/tutorial.md")" 10 "blocks: these and two tables"
for ((i = 1; i <= 8; i++)); do
    code=0
    bash -eu "sh.$i" >"out.$i" 2>"err.$i" </dev/null || code=$?
    equal $code 0 "exit code of block $i ($(tail -1 "err.$i"))"
done

equal "$(awk -F '\t' 'NF == 2' pairs.tsv | wc -l)" 2000 "pairs"
equal "$(awk '/^repeated pairs / { print $3 + $4 + $5 }' out.1)" 15 "repeated pairs"
equal "$(awk '/^source also in train/ { print $5, $6, $7 }' out.1)" "0 0 0" "sources of train in dev and test"
has out.2 "9 runs"
equal "$(sed -n 's/^\([0-9]* runs: [0-9]* done\).*/\1/p' err.3 out.3)" "9 runs: 9 done" "the first sweep"
grep -q '^no positions .*<0.001  <0.001  worse' out.3 || wrong "the row without positions is not worse: $(cat out.3)"
grep -q '^mine .* exploratory  exploratory' out.5 || wrong "the row added later is not exploratory: $(cat out.5)"
equal "$(grep -h '^start ' err.5 out.5 | sed 's/^start *//' | paste -sd,)" "mine s1,mine s2,mine s3" "runs that the new row trains"
grep -q '^mine .* equivalent ' out.6 || wrong "the attention of our own is not equivalent: $(cat out.6)"
for n in 1 2; do
    for word in change 'p Holm' verdict; do has "text.$n" "$word"; done
    sed 's/ \{2,\}.*//' "text.$n" >rows
    sed -n '/^row /,/^Δ/p' "out.$((n == 1 ? 3 : 6))" | sed '$d; s/ \{2,\}.*//' >rows.now
    equal "$(cat rows.now)" "$(cat rows)" "rows of table $n"
done
has first.svg "no positions"
equal "$(head -c 8 second.png | od -An -tx1 | tr -d ' \n')" 89504e470d0a1a0a "a PNG's signature"
has second.tex '\begin{tabular}'
equal "$(awk 'NR > 1 && NR < 5' out.8 | grep -c '^first .*no positions')" 3 "the worst three runs are those without positions"
finish
