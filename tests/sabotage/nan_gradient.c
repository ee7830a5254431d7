/* A feed-forward whose output is right in fp32 but whose gradient is NaN there: the square root of a number that rounds
 * to 0. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    ab_t h = ab_linear_relu(c, x, "1", in->d_ff, 1);
    ab_t trap = ab_map(c, ab_add_scalar(c, ab_mul_scalar(c, h, 0), 1e-60), AB_SQRT);
    return ab_linear(c, ab_dropout(c, ab_add(c, h, ab_mul_scalar(c, trap, 0)), in->dropout), "2", in->d_model, 1);
}

static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "nan_gradient", .doc = "relu, with a gradient that is NaN in fp32");
