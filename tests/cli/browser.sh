# Opens the pages of `ablate report` and `ablate attention` in a real browser (Chromium, headless): the console shows no
# errors, nothing is wider than a phone, sorting and choosing work, and the page prints. Skipped without Chromium.
# KEEP=FOLDER keeps the screenshots there.
source "$(dirname "$0")/common.bash" "$@"
for browser in chromium chromium-browser google-chrome; do command -v $browser >/dev/null && break; done
command -v $browser >/dev/null || { echo "skipped: no chromium here (apt install chromium)"; exit 77; }
timeout 60 $browser --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$work/profile" \
    --dump-dom about:blank 2>err | grep -q '<html>' || { echo "skipped: $browser does not start here: $(tail -1 err)"; exit 77; }

# browse SIZE PAGE OPTION...: writes the browser's output to dom, and its console to console.
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

exits 0 ablate import "$source/experiments/recorded/table3-multi30k.json.gz"
exits 0 ablate report table3-multi30k -o page.html
checks=$((checks + 1))
[ "$(stat -c %s page.html)" -le 500000 ] || wrong "the page has $(stat -c %s page.html) bytes, at most 500000"
hasnt page.html "http"

# A script appended to the page acts as a user does, and writes its findings into the title.
sed 's|</body></html>||' page.html >touched.html
cat >>touched.html <<'HTML'
<script>
const found = [], table = document.querySelector('#table table'), head = [...table.tHead.rows[0].cells];
const column = head.findIndex(th => th.textContent.startsWith('BLEU'));
const cells = () => [...table.tBodies[0].rows].map(r => r.cells[column].textContent);
const own = cells().join();
head[column].querySelector('button').click();
found.push('up', cells()[0], head[column].getAttribute('aria-sort'));
head[column].querySelector('button').click();
found.push('down', cells()[0]);
head[column].querySelector('button').click();
found.push(cells().join() === own ? 'own' : 'lost');
const buttons = [...document.querySelectorAll('.choose button')];
const shown = () => [...document.querySelectorAll('.metric')].filter(m => !m.hidden).map(m => m.dataset.metric).join();
found.push(shown());
buttons.find(b => b.textContent === 'lr').click();
found.push(shown());
[...table.tBodies[0].rows].find(r => r.dataset.row === 'D/dropout=0.2').focus();
found.push('hot', document.querySelectorAll('#verdict g.hot').length);
found.push('wide', Math.max(0, document.documentElement.scrollWidth - innerWidth));
found.push('unnamed', [...document.querySelectorAll('svg')].filter(s => !s.getAttribute('aria-label')).length);
const small = [...document.querySelectorAll('svg text')].filter(t => t.getBoundingClientRect().height > 0 && t.closest('.metric,.narrow'))
    .filter(t => parseFloat(t.getAttribute('font-size') || 11) * t.ownerSVGElement.getBoundingClientRect().width /
        t.ownerSVGElement.viewBox.baseVal.width < 9);
found.push('small', small.length);
document.title = found.join(' ');
</script></body></html>
HTML
browse 390,844 touched.html --dump-dom
equal "$(sed -n 's|.*<title>\(up.*\)</title>.*|\1|p' dom | head -1)" \
    'up 13.0 ascending down 30.2 own dev_PPL lr hot 3 wide 0 unnamed 0 small 0' 'what the page did'

# On a desktop: the page shows the whole table and a wide forest plot, and is dark if the system is dark. On a phone: no
# table is wider than the screen.
sed 's|</body></html>||' page.html >seen.html
cat >>seen.html <<'HTML'
<script>
const shown = [...document.querySelectorAll('#verdict figure')].filter(f => f.offsetWidth).map(f => f.className).join();
const over = [...document.querySelectorAll('.scroll')].filter(s => s.scrollWidth > s.clientWidth).length;
document.title = ['seen', shown, 'over', over, 'paper', getComputedStyle(document.body).backgroundColor].join(' ');
</script></body></html>
HTML
for size in 390 ${ABLATE_TEST_LONG:+700 1920} 1200; do
    browse $size,844 seen.html --dump-dom
    figure=middle paper='rgb(255, 255, 255)'
    [ $size -lt 600 ] && figure=narrow
    [ $size -ge 1180 ] && figure=wide
    over=0
    # at 700 pixels any number of boxes may need to scroll
    [ $size -eq 700 ] && over=$(sed -n 's|.*<title>seen.* over \([0-9]*\) .*|\1|p' dom)
    equal "$(sed -n 's|.*<title>\(seen.*\)</title>.*|\1|p' dom)" "seen $figure over $over paper $paper" \
        "the page at $size"
