/* A plugin that stores its AB_INT parameter in an int, which is too narrow. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int width;
} config;
static const ab_option params[] = {{"width", AB_INT, offsetof(config, width), 1, 0, 5, 0, "a number [none]"}, {0}};

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t s = ab_scores(c, q, k, 1 / sqrt((double)in->d_k));
    return ab_output(c, ab_weighted_sum(c, ab_softmax(c, s), v));
}

static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "narrow_field", .doc = "an int field for an ab_int parameter");
