/* An optimizer that divides by the gradient's norm: right unless this norm is 0. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    (void)cfg, (void)slot, (void)step;
    ab_t sum = ab_map(c, g, AB_SQUARE);
    for (int axis = -1; axis >= -4; axis--) sum = ab_sum_axis(c, sum, axis);
    ab_assign(c, p, ab_sub(c, p, ab_mul(c, ab_div(c, g, ab_map(c, sum, AB_SQRT)), lr)));
}

static const ab_option params[] = {{0}};
static const ab_optimizer_plugin self = {.update = update};
AB_PLUGIN(config, params, &self, .name = "zero_norm", .doc = "gradient of length 1");
