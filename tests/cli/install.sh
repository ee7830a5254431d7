#!/usr/bin/env bash
# An installed copy in a folder of its own: all files are there, the program finds its plugins and the published tables,
# and a plugin compiles with the flags that pkg-config gives.
source "$(dirname "$0")/common.bash" "$@"
build=$(dirname "$program")
at=$work/usr
exits 0 cmake --install "$build" --prefix "$at"
for file in bin/ablate include/ab_plugin.h include/ab_host.h include/ab_task.h \
    lib/ablate/plugins/attention/scaled_dot.so \
    share/ablate/experiments/quick.ini \
    share/ablate/experiments/published/table3.tsv share/doc/ablate/README.md share/doc/ablate/LICENSE \
    share/doc/ablate/plugins.md \
    share/pkgconfig/ablate.pc share/bash-completion/completions/ablate; do
    checks=$((checks + 1))
    [ -s "$at/$file" ] || wrong "$file is missing"
done
names() { # MINOR: prints which of ab_window and ab_running_sum the header declares if AB_TARGET_MINOR is MINOR
    echo '#include "ab_plugin.h"' | cc -E -dM -DAB_TARGET_MINOR="$1" -I "$at/include" - |
        grep -oE ' ab_(window|running_sum)\(' | sort | tr -d ' \n' || true
}
equal "$(names 0) $(names 1) $(names 2)" " ab_window( ab_running_sum(ab_window(" "newer functions by minor version"
checks=$((checks + 1)) # a plugin's file, whose sha256 runs record, does not depend on where it was built
! grep -qF "$source" "$at"/lib/ablate/plugins/*/*.so || wrong "$(grep -lF "$source" "$at"/lib/ablate/plugins/*/*.so |
    head -1) contains $source"
program=$at/bin/ablate
exits 0 ablate list plugins
equal "$(grep -o '^[a-z]*/[a-z_]*' out | sort | tr '\n' ' ')" "$("$build/ablate" list plugins | grep -o '^[a-z]*/[a-z_]*' |
    sort | tr '\n' ' ')" "plugins of the installed copy"
exits 0 ablate run "$at/share/ablate/experiments/quick.ini" --dry-run
exits 0 ablate table smoothing --metric BLEU # from the project's records
has out "label_smoothing=0.3"
if command -v pkg-config >/dev/null && command -v cc >/dev/null; then
    # shellcheck disable=SC2046
    exits 0 cc -shared $(PKG_CONFIG_PATH=$at/share/pkgconfig pkg-config --cflags ablate) "$source/plugins/optim/sgd.c" \
        -o mine.so
    exits 0 ablate check ./mine.so
fi
# A build folder outside the checkout contains a link to the checkout, made by CMakeLists.txt.
mkdir elsewhere
cp "$build/ablate" elsewhere
ln -s "$build/plugins" elsewhere/plugins
ln -s "$source" elsewhere/source
program=$PWD/elsewhere/ablate
exits 0 ablate table smoothing --metric BLEU
has out "label_smoothing=0.3"
exits 0 ablate new optimizer own
exits 0 ablate check ./own.c
finish
