#!/usr/bin/env bash
# `ablate bench layers` confirms Table 1 of the paper: how FLOPs and the longest chain of operations grow with the
# length.
source "$(dirname "$0")/common.bash" "$@"

exits 0 ablate bench layers --plugin scaled_dot --plugin recurrent --plugin convolutional --plugin restricted --plugin \
    linear --length 32 --length 64 --length 128 \
    --d-model 32 --heads 4 --seconds 0.001 --json
cp out layers.jsonl
equal "$(wc -l <layers.jsonl)" 15 "lines"

# field LAYER N KEY: prints that figure of the layer at length N
field() { sed -n "s/.*\"layer\":\"$1\".*\"n\":$2,.*\"$3\":\([0-9.]*\).*/\1/p" layers.jsonl; }
# grows LAYER KEY LEAST MOST: the figure grows with n^e from 64 to 128 tokens, LEAST <= e <= MOST
grows() {
    local found
    found=$(awk -v a="$(field "$1" 64 "$2")" -v b="$(field "$1" 128 "$2")" 'BEGIN {printf "%.3f", log(b / a) / log(2)}')
    equal "$(awk -v x="$found" -v a="$3" -v b="$4" 'BEGIN {print (x >= a && x <= b) ? "within" : x}')" within \
        "$1, exponent of $2 from $3 to $4"
}
grows recurrent chain 0.95 1.05
grows convolutional chain -0.01 0.01
grows scaled_dot chain -0.01 0.01
grows recurrent flops 0.98 1.02
grows convolutional flops 0.98 1.02
grows scaled_dot flops 1.2 1.9
grows restricted flops 0.98 1.15 # only keys inside the window count
grows linear flops 0.98 1.02

exits 0 ablate bench layers --plugin linear --d-model 16 --heads 2 --seconds 0.001 --json
equal "$(sed -n 's/.*"n":\([0-9]*\),.*/\1/p' out | paste -sd' ')" "16 32 64 128 256 512 1024 2048 4096" "lengths by default"
exits 1 ablate bench layers --length 64 --length 32
has err "lengths must ascend"
exits 1 ablate bench layers --plugin no_such_layer
has err "no_such_layer"
exits 0 ablate bench layers --plugin linear --length 16 --length 32 --seconds 0.001
has out "linear "

# In a decoder a layer scans once; in an encoder it scans a second time, from the end.
for role in encoder decoder; do
    exits 0 ablate bench layers --plugin delta_net --role $role --length 64 --seconds 0.001 --profile --json
    has err "DELTA_SCAN"
    sed 's/.*"flops":\([0-9]*\).*/\1/' out >$role.flops
done
equal "$([ "$(cat decoder.flops)" -lt "$(cat encoder.flops)" ] && echo fewer)" fewer "operations of the decoder's layer"
exits 1 ablate bench layers --role cross --length 16
has err "--role cross: expected encoder or decoder"
exits 1 ablate bench layers --role decoder --into mixers --length 16
has err "--role decoder cannot be combined with --into"

# n sentences at once
for n in 1 4; do
    exits 0 ablate bench layers --plugin scaled_dot --length 16 --sentences $n --seconds 0.001 --json
    has out "\"sentences\":$n,"
    sed 's/.*"flops":\([0-9]*\).*/\1/' out >>sentences.flops
done
equal "$(paste -sd' ' sentences.flops | awk '{ printf "%.1f", $2 / $1 }')" 4.0 "operations of four sentences, of one"
exits 0 ablate bench layers --plugin lstm --length 16 --sentences 32 --seconds 0.001
has out "32 sentences of n tokens each"
exits 1 ablate bench layers --into mixers --sentences 2 --length 16
has err "--sentences cannot be combined with --into"

# Settings of plugins apply; lengths beyond a position table are refused; a row ends early when memory is full.
exits 0 ablate bench layers --plugin convolutional --plugin synthesizer -s convolutional.separable=true -s \
    synthesizer.max_len=64 --length 32 --length 64 --seconds 0.001
has out "synthesizer "
exits 1 ablate bench layers --plugin synthesizer -s synthesizer.max_len=64 --length 65
has err "synthesizer.max_len = 64: expected at least 65"
exits 1 ablate bench layers --plugin linear -s lstm.width=8 --length 16
has err "-s lstm.width=8: expected a parameter of a measured plugin"
exits 0 ablate bench layers --plugin additive --length 64 --length 1024 --memory 16 --seconds 0.001 --json
equal "$(wc -l <out)" 1 "lines that fit in 16 MB"

# An attention and a schedule share a name in one run.
{ tiny linear 4 | sed 's/^schedule = .*/schedule = linear/' && printf 'attention_encoder = linear\n'; } >linear.ini
exits 0 ablate run linear.ini

# --into stores figures and curves in an experiment, beside its runs.
{ tiny mixers 4 && printf '[variant gru]\nattention_encoder = recurrent\n'; } >mixers.ini
exits 0 ablate run mixers.ini
exits 1 ablate bench layers --into nothing --length 16
has err "nothing"
exits 0 ablate bench layers --into mixers --length 16 --length 32 --length 64 --seconds 0.001
has out "gru "
exits 0 ablate query "SELECT variant, round(value) FROM results WHERE experiment='mixers' AND metric='chain n^' ORDER BY place" --format csv
has out "gru,1"
exits 0 ablate query "SELECT count(*) FROM curves WHERE experiment='mixers' AND metric='layer ms'" --format csv
has out "6"
finish
