/* A plugin that claims a surrogate gradient, but its gradient is not finite. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    ab_t h = ab_map(c, ab_linear(c, x, "1", in->d_ff, 1), AB_TANH);
    ab_t zero = ab_sub(c, h, ab_detach(c, h)); /* the square root of `zero` has an infinite gradient */
    return ab_linear(c, ab_add(c, h, ab_map(c, zero, AB_SQRT)), "2", in->d_model, 1);
}

static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .claims = AB_SURROGATE_GRADIENT, .name = "no_gradient", .doc = "no gradient");
