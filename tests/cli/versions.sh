#!/usr/bin/env bash
# Databases and models of earlier versions open: their results are shown, their models translate (tests/data/versions).
source "$(dirname "$0")/common.bash" "$@"

for version in 3772abc fa6aaa1; do
    echo "$version"
    gunzip -c "$source/tests/data/versions/$version.db.gz" >"$version.db"
    cp "$version.db" old.db
    exits 0 ablate table old --db "$version.db"
    hasnt out "left out"
    expected="1.64669 1.30995"
    [ $version = 3772abc ] || expected="1.65957 1.29659"
    equal "$(sql "SELECT printf('%.5f',value) FROM results WHERE experiment='old' AND metric='PPL' ORDER BY place" \
        "$version.db" | xargs)" "$expected" \
        "results of $version"
    equal "$(ls "$version".db.version*)" "$version.db.version$([ $version = 3772abc ] && echo 1 ||
        echo 4).bak" "the copy of the old database"
    if command -v sqlite3 >/dev/null; then
        sqlite3 old.db .dump >old.txt
        sqlite3 "$version".db.version*.bak .dump | cmp - old.txt || wrong "the copy differs from the old database"
    fi
    exits 0 ablate show old/base@1 --db "$version.db"
    has out "sequence.kind = copy"
    printf 's0001 s0002 s0003\ns0004 s0000\n' >in.txt
    "$program" translate --model "$source/tests/data/versions/$version.safetensors" --threads 1 <in.txt >out 2>err ||
        wrong "translate: $(cat err)"
    # version $version printed the same: a copy of in.txt
    equal "$(cat out)" "$(cat in.txt)" "copies by the model of $version"
done

echo "a plugin built with the header of fa6aaa1 opens, passes the check and trains"
mkdir api && cp "$source/tests/data/versions/fa6aaa1_header.txt" api/ab_plugin.h
cat >half.c <<'C'
#include "ab_plugin.h"
static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    return ab_output(c, ab_weighted_sum(c, ab_softmax(c, ab_scores(c, q, k, 0.5)), v));
}
typedef struct {
    int64_t unused;
} config;
static const ab_param params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "half", .doc = "attention with scores times a half");
C
cc -shared -fPIC -Iapi half.c -o half.so || wrong "half.c does not build"
exits 0 ablate list plugins ./half.so
has out "ABI 2.2"
exits 0 ablate check ./half.so
{ tiny halves 6 && printf '[variant half]\nattention = ./half.so\n'; } >halves.ini
exits 0 ablate run halves.ini --threads 1 --progress none --db halves.db
equal "$(sql "SELECT count(*) FROM runs WHERE status='done'" halves.db)" 2 "runs that are done"

echo "a run under new settings leaves the old results where they are, says so, and shows them again"
sed 's/^relu_dropout/activation_dropout/; s/^average/average_checkpoints/; s/^beam/beam_size/; s/^steps.*/steps = 6/; s/^\(eval\|save\)_every.*/\1_every = 6/' \
    "$source/tests/data/versions/old.ini" >old.ini
exits 0 ablate run old.ini --threads 1 --progress plain --db 3772abc.db
has err "2 older runs with other settings stay in the database but out of the table"
exits 0 ablate rm --experiment old --undo --db 3772abc.db
equal "$(sql "SELECT printf('%.5f',value) FROM results WHERE metric='PPL' AND variant='base~1'" 3772abc.db)" 1.64669 \
    "the old result beside the new one"
finish
