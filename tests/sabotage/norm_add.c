/* A norm whose functions `add` and `forward` use different eps. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t gain(ab_ctx *c) { return ab_weight_full(c, "g", 1, ab_info(c)->d_model); }
static ab_t bias(ab_ctx *c) { return ab_weight_full(c, "b", 0, ab_info(c)->d_model); }
static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    return ab_layer_norm(c, x, gain(c), bias(c), 1e-6);
}
static ab_t add(ab_ctx *c, const void *cfg, ab_t x, ab_t s)
{
    (void)cfg;
    return ab_add_layer_norm(c, x, s, gain(c), bias(c), 1e-2);
}

static const ab_option params[] = {{0}};
static const ab_norm_plugin self = {.forward = forward, .add = add};
AB_PLUGIN(config, params, &self, .name = "norm_add", .doc = "add is not what forward says");
