/* An attention that adds the values of the batch's other sentences. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem), now = ab_value_step(c, mem);
    return ab_output(c, ab_add(c, ab_attend(c, q, k, v, 1), ab_sum_axis(c, now, -4)));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "batch_mix", .doc = "a sum over the batch");
