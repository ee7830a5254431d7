#!/usr/bin/env bash
# `include = FILE`: sections of the other file come first, and the including file's keys override them. Messages name
# the file and line that hold a key; if two files include each other, the message names both lines; the database keeps
# one INI that needs no other file.
source "$(dirname "$0")/common.bash" "$@"
mkdir shared
{ tiny base 12 | sed 's/^d_ff = .*/d_ff = 16   # a comment/' && printf '[sweep A]\nheads = 1, 4\n'; } >shared/base.ini
printf 'include = base.ini\n[base]\nd_ff = 24\n[variant wide]\nd_ff = 64\n' >shared/middle.ini
printf '# mine\ninclude = "shared/middle.ini"   # two files\n\n[experiment]\nname = mine\n[base]\nsteps = 6\n[sweep A]\nheads = 1, 2\n' >mine.ini
exits 0 ablate run mine.ini --dry-run
for line in 'steps = 6' 'd_ff = 24' '[variant A/heads=1]' '[variant A/heads=2]' '[variant wide]'; do has out "$line"; done
hasnt out 'heads = 4'
exits 0 ablate run mine.ini --threads 1 --progress none --only base
exits 0 ablate query "SELECT spec_ini FROM experiment" --format csv
hasnt out include
sed -e '1d' -e 's/^"//; s/"$//; s/""/"/g' out | tr -d '\r' >flat.ini
exits 0 ablate run flat.ini --dry-run
cp out flat
exits 0 ablate run mine.ini --dry-run
equal "$(grep -v '^#' flat)" "$(grep -v '^#' out)" "rows of the flat INI"
mv shared away # the stored experiment needs no other file
exits 0 ablate run flat.ini --threads 1 --progress none --only base
equal "$(sql 'SELECT count(*) FROM run WHERE status = "done"')" 1 "runs done"
exits 0 ablate replay "mine/base@1" --step 1

refuses() { # TEXT: `run x.ini` ends with code 2 and prints TEXT
    exits 2 ablate run x.ini --dry-run
    has err "$1"
}
printf 'include = away/base.ini\n[base]\nstps = 1\n' >x.ini && refuses 'x.ini:3: stps: found an unknown key'
printf '[base]\nstps = 1\n' >wrong.ini && printf 'include = wrong.ini\n' >x.ini && refuses 'wrong.ini:2: stps: found an unknown key'
printf 'include = nowhere.ini\n' >x.ini && refuses 'x.ini:1: nowhere.ini: cannot be opened'
printf '[base]\ninclude = wrong.ini\n' >x.ini && refuses 'x.ini:2: include: found below [base], expected it above the first section'
printf 'include = x.ini\n' >x.ini && refuses 'x.ini:1: include: found a cycle: x.ini includes this file'
printf 'include = y.ini\n' >x.ini && printf '\ninclude = x.ini\n' >y.ini &&
    refuses 'y.ini:2: include: found a cycle: x.ini includes this file through x.ini:1'
printf 'heads = 2\n' >x.ini && refuses 'x.ini:1: heads: found a key before any section'
printf '[base]\nheads = 2\nheads = 4\n' >y.ini && printf 'include = y.ini\n[base]\nheads = 1\n' >x.ini &&
    refuses 'y.ini:3: heads: found a second time'
printf '[base]\nheads = 2\n' >y.ini && printf 'include = y.ini\n[base]\nheads = 1\nheads = 4\n' >x.ini &&
    refuses 'x.ini:4: heads: found a second time, expected once; the first is at x.ini:3'
for k in 1 2 3 4; do printf 'include = z%s.ini\ninclude = z%s.ini\n' $((k + 1)) $((k + 1)) >z$k.ini; done
printf '[base]\nsteps = 6\nd_ff = 16\n' >z5.ini
printf 'include = y.ini\ninclude = z1.ini\n[base]\nd_ff = 24\n' >x.ini
printf 'include = z5.ini\n[base]\nheads = 2\n' >y.ini # a file that is included twice is read once
exits 0 ablate run x.ini --dry-run -s task=sequence
for line in 'steps = 6' 'heads = 2' 'd_ff = 24'; do has out "$line"; done
for k in $(seq 300); do echo "include = nowhere$k.ini"; done >x.ini
exits 2 ablate run x.ini --dry-run
equal "$(grep -c 'cannot be opened' err) $(grep -c 'only the first 100' err)" "100 1" "errors of 300 missing files"
finish
