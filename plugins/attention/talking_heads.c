/* Talking heads: scores are mixed over the heads before the softmax, weights after it. */
#include "ab_plugin.h"
#include <math.h>

/* s [B,H,Tq,Tk]: each head becomes a learned weighted sum of all heads. */
static ab_t mix(ab_ctx *c, ab_t s, const char *name)
{
    int64_t batch = ab_dim(c, s, -4), heads = ab_dim(c, s, -3), tq = ab_dim(c, s, -2), tk = ab_dim(c, s, -1);
    ab_t w = ab_weight(c, name, sqrt(3.0 / (double)heads), heads, heads);
    return ab_reshape(c, ab_matmul(c, w, ab_reshape(c, s, batch, heads, tq * tk), 1, 0), batch, heads, tq, tk);
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t s = ab_position(c, ab_mul_scalar(c, ab_matmul(c, q, k, 0, 1), 1 / sqrt((double)in->d_k)), q, k);
    ab_t p = mix(c, ab_softmax(c, ab_mask(c, mix(c, s, "scores"))), "weights");
    return ab_output(c, ab_weighted_sum(c, ab_dropout(c, p, in->dropout), v));
}

static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_ALL, .forward = forward};
AB_PLUGIN(char, NULL, &self, .name = "talking_heads", .doc = "attention with scores and weights mixed over the heads",
          .paper = "Shazeer et al. 2020, Talking-Heads Attention, section 4");
