/* Computes a gate, then multiplies by another. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    ab_t h = ab_linear(c, x, "1", in->d_ff, 1), gate = ab_map(c, ab_linear(c, x, "gate", in->d_ff, 1), AB_SIGMOID);
    (void)gate;
    return ab_linear(c, ab_mul(c, ab_map(c, h, AB_SIGMOID), h), "2", in->d_model, 1);
}

static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "dead_gate", .doc = "a gate that is not used");
