/* Scaled dot-product attention with a gate on each head's output: y * sigmoid(x W), before the output projection. */
#include "ab_plugin.h"
#include <math.h>

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    ab_t y = ab_attend(c, ab_query(c, x), ab_key(c, mem), ab_value(c, mem), 1 / sqrt((double)in->d_k));
    ab_t gate = ab_map(c, ab_linear(c, x, "gate", in->heads * in->d_v, 1), AB_SIGMOID);
    return ab_linear(c, ab_mul(c, ab_merge(c, y), gate), "out", in->d_model, 1);
}

static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_ALL, .forward = forward};
AB_PLUGIN(char, NULL, &self, .name = "gated", .doc = "attention with a sigmoid gate on each head's output",
          .paper = "Qiu et al. 2025, Gated Attention for Large Language Models, section 2.2");
