/* Nothing is wrong here: an attention with its own dropout, which stays on whatever the run's settings are. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_dropout(c, ab_query(c, x), 0.3), k = ab_key(c, mem), v = ab_value(c, mem);
    return ab_dropout(c, ab_output(c, ab_dropout(c, ab_attend(c, q, k, v, 1), 0.2)), 0.1);
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED | AB_POS_ROTATE, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "own_dropout", .doc = "dropout on queries and outputs");
