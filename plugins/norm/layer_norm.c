/* (x - mean) / sqrt(variance + eps) g + b over the values of a position. */
#include "ab_plugin.h"

typedef struct {
    double eps;
} config;

static ab_t gain(ab_ctx *c) { return ab_weight_full(c, "g", 1, ab_info(c)->d_model); }
static ab_t bias(ab_ctx *c) { return ab_weight_full(c, "b", 0, ab_info(c)->d_model); }

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    ab_t g = gain(c), b = bias(c);
    return ab_layer_norm(c, x, g, b, ((const config *)cfg)->eps);
}

static ab_t add(ab_ctx *c, const void *cfg, ab_t x, ab_t s)
{
    ab_t g = gain(c), b = bias(c);
    return ab_add_layer_norm(c, x, s, g, b, ((const config *)cfg)->eps);
}

static const ab_option params[] = {
    {"eps", AB_REAL, offsetof(config, eps), 1e-6, 1e-12, 0.1, 0, "added to the variance [variance]"}, {0}};
static const ab_norm_plugin self = {.forward = forward, .add = add};
AB_PLUGIN(config, params, &self, .name = "layer_norm", .doc = "layer normalisation, with gain and bias",
          .paper = "Ba et al. 2016, Layer Normalization, eq. 4");
