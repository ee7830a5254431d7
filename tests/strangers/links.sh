#!/usr/bin/env bash
# A published folder from a stranger: symbolic links in it are reported and not followed; pipes do not block.
source "$(dirname "$0")/../cli/common.bash" "$@"
tiny linked 6 >linked.ini
exits 0 ablate run linked.ini --threads 1 --progress none
exits 0 ablate publish linked pub
exits 0 ablate verify pub --runs 0
exits 0 ablate verify pub/ --runs 0
ln -s pub other && exits 0 ablate verify other --runs 0

mkdir pub/d && ln -s . pub/d/x && ln -s . pub/d/y && ln -s / pub/root && mkfifo pub/d/pipe
printf 'x' >pub/$'a\033[2Jb'
exits 1 timeout 20 "$program" verify pub --runs 0
for name in d/x d/y root; do has out "pub/$name: is a link"; done
has out 'pub/d/pipe: is not in SHA256SUMS'
has out 'pub/a\x1b[2Jb: is not in SHA256SUMS'
equal "$(wc -l <out)" 7 "lines: five strays, files, table"
rm -r pub/d pub/root pub/a*

echo "a file of the sums that is a link or a pipe"
cp pub/table.csv kept && cp pub/table.csv pub/d.csv
for to in d.csv ../kept; do
    rm pub/table.csv && ln -s $to pub/table.csv
    exits 1 timeout 20 "$program" verify pub --runs 0
done
rm pub/table.csv && ln -s d.csv pub/table.csv
exits 1 timeout 20 "$program" verify pub --runs 0
has out 'pub/table.csv: is a link'
rm pub/table.csv pub/d.csv && cp kept pub/table.csv
for name in table.csv page.html runs.json; do
    cp pub/$name kept.$name && rm pub/$name && mkfifo pub/$name
    exits 1 timeout 20 "$program" verify pub --runs 0
    rm pub/$name && cp kept.$name pub/$name
done
exits 0 ablate verify pub --runs 0
finish
