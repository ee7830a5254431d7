#!/usr/bin/env bash
# --format latex compiles without overfull boxes or unescaped text, also in a table with the paper's values, and with
# names that have TeX's special characters.
source "$(dirname "$0")/common.bash" "$@"
if ! command -v pdflatex >/dev/null || ! kpsewhich booktabs.sty graphicx.sty >/dev/null; then
    echo "skipped: there is no pdflatex with booktabs and graphicx (texlive-latex-recommended)"
    exit 77
fi
exits 0 ablate import "$source/experiments/recorded/table3-multi30k.json.gz"
{ tiny 'odd' 6 && printf \
    'note = 100 %% of $5 & #1_a {b} ~c^2 "d" `e` \\\\x <y>\n[variant a_b & 50 %% $x]\nheads = 1\n' >>/dev/null
    } >odd.ini
sed -i 's/^name = odd$/name = odd\nnote = 100 % of $5 \& #1_a {b} ~c^2 `e` \\x <y>/' odd.ini
printf '[variant a_b & 50%% $x]\nheads = 1\n' >>odd.ini
exits 0 ablate run odd.ini --threads 1 --progress none --seeds 1,2
n=0
for table in "table3-multi30k --vs paper" "table3-multi30k" odd "odd --stats full" table1 table2 table3 table4; do
    n=$((n + 1))
    exits 0 ablate table $table --format latex
    { printf '%s\n' '\documentclass{article}' '\usepackage[T1]{fontenc}' '\usepackage{booktabs,graphicx}' \
        '\begin{document}'
      cat out
      echo '\end{document}'; } >t$n.tex
    code=0
    pdflatex -interaction=nonstopmode -halt-on-error t$n.tex >tex.log 2>&1 || code=$?
    equal $code 0 "pdflatex of $table: $(grep -A3 '^!' tex.log | tr '\n' ' ')"
    equal "$(grep -c 'Overfull' t$n.log)" 0 "overfull boxes of $table: $(grep Overfull t$n.log | head -2)"
    equal "$(grep -c 'Float too large' t$n.log)" 0 "pages of $table"
done
{ printf '%s\n' '\documentclass{article}' '\usepackage{booktabs}' '\begin{document}'
  ablate table odd --format latex
  echo '\end{document}'; } >plain.tex
code=0
pdflatex -interaction=nonstopmode -halt-on-error plain.tex >tex.log 2>&1 || code=$?
equal $code 0 "pdflatex without graphicx: $(grep -A3 '^!' tex.log | tr '\n' ' ')"
equal "$(ablate table table3-multi30k --format latex | grep -c '^(A)')" 1 "the group A is named once"
exits 0 ablate table odd --format latex --caption "Ours & theirs" --label tab:one
has out '\caption{Ours \& theirs}'
has out '\label{tab:one}'
equal "$(ablate table table3-multi30k --format latex | grep -c '^\\label{tab:table3-multi30k')" 1 "a label of its own"
exits 2 ablate table odd --caption x
has err '--caption: only valid with --format latex'
finish
