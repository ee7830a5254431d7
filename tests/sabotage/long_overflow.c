/* A running product over time: small for a few tokens, beyond fp32 for a sentence of 150. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem), y = ab_attend(c, q, k, v, 1);
    double grow = 1;
    for (int64_t i = 0; i < ab_dim(c, q, 2); i++) grow *= 2;
    return ab_output(c, ab_mul_scalar(c, ab_mul_scalar(c, y, grow), 1 / grow));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {.roles = AB_SELF, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "long_overflow", .doc = "scales by 2 to the number of tokens and back");
