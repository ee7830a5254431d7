/* A plugin that adds and subtracts large numbers: they cancel, but a bf16 run rounds in between. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    ab_t h = ab_map(c, ab_linear(c, x, "1", in->d_ff, 1), AB_TANH);
    ab_t far = ab_add_scalar(c, h, 300), near = ab_full(c, 300, ab_dim(c, h, -2), in->d_ff);
    ab_t y = ab_linear(c, far, "2", in->d_model, 0);
    return ab_sub(c, y, ab_linear(c, near, "2", in->d_model, 0));
}

static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "rounded", .doc = "large numbers that cancel");
