/* Scaled dot-product attention whose scores stay between -cap and cap: cap tanh(s / cap). */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    double cap;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    double cap = ((const config *)cfg)->cap;
    const ab_info *in = ab_info(c);
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t s = ab_position(c, ab_mul_scalar(c, ab_matmul(c, q, k, 0, 1), 1 / sqrt((double)in->d_k)), q, k);
    s = ab_mask(c, ab_mul_scalar(c, ab_map(c, ab_mul_scalar(c, s, 1 / cap), AB_TANH), cap));
    return ab_output(c, ab_weighted_sum(c, ab_dropout(c, ab_softmax(c, s), in->dropout), v));
}

static const ab_option params[] = {
    {"cap", AB_REAL, offsetof(config, cap), 50, 0.1, 10000, 0, "bound on the absolute score [none]"}, {0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_ALL, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "softcap", .doc = "attention with scores bounded by cap tanh(s / cap)",
          .paper = "Gemma Team 2024 (Gemma 2), section 2; Bello et al. 2016, section 5");
