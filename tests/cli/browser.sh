# The page of `ablate report` in a real browser (Chromium, headless): no errors on its console, nothing wider than a phone,
# sorting and choosing work, it prints. Skipped where no Chromium is. KEEP=FOLDER keeps the screenshots there.
source "$(dirname "$0")/common.bash" "$@"
for browser in chromium chromium-browser google-chrome; do command -v $browser >/dev/null && break; done
command -v $browser >/dev/null || { echo "skipped: no chromium here (apt install chromium)"; exit 77; }

# browse SIZE PAGE OPTION...: standard output to dom, the console's lines to console.
browse() {
    local size=$1 page=$2
    shift 2
    timeout 120 $browser --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$work/profile" \
        --hide-scrollbars --enable-logging=stderr --window-size="$size" "$@" "file://$work/$page" >dom 2>err
    grep CONSOLE err >console
    equal "$(cat console)" "" "console of $page at $size"
}
# png_size FILE: width x height, from the header.
png_size() { od -An -tu1 -j16 -N8 "$1" | awk '{print $3 * 256 + $4 "x" $7 * 256 + $8}'; }

exits 0 ablate import "$source/experiments/recorded/table3-multi30k.json"
exits 0 ablate report table3-multi30k -o page.html
checks=$((checks + 1))
[ "$(stat -c %s page.html)" -le 500000 ] || wrong "the page has $(stat -c %s page.html) bytes, at most 500000"
hasnt page.html "http"

# What a user does, done by a script at the page's end; what it finds stands in the title.
sed 's|</body></html>||' page.html >touched.html
cat >>touched.html <<'HTML'
<script>
const found = [], table = document.querySelector('#table table'), head = [...table.tHead.rows[0].cells];
const column = head.findIndex(th => th.textContent === 'BLEU'), cells = () => [...table.tBodies[0].rows].map(r => r.cells[column].textContent);
const own = cells().join();
head[column].querySelector('button').click();
found.push('up', cells()[0], head[column].getAttribute('aria-sort'));
head[column].querySelector('button').click();
found.push('down', cells()[0]);
head[column].querySelector('button').click();
found.push(cells().join() === own ? 'own' : 'lost');
const buttons = [...document.querySelectorAll('.choose button')], shown = () => [...document.querySelectorAll('.metric')].filter(m => !m.hidden).map(m => m.dataset.metric).join();
found.push(shown());
buttons.find(b => b.textContent === 'lr').click();
found.push(shown());
[...table.tBodies[0].rows].find(r => r.dataset.row === 'D/dropout=0.2').focus();
found.push('hot', document.querySelectorAll('#verdict g.hot').length);
found.push('wide', Math.max(0, document.documentElement.scrollWidth - innerWidth));
found.push('unnamed', [...document.querySelectorAll('svg')].filter(s => !s.getAttribute('aria-label')).length);
const small = [...document.querySelectorAll('svg text')].filter(t => t.getBoundingClientRect().height > 0 && t.closest('.metric,.narrow'))
    .filter(t => parseFloat(t.getAttribute('font-size') || 11) * t.ownerSVGElement.getBoundingClientRect().width / t.ownerSVGElement.viewBox.baseVal.width < 9);
found.push('small', small.length);
document.title = found.join(' ');
</script></body></html>
HTML
browse 390,844 touched.html --dump-dom
equal "$(sed -n 's|.*<title>\(up.*\)</title>.*|\1|p' dom | head -1)" 'up 13.0 ascending down 30.2 own dev_PPL lr hot 2 wide 0 unnamed 0 small 0' 'what the page did'
browse 390,3000 page.html --screenshot="$work/phone.png"
equal "$(png_size phone.png)" 390x3000 "screenshot at a phone's width"
browse 1200,3000 page.html --screenshot="$work/desk.png"
equal "$(png_size desk.png)" 1200x3000 "screenshot at a desk's width"
browse 1200,3000 page.html --print-to-pdf="$work/print.pdf" --no-pdf-header-footer
has print.pdf %PDF
[ -z "${KEEP:-}" ] || cp -- *.png *.pdf page.html "$KEEP/"
finish
