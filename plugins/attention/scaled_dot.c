/* Scaled dot-product attention: softmax(q k' / sqrt(d_k)) v. Vaswani et al. 2017, section 3.2.1, eq. 1. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    double temperature;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    return ab_output(c, ab_attend(c, q, k, v, 1 / (o->temperature * sqrt((double)ab_dim(c, q, -1)))));
}

static const ab_option params[] = {{"temperature", AB_REAL, offsetof(config, temperature), 1, 0.01, 100, 0,
                                    "divides the logits before the softmax [none]"},
                                   {0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_ALL, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "scaled_dot", .doc = "scaled dot-product attention",
          .paper = "Vaswani et al. 2017, eq. 1", .version = "1.0");
