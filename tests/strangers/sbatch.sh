#!/usr/bin/env bash
# [slurm] in a stranger's INI may set resources, but not the job's program, environment or files.
source "$(dirname "$0")/../cli/common.bash" "$@"
mkdir bin
printf '#!/bin/sh\nprintf "%%s\\n" "$@" >>%s/asked\necho 17\n' "$work" >bin/sbatch
printf '#!/bin/sh\nprintf "%%s\\n" "$@" >>%s/told\n' "$work" | tee bin/squeue bin/scancel >bin/sacct
chmod +x bin/*
export PATH=$work/bin:$PATH
run() { ablate run s.ini --db s.db --launcher slurm --detach >out 2>err; }

while IFS= read -r extra; do
    { tiny s 6 && printf '[slurm]\nextra = %s\n' "$extra"; } >s.ini
    rm -rf s.db* asked
    exits 2 ablate run s.ini --db s.db --launcher slurm --detach
    has err "s.ini:23: extra: found \"$extra\", expected only these options, with their values: --account="
    equal "$(cat asked 2>/dev/null)" "" "sbatch was started with: $extra"
done <<'CASES'
/tmp/evil.sh
--nice=1 /tmp/evil.sh
--nice=1 --export=ALL,LD_PRELOAD=/tmp/evil.so
--export-file=/tmp/evil
--wrap=/tmp/evil.sh
--chdir=/tmp
--output=/tmp/x
--error=/tmp/x
--input=/tmp/x
-D/tmp
-x node7
--uid=0
--get-user-env
--bcast=/tmp/x
--container=/tmp/x
--prolog=/tmp/x
--nice=1 --
--
--acc=x
--account
--account=
--accountx=1
--hold=
--container
--nice=1	/tmp/evil.sh
CASES
{ tiny s 6 && printf '[slurm]\nextra = --nice=100 --exclusive --mail-type=FAIL\n'; } >s.ini
run || wrong "options that are allowed: $(cat err)"
for word in --nice=100 --exclusive --mail-type=FAIL; do has asked "$word"; done

echo "the id of a job"
ls home/runs s.db.runs >/dev/null 2>&1
job=$(find . -path '*/slurm/*/job' | head -1)
[ -f "$job" ] || wrong "no file of the job"
printf -- '--user=me' >"$job"
rm -f told
exits 1 ablate sync s --db s.db
has err 'found "--user=me", expected the id of a job'
equal "$(grep -c -e --user told 2>/dev/null)" "" "scancel or squeue was asked with an option from a file"
finish
