/* x / sqrt(mean of x^2 + eps) g over the values of a position. */
#include "ab_plugin.h"

typedef struct {
    double eps;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    int64_t d = ab_info(c)->d_model;
    ab_t mean = ab_mul_scalar(c, ab_sum_axis(c, ab_map(c, x, AB_SQUARE), -1), 1 / (double)d);
    ab_t scale = ab_map(c, ab_map(c, ab_add_scalar(c, mean, ((const config *)cfg)->eps), AB_SQRT), AB_RECIP);
    return ab_mul(c, ab_mul(c, x, scale), ab_weight_full(c, "g", 1, d));
}

static const ab_option params[] = {
    {"eps", AB_REAL, offsetof(config, eps), 1e-6, 1e-12, 0.1, 0, "added to the mean square [square]"}, {0}};
static const ab_norm_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "rms_norm", .doc = "division by the root mean square, with a gain",
          .paper = "Zhang and Sennrich 2019, Root Mean Square Layer Normalization, eq. 4");
