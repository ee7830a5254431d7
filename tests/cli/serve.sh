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
before=$(get GET /state "127.0.0.1:$port" | tail -1)
has page "data-state=\"$before\""
equal "$(get GET /state "127.0.0.1:$port" | tail -1)" "$before" "state of a database at rest"
exits 0 ablate run live.ini --seeds 2 --progress none
[ "$(get GET /state "127.0.0.1:$port" | tail -1)" != "$before" ] || wrong "the state is the same after a run"
get GET / "127.0.0.1:$port" >page
has page "4 of 4 runs done"
if command -v ss >/dev/null; then
    equal "$(ss -Htln "sport = :$port" | awk '{print $4}')" "127.0.0.1:$port" "where it listens"
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
