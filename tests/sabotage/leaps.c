/* A plugin that claims to have jumps, where a gradient may differ from the derivative; but its gradient is wrong
 * everywhere. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    ab_t h = ab_map(c, ab_linear(c, ab_mul_scalar(c, ab_add(c, x, ab_detach(c, x)), 0.5), "1", in->d_ff, 1), AB_TANH);
    return ab_linear(c, h, "2", in->d_model, 1);
}

static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .claims = AB_DISCONTINUOUS, .name = "leaps", .doc = "half a gradient");