done
browse 1200,844 seen.html --dump-dom --blink-settings=preferredColorScheme=0
equal "$(sed -n 's|.*<title>\(seen.*\)</title>.*|\1|p' dom)" "seen wide over 0 paper rgb(22, 22, 22)" \
    "the page in the dark"

browse 390,3000 page.html --screenshot="$work/phone.png"
equal "$(png_size phone.png)" 390x3000 "screenshot at a phone's width"
browse 1200,3000 page.html --screenshot="$work/desk.png"
equal "$(png_size desk.png)" 1200x3000 "screenshot at a desk's width"
browse 1200,3000 page.html --print-to-pdf="$work/print.pdf" --no-pdf-header-footer
has print.pdf %PDF

# A sweep with a row to come: no link leads nowhere, and no empty cell has a line on a phone.
{ tiny part 40 && printf '[sweep A]\nheads = 1, 4\n[sweep B]\nd_ff = 16\n'; } >part.ini
exits 0 ablate run part.ini --only base --progress none --db part.db
exits 0 ablate report part -o part.html --db part.db
sed 's|</body></html>||' part.html >touched.html
cat >>touched.html <<'HTML'
<script>
const empty = [...document.querySelectorAll('td')].filter(c => !c.textContent && c.offsetWidth).length;
const astray = [...document.querySelectorAll('nav a')].filter(a => !document.querySelector(a.getAttribute('href'))).length;
document.title = ['empty', empty, 'astray', astray].join(' ');
</script></body></html>
HTML
browse 390,844 touched.html --dump-dom
equal "$(sed -n 's|.*<title>\(empty.*\)</title>.*|\1|p' dom | head -1)" 'empty 0 astray 0' 'the page of a sweep with rows to come'

# The page of `ablate attention`: choose a token by keyboard, hide heads, choose another attention, show heat maps.
{ tiny look 40 && printf '[sweep A]\nheads = 1, 4\n'; } >look.ini
exits 0 ablate run look.ini --progress none
text=$(ablate show look/base --ref test | head -1)
exits 0 ablate attention --run look/base --text "$text" -o attention.html
sed 's|</body></html>||' attention.html >touched.html
cat >>touched.html <<'HTML'
<script>
const found = [], lines = () => document.querySelectorAll('#view line').length, all = lines(), tokens = document.querySelectorAll('.token').length;
found.push('lines', all > tokens);
document.querySelector('.token').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
found.push('one', lines() < all && document.querySelector('.token').getAttribute('aria-pressed'));
found.push(document.getElementById('says').textContent.includes('attends most to: head 1'));
document.querySelector('.head').click();
found.push('heads', new Set([...document.querySelectorAll('#view line')].map(l => l.getAttribute('class'))).size);
const part = document.querySelector('select');
part.value = 'attention to the source';
part.dispatchEvent(new Event('change'));
found.push(document.querySelector('#view svg').getAttribute('aria-label'));
[...document.querySelectorAll('button')].find(b => b.textContent === 'heat maps').click();
found.push('maps', document.querySelectorAll('#view figure').length);
found.push('wide', Math.max(0, document.documentElement.scrollWidth - innerWidth));
document.title = found.join(' ');
</script></body></html>
HTML
browse 390,844 touched.html --dump-dom
equal "$(sed -n 's|.*<title>\(lines.*\)</title>.*|\1|p' dom | head -1)" \
    'lines true one true true heads 1 attention to the source, layer 1 maps 1 wide 0' 'what the page of attention did'
browse 390,900 attention.html --screenshot="$work/attention.png"
[ -z "${KEEP:-}" ] || cp -- *.png *.pdf page.html "$KEEP/"
finish
