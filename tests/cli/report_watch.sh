# ablate report --watch rewrites the page while a sweep runs; the final page does not reload.
source "$(dirname "$0")/common.bash" "$@"
{ tiny live 20 && printf '[sweep A]\nheads = 1, 2\n'; } >live.ini
exits 0 ablate run live.ini --progress none
"$program" report live -o page.html --watch 2>said &
watcher=$!
wait_for 20 grep -q "2 of 2 runs done" page.html || wrong "no page was written: $(cat said)"
has page.html "<body data-live>"
has said "page.html follows the database (stop with Ctrl-C)"
first=$(stat -c %i page.html)
sleep 1.5
equal "$(stat -c %i page.html)" "$first" "the file while the database stays as it is"
exits 0 ablate run live.ini --seeds 2 --progress none
wait_for 20 grep -q "4 of 4 runs done" page.html || wrong "the page does not follow the sweep"
code=0
kill -INT $watcher && wait $watcher || code=$?
equal $code 0 "exit code after Ctrl-C"
hasnt page.html "data-live"
has page.html "4 of 4 runs done"

exits 1 ablate report nothing -o page.html --watch
has err 'found no experiment "nothing"'
exits 2 ablate report live --watch
has err "expected -o FILE.html"
exits 2 ablate report live --serve
has err "--serve is gone: -o FILE.html --watch writes a page that follows the sweep"
exits 2 ablate report live --port=80
finish
