/* A plugin that counts ids, and counts -1 as an id. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t unused;
} config;
static const ab_option params[] = {{0}};

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t s = ab_scores(c, q, k, 1 / sqrt((double)in->d_k));
    ab_t minus = ab_to_ids(c, ab_full(c, -1, 1, 1, 1, 4)), one = ab_slice(c, ab_one_hot(c, minus, 4), -1, 0, 1);
    s = ab_add(c, s, ab_mul_scalar(c, ab_slice(c, one, -2, 0, 1), 0.001));
    return ab_output(c, ab_weighted_sum(c, ab_softmax(c, s), v));
}

static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "id_below", .doc = "counts an id of -1");
