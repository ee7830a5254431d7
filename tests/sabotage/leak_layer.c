/* An attention that sees the future in one layer of deep models. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t s = ab_mul_scalar(c, ab_matmul(c, q, k, 0, 1), 0.5);
    if (!(ab_info(c)->layer == 3)) s = ab_mask(c, s);
    return ab_output(c, ab_weighted_sum(c, ab_softmax(c, s), v));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {.roles = AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "leak_layer", .doc = "leak layer");
