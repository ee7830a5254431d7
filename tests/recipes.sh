#!/usr/bin/env bash
# recipes.sh ROOT [WORD...] - applies each worked example of CONTRIBUTING.md to a copy of the tree, builds, and runs
# what was added. An example is a section whose heading ends in its number of files, "## A command: 2 files". A sentence
# says what is done with the code block below it:
#
#     New file `core/cli/seeds.c`:
#     In `core/base/base.h`, below `LINE`:        (or `above`, or `instead of`): one line of the file that contains this
#     text
#     Build and run:                              a script for bash, in the copy; a command that fails fails the test
#
# An example that needs more files than its heading says is refused. WORD: runs only examples whose heading contains it.
# First, small trees with wrong examples must be refused, each for its reason. All examples are applied before the first
# build, since some cause everything to be compiled again; with ABLATE_TEST_WHOLE (tests/reliability.sh whole) each is
# built before the next is applied. Built without optimisation, since the programs run only for seconds.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v git >/dev/null || { echo "skipped: git is not installed"; exit 77; }

# split.pl CONTRIBUTING.md FOLDER: writes FOLDER/NN/{title,files,NN.do,NN.code,run}.
cat >"$work/split.pl" <<'PERL'
use strict;
use warnings;
my ($text, $out) = @ARGV;
my ($example, $step, $here, $block, $do, $code) = (0);    # here: in an example; block: in a code block
sub put { open my $f, '>', $_[0] or die "$_[0]: $!\n"; print $f $_[1]; close $f }
open my $in, '<', $text or die "$text: $!\n";
while (<$in>) {
    if ($block && /^```$/) {
        my $at = sprintf '%s/%02d/%02d', $out, $example, ++$step;
        put("$at.code", $code), put("$at.do", $do) if $here;
        ($block, $do, $code) = ();
    }
    elsif ($block) { $code .= $_ }
    elsif (/^```/) {
        die "$text:$.: no sentence says where this block of an example goes\n" if $here && !$do;
        ($block, $code) = (1, '');
    }
    elsif (/^##? /) {
        $here = /^## (.*): (\d+) files?$/;
        if ($here) {
            my $at = sprintf '%s/%02d', $out, ++$example;
            mkdir $at or die "$at: $!\n";
            put("$at/title", "$1\n"), put("$at/files", "$2\n");
            ($step, $do) = (0);
        }
    }
    elsif (/^New file `([^`]+)`:$/) { $do = "new\t$1\n" }
    elsif (/^In `([^`]+)`, (below|above|instead of) `([^`]+)`:$/) { $do = "$2\t$1\t$3\n" }
    elsif (/^Build and run:$/) { $do = "run\n" }
}
PERL

# apply FOLDER: the steps of one example, in this folder.
apply() {
    local step how path line n
    for step in "$1"/*.do; do
        IFS=$'\t' read -r how path line <"$step"
        case $how in
        new)
            [ ! -e "$path" ] || { echo "$path is there already"; return 1; }
            mkdir -p "$(dirname "$path")"
            cp "${step%.do}.code" "$path"
            ;;
        run) ;;
        *)
            n=$(grep -cF -- "$line" "$path" || true)
            [ "$n" = 1 ] || { echo "$path: $n lines with '$line', expected one"; return 1; }
            n=$(grep -nF -- "$line" "$path" | cut -d: -f1)
            case $how in
            below) sed -i "${n}r ${step%.do}.code" "$path" ;;
            above) sed -i "$((n - 1))r ${step%.do}.code" "$path" ;;
            "instead of") sed -i -e "${n}r ${step%.do}.code" -e "${n}d" "$path" ;;
            esac
            ;;
        esac
    done
}

# perform EXAMPLE: runs the commands of EXAMPLE in this folder.
perform() {
    local step
    for step in $(grep -lx run "$1"/*.do); do
        bash -euo pipefail "${step%.do}.code" >"$work/said" 2>&1 </dev/null || {
            cat "$work/said"
            echo "CONTRIBUTING.md, $(cat "$1/title"): its commands failed"
            return 1
        }
    done
}
# other_files EXAMPLE FILES: reports that the example touches other files than its heading says
other_files() {
    printf 'CONTRIBUTING.md, %s: %s files by its heading, but the example touches\n%s\n' "$(cat "$1/title")" \
        "$(cat "$1/files")" "$2"
}

# try ROOT COPY [WORD...]: copies the tree and tries its examples.
try() {
    local root=$1 copy=$2 example title touched word wanted tried=0 examples=()
    shift 2
    mkdir -p "$copy"
    tar -C "$root" --exclude=./.git --exclude='./build*' --exclude=./data --exclude=./runs --exclude='./results.db*' \
        -cf - . |
        tar -C "$copy" -xf -
    cd "$copy"
    export CCACHE_BASEDIR=$copy CCACHE_NOHASHDIR=1 GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=user.name \
        GIT_CONFIG_VALUE_0=recipes \
        GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=recipes@localhost \
        ABLATE_CMAKE="${ABLATE_CMAKE-} -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DCMAKE_CXX_FLAGS_DEBUG=-O0"
    git init -q
    git add -A
    git commit -qm "the tree"
    rm -rf "$work/examples" && mkdir "$work/examples"
    perl "$work/split.pl" CONTRIBUTING.md "$work/examples" || return 1
    for example in "$work"/examples/*; do
        title=$(cat "$example/title")
        wanted=$(($# == 0))
        for word in "$@"; do [[ $title != *"$word"* ]] || wanted=1; done
        [ "$wanted" = 1 ] || continue
        apply "$example" || { echo "CONTRIBUTING.md, $title: the example cannot be applied"; return 1; }
        [ -z "${ABLATE_TEST_WHOLE-}" ] || perform "$example" || return 1
        touched=$(git status --porcelain --untracked-files=all | cut -c4-)
        [ "$(wc -l <<<"$touched")" = "$(cat "$example/files")" ] || { other_files "$example" "$touched"; return 1; }
        git add -A
        git commit -qm "$title"
        tried=$((tried + 1))
        examples+=("$example")
    done
    for example in "${examples[@]}"; do
        [ -n "${ABLATE_TEST_WHOLE-}" ] || perform "$example" || return 1
        touched=$(git status --porcelain --untracked-files=all | cut -c4-)
        [ -z "$touched" ] || { other_files "$example" "$touched"; return 1; }
        echo "$(cat "$example/title"): $(cat "$example/files") files, built and run"
    done
    [ $tried -gt 0 ] || { echo "CONTRIBUTING.md has no such example"; return 1; }
}

# refused REASON TEXT: a tree with a file `a` of two lines, whose CONTRIBUTING.md has this text below its heading.
refused() {
    rm -rf "$work/small" "$work/copy"
    mkdir "$work/small"
    printf 'one\ntwo\n' >"$work/small/a"
    printf '# Contributing\n\n## A thing: 2 files\n\n%b' "$2" >"$work/small/CONTRIBUTING.md"
    local said rc=0
    said=$(try "$work/small" "$work/copy" 2>&1) || rc=$?
    [ "$1" = "" ] || [ $rc != 0 ] || { echo "not refused, though $1: $said"; exit 1; }
    [ "$1" != "" ] || [ $rc = 0 ] || { echo "refused, though right: $said"; exit 1; }
    [[ $said == *"$1"* ]] || { echo "refused, but not because of '$1': $said"; exit 1; }
}
new='New file `b`:\n\n```c\nB\n```\n\n'
below='In `a`, below `one`:\n\n```c\nand a half\n```\n\n'
run='Build and run:\n\n```sh\ntest "$(cat a b | tr "\\\\n" ,)" = "one,and a half,two,B,"\n```\n'
refused '' "$new$below$run"
refused 'but the example touches' "${new}Build and run:\n\n\`\`\`sh\ntrue\n\`\`\`\n"
refused 'but the example touches' "$new$below${run/test/touch c; test}"
refused '0 lines with' "$new${below/one/three}$run"
refused '2 lines with' "$new${below/one/o}$run"
refused 'is there already' "${new/b/a}"
refused 'its commands failed' "$new$below${run/half/third}"
refused 'no sentence says where' "$new$below\`\`\`c\nmore\n\`\`\`\n"

try "$(readlink -f "${1:?the folder to look at}")" "$work/tree" "${@:2}"
