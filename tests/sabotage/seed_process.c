/* A plugin whose graph contains a number that differs between processes. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

extern const ab_plugin ab_plugin_v2;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    double seed = (double)((uintptr_t)&ab_plugin_v2 >> 12 & 1023);
    ab_t h = ab_map(c, ab_linear(c, x, "1", in->d_ff, 1), AB_TANH);
    return ab_linear(c, ab_mul_scalar(c, h, 1 + 1e-3 * seed), "2", in->d_model, 1);
}

static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "seed_process", .doc = "seed process");
