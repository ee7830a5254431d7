#!/usr/bin/env bash
# If a row's settings are changed, its older runs are counted, listed and shown, used again if the settings are changed
# back, and removed on request. `rm` removes what it lists; a copy of a database leaves the original's files alone; two
# plugins may share a name.
source "$(dirname "$0")/common.bash" "$@"
fast=(--threads 1 --progress plain)

echo "older runs are counted and listed"
{ tiny ti 6 && printf '[sweep A]\nheads = 1\n'; } >ti.ini
exits 0 ablate run ti.ini "${fast[@]}"
exits 0 ablate tag ti/base "note=of the first settings"
first=$(sql "SELECT quote(value) FROM results WHERE variant='base' AND metric='PPL'")
exits 0 ablate run ti.ini -s steps=8 "${fast[@]}"
has err "2 older runs with other settings stay in the database but out of the table"
has out "2 older runs with other settings are left out: \`ablate ls ti --older\` lists them"
exits 0 ablate ls ti
has err "2 older runs with other settings are left out"
exits 0 ablate ls
has err "2 older runs with other settings are left out: \`ablate ls ti --older\` lists them"
exits 0 ablate ls ti --older
has out "steps = 6"
exits 0 ablate ls ti --older --json
equal "$(grep -c '"settings":"steps = 6"' out)" 2 "older runs in JSON"
exits 2 ablate ls --older

echo "shown again, and left out by the next run"
exits 0 ablate rm --experiment ti --undo
has err "2 older rows are shown again"
exits 0 ablate table ti
has out "base~1"
hasnt out "left out"
equal "$(sql "SELECT quote(value) FROM results WHERE variant='base~1' AND metric='PPL'")" "$first" \
    "result of the row shown again"
equal "$(sql "SELECT change FROM variant WHERE name='A/heads=1~1'")" '"d_k = 16, d_v = 16, heads = 1, steps = 6"' \
    "what the row shown again changes"
exits 0 ablate run ti.ini -s steps=8 "${fast[@]}"
has out "2 older runs"
exits 0 ablate run ti.ini "${fast[@]}" # after a change back to the first settings nothing is trained
equal "$(sql "SELECT quote(value) FROM results WHERE variant='base' AND metric='PPL'")" "$first" \
    "result under the first settings"
equal "$(ls home/runs/ti | wc -l)" 4 "folders of four runs"

echo "rm says how many, older ones too, and removes these and their folders"
exits 0 ablate rm --experiment ti --older --dry-run
has err "would remove 2 runs"
exits 0 ablate rm --experiment ti --dry-run
has err "would remove 4 runs"
has err "in 4 folders"
exits 0 ablate rm --experiment ti --older --yes
has err "removing 2 runs"
equal "$(sql "SELECT count(*) FROM run")" 2 "runs that are left"
equal "$(sql "SELECT value FROM tag WHERE tag='note'")" "of the first settings" "the note of a run that is left"
equal "$(ls home/runs/ti | wc -l)" 2 "folders that are left"

echo "a copy of a database, in whatever way it is named, removes no file of the original"
mkdir copied && cp results.db copied/copy.db && cp results.db copy.db && cp results.db home/results.db
exits 0 ablate rm --experiment ti --yes --db copied/copy.db
has err "2 folders outside this database's folder of runs stay"
exits 0 ablate rm --experiment ti --yes --db copy.db
equal "$(ls home/runs/ti/*/model.safetensors | wc -l)" 2 "models of the original"
ABLATE_DB=$work/copy.db exits 1 ablate rm --experiment ti --yes
rm home/results.db && mkdir -p away && mv home/runs away/ && ln -s "$work/away/runs/ti" linked
exits 0 ablate rm --experiment ti --yes
equal "$(ls away/runs/ti | wc -l)" 2 "folders that were moved away"

echo "two plugins of one name in two folders, one database"
for n in 1 2; do
    mkdir -p "p$n"
    cat >"p$n/scale.c" <<C
