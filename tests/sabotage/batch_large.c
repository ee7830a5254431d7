/* An attention that mixes sentences, but only in batches of more than six. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t y = ab_weighted_sum(c, ab_softmax(c, ab_scores(c, q, k, 0.5)), v);
    if (ab_dim(c, y, 0) > 6 && ab_dim(c, y, 2) > 1) y = ab_add(c, y, ab_sum_axis(c, ab_slice(c, y, 2, 0, 1), 0));
    return ab_output(c, y);
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "batch_large", .doc = "batch large");
