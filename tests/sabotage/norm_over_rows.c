/* A norm that divides by the root mean square over the batch's rows. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    ab_t squares = ab_add_scalar(c, ab_sum_axis(c, ab_map(c, x, AB_SQUARE), -2), 1e-6);
    return ab_div(c, x, ab_map(c, squares, AB_SQRT));
}

static const ab_option params[] = {{0}};
static const ab_norm_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "norm_over_rows", .doc = "a norm over rows");
