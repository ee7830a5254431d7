#!/usr/bin/env bash
# mutants.sh ROOT [WORD...] - tests the tests: each row of tests/oracle/mutants.txt (or $MUTANTS) names a wrong line and
# a test. Applies one row at a time to a copy of the tree, and fails if the test still passes. Each test must pass in
# the unchanged copy first. WORD: only rows that contain it. Without words, $MUTANTS and ABLATE_TEST_WHOLE: every sixth
# row, from one of the first six on by the commit's hash.
set -euo pipefail
root=$(readlink -f "${1:?the folder to look at}")
shift
turn=
if [ $# -eq 0 ] && [ -z "${MUTANTS-}${ABLATE_TEST_WHOLE-}" ]; then
    turn=$((0x$(git -C "$root" rev-parse --short=6 HEAD 2>/dev/null || echo 0) % 6))
fi
list=${MUTANTS:-tests/oracle/mutants.txt}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tree"
tar -C "$root" --exclude=./.git --exclude='./build*' --exclude=./data --exclude=./runs --exclude='./results.db*' -cf - . |
    tar -C "$work/tree" -xf -
cd "$work/tree"
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 ABLATE_CMAKE="${ABLATE_CMAKE-} -DABLATE_WERROR=OFF"

# rows [WORD...]: prints rows, FILE | TEXT | WRONG TEXT | [SETTING=VALUE]... TEST
rows() {
    local row word
    while IFS= read -r row; do
        [[ $row != "" && $row != "#"* ]] || continue
        [ $# -gt 0 ] || { echo "$row"; continue; }
        for word in "$@"; do [[ $row != *"$word"* ]] || { echo "$row"; break; }; done
    done <"$list"
}
# put FILE TEXT WRONG: replaces the text, which must occur exactly once.
put() {
    TEXT=$2 WRONG=$3 perl -0777 -pi -e '
        my $n = () = /\Q$ENV{TEXT}\E/g;
        die "$ARGV: \"$ENV{TEXT}\" stands there $n times, expected once\n" if $n != 1;
        s/\Q$ENV{TEXT}\E/$ENV{WRONG}/' "$1"
}
# check [SETTING=VALUE]... TEST|TEST...: builds and runs the tests, first the tests of the short suite, then those of
# the long one.
check() {
    local named=("-R" "^(${!#})\$")
    env "${@:1:$#-1}" ./ablate test "${named[@]}" >"$work/said" 2>&1 </dev/null ||
        grep -q 'No tests were found' "$work/said" || return 1
    env "${@:1:$#-1}" ctest --test-dir build --output-on-failure -L long "${named[@]}" >>"$work/said" 2>&1 </dev/null
}

rows "$@" | awk -v turn="$turn" 'turn == "" || NR % 6 == turn' >"$work/rows"
[ -s "$work/rows" ] || { echo "no row of $list contains this"; exit 1; }
sed 's/.* | //' "$work/rows" | sort -u >"$work/tests"
{ grep -v ' ' "$work/tests" | paste -sd'|'; grep ' ' "$work/tests" || true; } | while read -ra test; do
    [ ${#test[@]} -gt 0 ] || continue
    check "${test[@]}" || { tail -20 "$work/said"; echo "the tests fail in the unchanged tree: ${test[*]}"; exit 1; }
    [[ $(cat "$work/said") == *"100% tests passed"* ]] || { tail -20 "$work/said"; echo "these tests do not exist: ${test[*]}"; exit 1; }
done
bad=0 n=0
while IFS= read -r row; do
    row=${row// | /$'\x1f'}
    IFS=$'\x1f' read -r file text wrong test <<<"$row"
    cp -p "$file" "$work/kept"
    put "$file" "$text" "$wrong" || { bad=1; continue; }
    n=$((n + 1))
    read -ra words <<<"$test"
    if check "${words[@]}"; then
        echo "$file: $test does not notice \"$wrong\""
        bad=1
    elif ! grep -q 'tests failed' "$work/said"; then
        tail -5 "$work/said"
        echo "$file: the wrong line does not build"
        bad=1
    fi
    cp "$work/kept" "$file"
done <"$work/rows"
echo "$n wrong lines"
exit $bad
