/* Forgets the position's bias in the encoder. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    ab_t q = ab_query(c, x), k = ab_key(c, mem), s;
    if (in->role == AB_SELF)
        s = ab_mask(c, ab_mul_scalar(c, ab_matmul(c, q, k, 0, 1), 1 / sqrt((double)in->d_k)));
    else
        s = ab_scores(c, q, k, 1 / sqrt((double)in->d_k));
    return ab_output(c, ab_weighted_sum(c, ab_softmax(c, s), ab_value(c, mem)));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED | AB_POS_BIAS, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "unplaced", .doc = "an encoder without positions");
