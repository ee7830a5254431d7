#!/usr/bin/env bash
# set.sh SET PROGRAM ABLATE - runs a test program with the kernels of one instruction set. Skipped (77) where that is
# the set which this processor gets anyway, since the test without a set's name takes it.
own=$(env -u ABLATE_ISA "$3" --version | sed -n 's/^instruction set: //p')
[ "$own" != "$1" ] || { echo "skipped: $1 is what this processor gets without being asked" && exit 77; }
ABLATE_ISA=$1 exec "$2"
