#!/usr/bin/env bash
# Configuring the build folder again removes built plugins whose source is gone.
source "$(dirname "$0")/../cli/common.bash" "$@"
mkdir -p build/plugins/attention
touch build/plugins/attention/gone.so build/plugins/attention/scaled_dot.so
exits 0 cmake -S "$source" -B build
equal "$(ls build/plugins/attention)" scaled_dot.so "what was built of sources that are there"
finish
