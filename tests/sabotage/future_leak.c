/* Masks padding but not the future: its decoder sees the tokens that it must predict. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t s = ab_mul_scalar(c, ab_matmul(c, q, k, 0, 1), 1 / sqrt((double)ab_dim(c, q, -1)));
    ab_t seen = ab_less_than(c, ab_to_float(c, ab_kpos(c)), ab_klen(c));
    s = ab_add(c, s, ab_mul_scalar(c, ab_add_scalar(c, seen, -1), 1e9));
    return ab_output(c, ab_weighted_sum(c, ab_softmax(c, s), v));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "future_leak", .doc = "no mask for the future");
