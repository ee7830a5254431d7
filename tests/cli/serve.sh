# ablate report --serve: the page over HTTP on this machine, what is refused, and in a browser (where one is) that it
# follows a sweep.
source "$(dirname "$0")/common.bash" "$@"
{ tiny live 20 && printf '[sweep A]\nheads = 1, 2\n'; } >live.ini
exits 0 ablate run live.ini --progress none

"$program" report live --serve --port 0 2>address &
server=$!
wait_for 10 grep -q http address || wrong "the server said no address: $(cat address)"
port=$(sed -n 's|.*127.0.0.1:\([0-9]*\)/.*|\1|p' address)

# get METHOD PATH HOST: the answer, without carriage returns.
get() {
    exec 3<>"/dev/tcp/127.0.0.1/$port" || return
    printf '%s %s HTTP/1.1\r\nHost: %s\r\n\r\n' "$1" "$2" "$3" >&3
    tr -d '\r' <&3
    exec 3>&-
}
idle=()
for i in {1..50}; do exec {fd}<>"/dev/tcp/127.0.0.1/$port" && idle+=("$fd"); done # none of them says anything
equal "$(timeout 3 bash -c \
    "exec 3<>/dev/tcp/127.0.0.1/$port; printf 'GET /state HTTP/1.1\r\nHost: localhost:$port\r\n\r\n' >&3; head -1 <&3" |
    tr -d '\r')" \
    "HTTP/1.1 200 OK" "answer beside 50 idle connections"
for fd in "${idle[@]}"; do exec {fd}>&-; done
get GET / "127.0.0.1:$port" >page
equal "$(head -1 page)" "HTTP/1.1 200 OK" "answer to GET /"
has page "<h1>live</h1>"
has page "default-src 'none'"
equal "$(get GET / "localhost:$port" | head -1)" "HTTP/1.1 200 OK" "answer to localhost"
equal "$(get GET / evil.example | head -1)" "HTTP/1.1 403 Forbidden" "answer to another host"
equal "$(get POST / "127.0.0.1:$port" | head -1)" "HTTP/1.1 405 Method Not Allowed" "answer to POST"
equal "$(get GET /results.db "127.0.0.1:$port" | head -1)" "HTTP/1.1 404 Not Found" "answer to another path"
at_rest() { # the page has the state that is told, also a moment later: nobody writes
    get GET / "127.0.0.1:$port" >page && before=$(get GET /state "127.0.0.1:$port" | tail -1) &&
        grep -qF "data-state=\"$before\"" page && sleep 0.5 &&
        [ "$(get GET /state "127.0.0.1:$port" | tail -1)" = "$before" ]
}
checks=$((checks + 1))
wait_for 30 at_rest ||
    wrong "the page's state and the told one differ for ever: $before, $(grep -o 'data-state="[^"]*"' page)"
exits 0 ablate run live.ini --seeds 2 --progress none
changes() { [ "$(get GET /state "127.0.0.1:$port" | tail -1)" != "$before" ]; }
wait_for 30 changes || wrong "the state is the same after a run"
shows_all() { get GET / "127.0.0.1:$port" >page && grep -q "4 of 4 runs done" page; }
wait_for 30 shows_all
has page "4 of 4 runs done"
if command -v ss >/dev/null; then
    equal "$(ss -Htln "sport = :$port" | awk '{print $4}')" "127.0.0.1:$port" "where it listens"
fi

echo "a page that takes long: requests are answered with the last one meanwhile; making it leaves no process"
# 300 rows with their tests against base: longer than a request waits
sqlite3 results.db "WITH n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<300)
    INSERT INTO variant(id,experiment_id,group_name,place,name,change,config_hash,config_json)
    SELECT 1000+i,1,'',9+i,'more '||i,'','more '||i,'{}' FROM n;
    INSERT INTO run(variant_id,seed,status,attempt,queued_at)
    SELECT v.id,s.value,'done',1,1 FROM variant v,json_each('[1,2,3,4,5]') s WHERE v.id>1000;
    INSERT INTO result(run_id,metric_id,value)
    SELECT r.id,m.id,2+(r.id*7919%101)/50.0 FROM run r,metric m WHERE r.variant_id>1000" 2>/dev/null ||
    echo "skipped in part: found no sqlite3 here"
if [ "$(sql "SELECT count(*) FROM variant WHERE id>1000")" -gt 0 ]; then
    old=0
    makers() { cat "/proc/$server/task/$server/children"; }
    makes() { get GET /state "127.0.0.1:$port" >page && [ -n "$(makers)" ]; }
    wait_for 30 makes || wrong "no process makes the page"
    equal "$(ls -l /proc/"$(makers | tr -d ' ')"/fd | grep -c socket)" 0 "connections that the page's maker keeps open"
    more() {
        get GET / "127.0.0.1:$port" >page && grep -q "more 300" page && return
        old=$((old + 1))
        return 1
    }
    wait_for 120 more || wrong "the page never shows the rows that came"
    checks=$((checks + 1))
    [ $old -gt 0 ] || wrong "no request was answered while the page was made"
    equal "$(makers)" "" "processes that the server has left"
    sqlite3 results.db "PRAGMA foreign_keys=ON; DELETE FROM variant WHERE id>1000"
fi
exits 1 ablate report live --serve --port "$port"
has err "choose another with --port N"
exits 1 ablate report nothing --serve --port 0
exits 2 ablate report live --serve -o page.html
exits 2 ablate report live --port 80 -o page.html

for browser in chromium chromium-browser google-chrome; do command -v $browser >/dev/null && break; done
if command -v $browser >/dev/null; then
    { tiny live 400 && printf '[sweep A]\nheads = 1, 2\n'; } >long.ini
    "$program" run long.ini --progress none >/dev/null 2>&1 &
    sweep=$!
    timeout 60 $browser --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$work/profile" \
        --enable-logging=stderr \
        --virtual-time-budget=60000 --dump-dom "http://127.0.0.1:$port/" >dom 2>said
    equal "$(grep CONSOLE said)" "" "console of the served page"
    has dom "live, last change"
    wait $sweep
else
    echo "skipped in part: no chromium here"
fi
kill $server
finish
