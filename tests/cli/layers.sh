#!/usr/bin/env bash
# `ablate bench layers` counts what Table 1 says: how FLOPs and the longest chain grow with the length.
source "$(dirname "$0")/common.bash" "$@"

exits 0 ablate bench layers --plugin scaled_dot --plugin recurrent --plugin convolutional --length 32 --length 64 --length 128 \
    --d-model 32 --heads 4 --seconds 0.001 --json
cp out layers.jsonl
equal "$(wc -l <layers.jsonl)" 9 "lines"

# field LAYER N KEY
field() { sed -n "s/.*\"layer\":\"$1\".*\"n\":$2,.*\"$3\":\([0-9.]*\).*/\1/p" layers.jsonl; }
# grows LAYER KEY LEAST MOST: the exponent of n from 64 to 128 tokens
grows() {
    local found
    found=$(awk -v a="$(field "$1" 64 "$2")" -v b="$(field "$1" 128 "$2")" 'BEGIN {printf "%.3f", log(b / a) / log(2)}')
    equal "$(awk -v x="$found" -v a="$3" -v b="$4" 'BEGIN {print (x >= a && x <= b) ? "within" : x}')" within "$1, exponent of $2 from $3 to $4"
}
grows recurrent chain 0.95 1.05
grows convolutional chain -0.01 0.01
grows scaled_dot chain -0.01 0.01
grows recurrent flops 0.98 1.02
grows convolutional flops 0.98 1.02
grows scaled_dot flops 1.2 1.9

exits 1 ablate bench layers --length 64 --length 32
has err "lengths must ascend"
exits 1 ablate bench layers --plugin no_such_layer
has err "no_such_layer"
exits 0 ablate bench layers --plugin linear --length 16 --length 32 --seconds 0.001
has out "linear "
finish
