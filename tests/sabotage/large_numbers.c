/* A plugin whose intermediate values fit double precision, but overflow single precision. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem), y = ab_attend(c, q, k, v, 1);
    ab_t large = ab_map(c, ab_add_scalar(c, y, 100), AB_EXP);
    return ab_output(c, ab_add_scalar(c, ab_map(c, large, AB_LOG), -100));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "large_numbers", .doc = "overflows in single precision");
