/* g tanh(a x) + b over the values of a position: a squashing function instead of a normalisation. */
#include "ab_plugin.h"

typedef struct {
    double start;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    int64_t d = ab_info(c)->d_model;
    ab_t a = ab_weight_full(c, "a", ((const config *)cfg)->start, 1);
    ab_t y = ab_mul(c, ab_map(c, ab_mul(c, x, a), AB_TANH), ab_weight_full(c, "g", 1, d));
    return ab_add(c, y, ab_weight_full(c, "b", 0, d));
}

static const ab_option params[] = {
    {"start", AB_REAL, offsetof(config, start), 0.5, 1e-6, 100, 0, "initial value of a [scale]"}, {0}};
static const ab_norm_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "dyt", .doc = "tanh of a learned scale times x, with gain and bias",
          .paper = "Zhu et al. 2025, Transformers without Normalization, algorithm 1");
