# A model that exceeds memory is refused before anything is written, even if the estimate's timed pass fails.
source "$(dirname "$0")/common.bash" "$@"

fast=(--threads 1 --progress none)
{ tiny large 40 && printf 'precision = fp32\n[variant huge]\nd_model = 8192\nd_ff = 32768\nlayers = 24\nheads = 64\n'; } >large.ini

echo "a dry run names the row and does not time it; a run refuses it by name"
exits 0 ablate run large.ini --dry-run
has err "no room for huge: it needs 72"
hasnt err "no room for base"
has err "huge is not timed: planning uses at most 1.9 GB of memory"
exits 1 ablate run large.ini "${fast[@]}"
has err "huge: found "
has err "GB of memory free, expected 72"
has err "no run was started"
[ ! -e results.db ] || wrong "results.db was written"
exits 0 ablate run large.ini --only base "${fast[@]}"
exits 1 ablate run large.ini --only base --seeds 2 "${fast[@]}" -s d_model=256 -s d_ff=1024 -s keep_states=10000
has err "GB of disk free, expected"

echo "memory is checked where the timed pass dies"
checks=$((checks + 1))
if ! grep -q __asan_init "$program"; then
    large=(-s d_model=512 -s d_ff=2048 -s layers=8 -s heads=8 --db died.db)
    died() { (ulimit -v 900000 && ABLATE_KEEP_FREE=$1 exec "$program" run large.ini --only base "${large[@]}" "${@:2}"); }
    exits 0 died 0 --dry-run
    has err "no estimate: the estimating process ended with exit status 1, at row base"
    has err "GB of memory each"
    exits 1 died 1e18 "${fast[@]}"
    has err "base: found "
    [ ! -e died.db ] || wrong "died.db was written"
fi

echo "rows that differ in rates alone are counted once"
{ tiny many 100000 && printf '[sweep A]\ncombine = grid\nlr = %s\nd_ff = 8, 16\n' "$(seq -s, 0.001 0.001 0.2)"; } >many.ini
exits 0 ablate run many.ini --dry-run
has err "many: 40"
equal "$(grep -c '^A/lr=' err)" 400 "rows of the table"
equal "$(awk '/^A\/lr=/ { print $3 }' err | sort -u | wc -l)" 2 "parameters"
finish
