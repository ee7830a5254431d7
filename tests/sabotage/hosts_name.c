/* A plugin whose own gain has the name of the layer norm's gain. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem), y = ab_output(c, ab_attend(c, q, k, v, 1));
    return ab_mul(c, y, ab_weight(c, "ln.g", 0.5, ab_info(c)->d_model));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED | AB_POS_ROTATE, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "hosts_name", .doc = "a gain on the output");
