#!/usr/bin/env bash
# Runs the commands of the plugin guide: the guide's attention and feed-forward build, pass the check, and train on
# fewer sentences; the experiment has the rows of the guide's table.
set -eu
program=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir bin home
ln -s "$program" bin/ablate
export PATH=$work/bin:$PATH INCLUDE=$source/core/api ABLATE_HOME=$work/home ABLATE_DB=$work/results.db OMP_NUM_THREADS=1
unset ABLATE_DATA
block() { awk -v want="$1" '$0 == "```" { on = 0 } on { print } $0 == "```" want { on = 1 }' "$source/docs/plugins.md" \
    "$source/docs/plugins/feed_forward.md"
}
block c > cosine.c
small='/^translation.data/a translation.train_pairs = 500\ntranslation.dev_pairs = 50\ntranslation.test_pairs = 50'
block ini | sed "$small" > cosine.ini
block sh | sed 's/^ablate run .*/& --no-check/' > commands.sh # the guide's line before has checked the plugin
echo "$(grep -c . cosine.c) lines of C, $(grep -c . commands.sh) commands"
test "$(grep -c . commands.sh)" = 3
bash -eu commands.sh > out.txt 2> err.txt || { echo "a command of the guide failed:"; tail -n 30 out.txt err.txt; exit 1
}
for row in 'attention=cosine' 'colder' 'cosine.temperature=20'; do
    grep -F -- "$row" out.txt || { echo "no row '$row' in the table:"; cat out.txt; exit 1; }
done
awk -v want='```c idioms' '$0 == "```" { on = 0 } on { print } $0 == want { on = 1 }' "$source/docs/idioms.md" > \
    idioms.c
test "$(grep -c . idioms.c)" -gt 50
cc -Wall -Wextra -Werror -fPIC -c -I"$INCLUDE" idioms.c || { echo "docs/idioms.md does not compile"; exit 1; }
block 'c gated' > gated.c
block 'ini gated' | sed "$small" > gated.ini
block 'sh gated' | sed 's/^ablate run .*/& --no-check/' > gated.sh
test "$(grep -c . gated.sh)" = 3
bash -eu gated.sh > out.txt 2> err.txt || { echo "a command for the feed-forward failed:"; tail -n 30 out.txt err.txt
exit 1; }
for row in 'feed_forward=gated' 'feed_forward=none'; do
    grep -F -- "$row" out.txt || { echo "no row '$row' in the table:"; cat out.txt; exit 1; }
done
