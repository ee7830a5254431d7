# ablate plot, export and attention: the page and the figures of a small trained model; refusals.
source "$(dirname "$0")/common.bash" "$@"
{ tiny look 40 && printf '[sweep A]\nheads = 1, 2, 4\n'; } >look.ini
exits 0 ablate run look.ini --progress none
text=$(ablate show look/base --ref test | head -1)
word=${text%% *}

exits 0 ablate attention --run look/base --text "$text" -o page.html
has page.html '"part":"encoder self-attention","layer":1,"heads":2'
has page.html '"part":"attention to the source","layer":1,"heads":2'
hasnt page.html 'http://'
exits 0 ablate attention --run look/base --text "$text" --figure 3 --word "$word" -o three.svg
has three.svg 'aria-label="encoder self-attention, layer 1 of 1"'
exits 0 ablate attention --run look/base --text "$text" --figure 4 --word "$word" -o four.pdf
has four.pdf '%PDF-1.4'
exits 0 ablate attention --run look/base --text "$text" --figure 5 --part source -o five.svg
has five.svg 'aria-label="attention to the source, layer 1 of 1"'

exits 1 ablate attention --run look/base --text "$text" --figure 3 --word nowhere -o three.svg
has err '--word nowhere: not among the tokens: '
exits 1 ablate attention --run look/base --text "$text" --figure 3 --word "$word" --layer 2 -o three.svg
has err '--layer 2: found no weights of encoder self-attention there; the last with some is 1'
exits 2 ablate attention --run look/base --text "$text" --figure 3 -o three.svg
has err '--figure 3: expected --word, the token that the figure is about'
exits 2 ablate attention --run look/base --text "$text" --figure 5 -o three.gif
has err 'expected .svg, .pdf or .png for a figure'
exits 0 ablate attention --run look/base --text "$text" --figure 5 -o five.png
equal "$(head -c 4 five.png | tail -c 3)" PNG "magic of a PNG"
exits 2 ablate attention --run look/base --text "$text" --word "$word" -o page.html
has err 'only valid with --figure'

echo "report"
{ tiny names 20 && printf \
    '[sweep long]\nposition = sinusoid, learned\nlabel_smoothing = 0.1, 0.2\ndropout = 0.1, 0.2\ncombine = grid\n'
    } >names.ini
exits 0 ablate run names.ini --progress none --db names.db
exits 0 ablate report names -o report.html --db names.db
# Each media query is a medium, a feature in parentheses, or both joined by "and": browsers silently ignore any other
# form.
equal "$(grep -o '@media[^{]*' report.html |
    grep -vxE '@media ?((screen|print)|((screen and )?\([a-z-]+: ?[a-z0-9]+\)( and \([a-z-]+: ?[a-z0-9]+\))*))')" "" \
    "media queries that no browser takes"
has report.html '@media screen and (prefers-color-scheme:dark){'
hasnt report.html '…'
sed -n '/id="curves"/,/id="cost"/p' report.html >curves.html
for name in $(sql "SELECT replace(name, ' ', '&') FROM variant WHERE NOT is_base" names.db | sed 's|^long/||'); do
    has curves.html ">${name//&/ }</text>" # the legend does not shorten the name
done

echo "plot"
exits 0 ablate plot look --over heads -o heads.svg
has heads.svg '>heads</text>'
hasnt heads.svg 'nan'
exits 0 ablate plot look --over heads --log x --bars none --title "A title" -o heads.pdf
has heads.pdf '(A title) Tj'
exits 0 ablate plot search --over trials -o trials.csv --db none.db
grep -v '^series' trials.csv | awk -F, '{ n++; if ($3 < $4 - 1e-9 || $3 > $5 + 1e-9) bad++ } END { print n + 0, bad + 0 }' >counted
equal "$(cat counted)" "12 0" "points of three searched rows; means outside their limits"
exits 1 ablate plot look --over trials -o trials.csv
has err '--over trials: no row of look was searched'
exits 0 ablate plot look -o steps.csv
equal "$(grep -c '^base,' steps.csv)" "$(sql \
    "SELECT count(*) FROM point p JOIN metric m ON m.id=p.metric_id JOIN run r ON r.id=p.run_id JOIN variant v
    ON v.id=r.variant_id WHERE v.is_base=1 AND m.name='dev_PPL'")" "points of base's curve"
exits 0 ablate plot look --over params --metric PPL -o params.json
has params.json '"$schema":"https://vega.github.io/schema/vega-lite/v5.json"'
exits 0 ablate plot look --forest -o forest.svg
has forest.svg 'A/heads=4'
exits 0 ablate plot look --forest --metric PPL -o forest.svg
has forest.svg 'PPL (test), change in % against'
exits 1 ablate plot look --forest --metric BLUE -o forest.svg
exits 0 ablate plot look look --forest -o both.svg
has both.svg '>A/heads=4<'
equal "$(grep -c '>look</text>' both.svg)" 2 "titles of two experiments"
exits 1 ablate plot look other --forest -o both.svg
has err "other"
exits 2 ablate plot look look --over heads -o both.svg
has err "look: a second experiment is for --forest"
exits 2 ablate plot look --forest --by heads -o forest.svg
has err "--by is not for --forest"
exits 0 ablate plot look --over heads -o heads.gp
if command -v gnuplot >/dev/null; then
    exits 0 gnuplot -e "set terminal svg; set output 'g.svg'" heads.gp
    has g.svg '<svg'
else
    echo "skipped: no gnuplot here"
fi
exits 0 env PATH=/nonexistent "$program" plot look --over heads -o heads.png # needs no other program
equal "$(head -c 4 heads.png | tail -c 3)" PNG "magic of a PNG"
exits 1 ablate plot look --over heds -o x.svg
has err '--over heds: no row of look changes this key; expected one of: heads, step, params, flops, time'
exits 1 ablate plot look --over heads -o x.gif
has err 'expected a name ending in .svg, .pdf, .png, .gp (gnuplot), .json (Vega-Lite) or .csv'
exits 1 ablate plot look --metric dev_BLUE -o x.svg
has err 'no run of look has such a curve; expected one of: '
exits 2 ablate plot look --size 5x5 -o x.svg
exits 1 ablate plot nothing -o x.svg

echo "export"
exits 0 ablate export look --format csv -o csv
equal "$(wc -l <csv/runs.csv)" 4 "lines of runs.csv"
equal "$(wc -l <csv/curves.csv)" "$(($(sql 'SELECT count(*) FROM point') + 1))" "lines of curves.csv"
has csv/runs.csv ',heads,'
exits 0 ablate export look --format tensorboard -o events
equal "$(cd events && echo */events.out.tfevents.*.ablate | wc -w)" 3 "event files"
equal "$(ls events | tr '\n' ' ')" "A_heads=1@1 A_heads=4@1 base@1 " "folders of event files"
exits 2 ablate export look --format tensorbord -o x
has err 'did you mean tensorboard?'
exits 1 ablate export nothing -o x
finish
