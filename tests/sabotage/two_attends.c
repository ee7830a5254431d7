/* Nothing is wrong here: one layer with two fused attentions, where the keys of one are the values of the other. In
 * decoding each has its own cache. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    double scale = 1 / sqrt((double)ab_dim(c, q, -1));
    ab_t y = ab_attend(c, q, k, v, scale);
    if (ab_dim(c, k, -1) == ab_dim(c, v, -1)) y = ab_add(c, y, ab_attend(c, q, v, k, scale));
    return ab_output(c, y);
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "two_attends", .doc = "keys and values change places");
