/* A plugin whose graph depends on whether an environment variable is set. */
#include "ab_plugin.h"
#include <stdlib.h>

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    double seed = (double)(getenv("USER") != NULL);
    ab_t h = ab_map(c, ab_linear(c, x, "1", in->d_ff, 1), AB_TANH);
    return ab_linear(c, ab_mul_scalar(c, h, 1 + 1e-3 * seed), "2", in->d_model, 1);
}

static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "seed_environment", .doc = "seed environment");
