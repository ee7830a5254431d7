#!/usr/bin/env bash
# make.sh COMMIT [NAME INI...] - builds COMMIT in a worktree and trains the INIs INI.ini of this folder. The database
# becomes COMMIT-NAME.db.gz here, with this machine's folders replaced in it. Default: sweeps plain tuned matched. Needs
# sqlite3.
set -e
commit=${1:?commit} name=${2:-sweeps}
[ $# -gt 2 ] || set -- "$commit" "$name" plain tuned matched
here=$(dirname "$(readlink -f "$0")")
tree=${TREE:-$(mktemp -d)/tree} # TREE names an existing checkout of COMMIT
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -d "$tree" ] || git -C "$here" worktree add --detach "$tree" "$commit"
(cd "$tree" && ./ablate --version)
cd "$work"
export ABLATE_HOME=$work/home GIT_CEILING_DIRECTORIES=$work
for ini in "${@:3}"; do
    "$tree/build/ablate" run "$here/$ini.ini" --db made.db --threads 1 --workers 1 --progress none >/dev/null 2>&1
done
{
    printf 'PRAGMA application_id=%s; PRAGMA user_version=%s; PRAGMA page_size=1024;\n' \
        "$(sqlite3 made.db 'PRAGMA application_id')" "$(sqlite3 made.db 'PRAGMA user_version')"
    sqlite3 made.db .dump | grep -v '^INSERT INTO published ' |
        sed "s#$work#/work#g; s#$tree#/ablate#g; s#$here#/inis#g; s#'$(uname -n)[^']*'#'host'#g"
} | sqlite3 packed.db
gzip -9 -n -c packed.db >"$here/$commit-$name.db.gz"
