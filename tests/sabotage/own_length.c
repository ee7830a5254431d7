/* Scales scores by the target's length, which training knows and decoding does not. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t n = ab_map(c, ab_add_scalar(c, ab_klen(c), 1), AB_LOG);
    ab_t s = ab_scores(c, ab_mul(c, ab_query(c, x), n), ab_key(c, mem), 1 / sqrt((double)ab_info(c)->d_k));
    return ab_output(c, ab_weighted_sum(c, ab_softmax(c, s), ab_value(c, mem)));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED | AB_POS_BIAS, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "own_length", .doc = "scores times the logarithm of the number of keys");
