#!/usr/bin/env bash
# set.sh SET PROGRAM ABLATE [PRELOAD] - runs a test program with the kernels of one instruction set. PRELOAD, loaded
# first, may emulate the set. Skipped (77) if the processor lacks the set, or if ablate chooses this set anyway: then
# the test without a set's name covers it.
own=$(env -u ABLATE_ISA "$3" --version | sed -n 's/^instruction set: //p')
[ "$own" != "$1" ] || { echo "skipped: $1 is what this processor gets without being asked" && exit 77; }
export ABLATE_ISA=$1
if ! said=$(LD_PRELOAD=${4-} "$3" --version 2>&1) && [[ $said == *"not supported by this processor"* ]]; then
    echo "skipped: $said" && exit 77
fi
LD_PRELOAD=${4-} exec "$2"
