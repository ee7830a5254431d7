#!/usr/bin/env bash
# alone.sh ROOT - does each C file of core/ and plugins/ compile alone? The build joins the files of a folder, where one
# file's #include serves the others; the sanitized build compiles them one by one. Left out: CUDA and MPI, whose
# headers may be absent. First, a file without its #include must be refused.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

compile() { # compile FILE...: prints each file that does not compile, and its first errors
    for file; do
        cc -D_GNU_SOURCE -DABLATE_VERSION='""' -I"$work" -Icore -Icore/api -Iplugins -std=gnu11 -w -fsyntax-only \
            "$file" 2>"$work/errors.$$" || { echo "$file:"; head -3 "$work/errors.$$"; }
    done
}
export -f compile
export work

cd "$1"
echo '#define ABLATE_COMMIT ""' >"$work/commit.h" # the build makes it
echo 'size_t length(const char *s) { return strlen(s); }' >"$work/bare.c"
[ -n "$(compile "$work/bare.c")" ] || { echo "a file without #include <string.h> was taken"; exit 1; }
bad=$(git ls-files 'core/*.c' 'plugins/*.c' | grep -Ev '^core/tensor/(cuda|comm)/' | xargs -P2 -n16 bash -c 'compile "$@"' _)
[ -z "$bad" ] || { echo "$bad"; exit 1; }
echo "every C file compiles alone"
