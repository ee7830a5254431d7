/* A plugin whose graph contains an array that is not initialised. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    double gain[64];
    const ab_info *in = ab_info(c);
    __asm__("" : "=m"(gain)); /* hides the missing initialisation from the compiler */
    ab_t h = ab_mul(c, ab_linear(c, x, "1", in->d_ff, 1), ab_map(c, ab_const(c, gain, in->d_ff), AB_TANH));
    return ab_linear(c, h, "2", in->d_model, 1);
}

static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "uninitialised", .doc = "uninitialised");
