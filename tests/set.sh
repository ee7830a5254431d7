#!/usr/bin/env bash
# set.sh SET PROGRAM ABLATE [PRELOAD] - runs a test program with the kernels of one instruction set, PRELOAD (which may
# emulate a set) loaded first. Skipped (77) if the processor lacks the set, or chooses it by
# itself, since the test without a set's name covers it then.
own=$(env -u ABLATE_ISA "$3" --version | sed -n 's/^instruction set: //p')
[ "$own" != "$1" ] || { echo "skipped: $1 is what this processor gets without being asked" && exit 77; }
export ABLATE_ISA=$1
if ! said=$(LD_PRELOAD=${4-} "$3" --version 2>&1) && [[ $said == *"not supported by this processor"* ]]; then
    echo "skipped: $said" && exit 77
fi
LD_PRELOAD=${4-} exec "$2"
