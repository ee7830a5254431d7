/* An optimizer that divides by the norm of its vector, but claims to work element by element. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    (void)cfg, (void)slot, (void)step;
    ab_t norm = ab_map(c, ab_sum_axis(c, ab_map(c, g, AB_SQUARE), -1), AB_SQRT);
    ab_assign(c, p, ab_sub(c, p, ab_mul(c, ab_div(c, g, norm), lr)));
}

static const ab_option params[] = {{0}};
static const ab_optimizer_plugin self = {.flags = AB_ELEMENTWISE, .update = update};
AB_PLUGIN(config, params, &self, .name = "whole_norm", .doc = "not elementwise");