#include "ab_plugin.h"
static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    return ab_output(c, ab_weighted_sum(c, ab_softmax(c, ab_scores(c, q, k, 0.$n)), v));
}
typedef struct {
    int64_t unused;
} config;
static const ab_param params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "scale", .doc = "attention with scaled scores");
C
    cc -shared -fPIC -I"$source/core/api" "p$n/scale.c" -o "p$n/scale.so" || wrong "p$n/scale.c does not build"
    { tiny twin 6 && printf '[variant mine]\nattention = ./scale.so\n'; } >"p$n/twin.ini"
done
exits 0 ablate run p1/twin.ini "${fast[@]}" --no-check
hasnt out "†"
exits 0 ablate run p2/twin.ini "${fast[@]}" --no-check
has err "1 run was trained with a plugin that has changed since: --rerun changed trains it again"
has out "† 1 run of 1 row was trained with a plugin whose file has changed since"
exits 0 ablate table twin
has out "†"
exits 0 ablate run p1/twin.ini "${fast[@]}" --no-check
hasnt out "†"
was=$(sql "SELECT quote(value) FROM results WHERE experiment='twin' AND variant='mine' AND metric='PPL'")
exits 0 ablate run p2/twin.ini "${fast[@]}" --no-check --rerun changed
hasnt out "†"
now=$(sql "SELECT quote(value) FROM results WHERE experiment='twin' AND variant='mine' AND metric='PPL'")
[ "$was" != "$now" ] || wrong "the second plugin's row still has the first one's result, $was"


if command -v sqlite3 >/dev/null; then
    echo "a version with other defaults trains nothing again without being asked"
    { tiny defaults 6 && printf '[sweep A]\nheads = 1\n'; } >defaults.ini
    exits 0 ablate run defaults.ini "${fast[@]}" --db other.db
    sqlite3 other.db "UPDATE variant SET config_hash='0123'||substr(config_hash,5),
        config_json=json_set(config_json,'\$.label_smoothing',0.25) WHERE name LIKE '%heads=1'"
    exits 1 ablate run defaults.ini "${fast[@]}" --db other.db
    has err "defaults: this version of ablate has other defaults than the version that trained the results:"
    has err "  A/heads=1: label_smoothing = 0.1, was 0.25"
    equal "$(sqlite3 other.db "SELECT count(*) FROM run")" 2 "runs"
    exits 0 ablate run defaults.ini "${fast[@]}" --db other.db --rerun changed
    has err "1 older run with other settings stays in the database"
    equal "$(sqlite3 other.db "SELECT count(*) FROM run WHERE status='done'")" 3 "runs"
    exits 0 ablate run defaults.ini "${fast[@]}" --db other.db
    sqlite3 other.db "UPDATE variant SET config_hash='0123'||substr(config_hash,5),
        config_json=json_set(config_json,'\$.label_smoothing',0.25) WHERE name='base'"
    exits 0 ablate run defaults.ini -s steps=7 "${fast[@]}" --db other.db # these settings differ from the stored ones

    echo "nor does it search or match again; what these find is no other default"
    { tiny tuned 6 | sed 's/^lr = .*/lr = tune(0.002 .. 0.01, 2)/' && printf '[sweep A]\nheads = 1\n'; } >tuned.ini
    { tiny matched 6 | sed 's/^name.*/&\nmatch = params by d_ff/' && printf '[sweep A]\nfeed_forward = swiglu\n'; } >matched.ini
    for name in tuned matched; do
        exits 0 ablate run $name.ini "${fast[@]}" --db $name.db
        count=$(sqlite3 $name.db "SELECT count(*) FROM run")
        exits 0 ablate run $name.ini "${fast[@]}" --db $name.db
        sqlite3 $name.db "UPDATE variant SET config_hash='0123'||substr(config_hash,5),
            config_json=json_set(config_json,'\$.checkpoint','last')"
        exits 1 ablate run $name.ini "${fast[@]}" --db $name.db
        has err "$name: this version of ablate has other defaults than the version that trained the results:"
        has err "  base: checkpoint = best, was last"
        hasnt err "start "
        equal "$(sqlite3 $name.db "SELECT count(*) FROM run")" "$count" "runs of $name"
        exits 0 ablate run $name.ini "${fast[@]}" --db $name.db --rerun changed
    done
else
    echo "left out: no sqlite3"
fi
finish
