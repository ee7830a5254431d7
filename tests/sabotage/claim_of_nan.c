/* A position bias that claims to be relative, but is NaN where all positions are 7 or more. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t bias(ab_ctx *c, const void *cfg, ab_t qpos, ab_t kpos)
{
    (void)cfg;
    ab_t first = ab_max_axis(c, ab_mul_scalar(c, ab_to_float(c, kpos), -1), -1); /* minus the smallest position */
    ab_t trap = ab_mul_scalar(c, ab_map(c, ab_add_scalar(c, first, 6.5), AB_SQRT), 0);
    return ab_add(c, ab_mul_scalar(c, ab_map(c, ab_relative_position(c, qpos, kpos), AB_ABS), -0.1), trap);
}

static const ab_option params[] = {{0}};
static const ab_position_plugin self = {.claims = AB_RELATIVE, .bias = bias};
AB_PLUGIN(config, params, &self, .name = "claim_of_nan",
          .doc = "claims to be relative, and makes NaN when it is moved");
