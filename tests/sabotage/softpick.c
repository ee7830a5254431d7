/* Nothing is wrong here: softpick, weights relu(e^s - 1) / (sum of |e^s - 1| + eps), no sink. Zuhri et al. 2025 (arXiv
 * 2504.20966), eq. 1 and 2. With a = e^s and b = e^min(s,0), relu(e^s - 1) = a - b and |e^s - 1| = a - 2b + 1: a - b
 * and a - 2b are 0 at masked keys, so each sum is one fused operation. Scores over 80 count as 80: e^89 is no fp32. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    double eps;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t s = ab_minimum(c, ab_scores(c, q, k, 1 / sqrt((double)in->d_k)), ab_full(c, 80, 1));
    ab_t a = ab_map(c, s, AB_EXP), b = ab_map(c, ab_minimum(c, s, ab_full(c, 0, 1)), AB_EXP);
    ab_t seen = ab_transpose(c, ab_add_scalar(c, ab_to_float(c, ab_qpos(c)), 1), -1, -2); /* keys */
    if (in->role != AB_CAUSAL) seen = ab_klen(c);
    ab_t ones = ab_add_scalar(c, ab_mul_scalar(c, ab_slice(c, v, -1, 0, 1), 0), 1);
    ab_t size = ab_weighted_sum(c, ab_sub(c, a, ab_mul_scalar(c, b, 2)), ones);
    size = ab_add_scalar(c, ab_add(c, size, seen), o->eps);
    ab_t y = ab_weighted_sum(c, ab_dropout(c, ab_sub(c, a, b), in->dropout), v);
    return ab_output(c, ab_div(c, y, size));
}

static const ab_option params[] = {
    {"eps", AB_REAL, offsetof(config, eps), 1e-6, 1e-12, 1, 0, "added to the sum [none]"}, {0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED | AB_POS_ROTATE | AB_POS_BIAS, .forward = forward};
AB_PLUGIN(config, params, &self, .claims = AB_DISCONTINUOUS, .name = "softpick",
          .doc = "rectified softmax without sink", .paper = "Zuhri et al. 2025");
