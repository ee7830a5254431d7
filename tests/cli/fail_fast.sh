#!/usr/bin/env bash
# --fail-fast: the first run that fails stops the others, which save their states first; no further run starts.
source "$(dirname "$0")/common.bash" "$@"
cat >crash.c <<'C'
#include "ab_plugin.h"
#include <stdlib.h>
static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg, (void)x, (void)mem;
    return abort(), ab_query(c, x);
}
static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(int, params, &self, .name = "crash", .doc = "ends its process");
C
{ tiny fast 12 && printf '[variant a]\nattention = ./crash.c\n[variant b]\nd_ff = 16\n[variant c]\nd_ff = 24\n'; } >fast.ini
options=(--threads 1 --workers 1 --progress plain --no-check)
exits 1 ablate run fast.ini "${options[@]}" --fail-fast
has err "stopped at the first failed run (--fail-fast)"
equal "$(sql "SELECT group_concat(status, ' ') FROM (SELECT status FROM run ORDER BY id)")" "done failed queued queued" "status of the runs"
exits 1 ablate run fast.ini "${options[@]}" --fail-fast # the failed run is from an earlier call, so it stops nothing
hasnt err "stopped at"
equal "$(sql "SELECT count(*) FROM run WHERE status = 'done'")" 3 "runs done"

sed -i -e 's/name = fast/name = long/' -e 's/^steps.*/steps = 100000/' fast.ini
exits 1 ablate run fast.ini "${options[@]}" --workers 2 --fail-fast --only a --only b
has err "stopped at the first failed run (--fail-fast)"
long="SELECT r.status FROM run r JOIN variant v ON v.id = r.variant_id JOIN experiment x ON x.id = v.experiment_id
    WHERE x.name = 'long' ORDER BY r.status"
equal "$(sql "SELECT group_concat(status, ' ') FROM ($long)")" "failed queued" "status of the runs that trained at once"

# One run ends by a signal while another trains, which then saves its state, long before save_every would.
{ tiny saved 100000 | sed 's/^save_every.*/save_every = 100000/' && printf '[variant b]\nd_ff = 16\n'; } >saved.ini
ablate run saved.ini "${options[@]}" --workers 2 --fail-fast >out 2>err &
host=$!
wait_for 30 eval '[ "$(grep -c "step [0-9]*/100000" err)" -ge 4 ]' || wrong "the two runs do not train: $(cat err)"
equal "$(leftovers | wc -l)" 2 "workers"
kill -SEGV "$(leftovers | head -1)"
code=0
wait $host || code=$?
equal $code 1 "exit code after a signal"
equal "$(ls home/runs/saved/*/state.safetensors | wc -l)" 1 "states saved by the run that was stopped"
equal "$(sql "SELECT group_concat(status, ' ') FROM (${long//\'long\'/\'saved\'})")" "failed queued" "status after a signal"

sed -i -e 's/name = long/name = search/' -e 's/^steps.*/steps = 12/' -e 's/^lr = .*/lr = tune(0.001 .. 0.01, 2)/' \
    -e 's/^\[base\]/&\nattention = .\/crash.c/' fast.ini
exits 1 ablate run fast.ini "${options[@]}" --fail-fast
has err "stopped at the first failed run (--fail-fast)"
exits 2 ablate run fast.ini --fail-fast --launcher "sh"' {}'
has err "--fail-fast needs --launcher local"
finish
