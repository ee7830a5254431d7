/* The logarithmic variant of KERPLE: adds -r1 log(1 + r2 |i - j|) to the scores, with r1, r2 > 0 learned per head.
 * Softplus of the learned value keeps them positive; the paper's code clamps them at 0.01. */
#include "ab_plugin.h"

static ab_t positive(ab_ctx *c, const char *name)
{
    return ab_softplus(c, ab_weight(c, name, 1, ab_info(c)->heads, 1, 1));
}

static ab_t bias(ab_ctx *c, const void *cfg, ab_t qpos, ab_t kpos)
{
    (void)cfg;
    ab_t distance = ab_map(c, ab_relative_position(c, qpos, kpos), AB_ABS); /* [Tq,Tk] */
    ab_t log_distance = ab_map(c, ab_add_scalar(c, ab_mul(c, positive(c, "kerple_r2"), distance), 1), AB_LOG);
    return ab_mul_scalar(c, ab_mul(c, positive(c, "kerple_r1"), log_distance), -1);
}

static const ab_position_plugin self = {.claims = AB_RELATIVE, .bias = bias};
AB_PLUGIN(char, NULL, &self, .name = "kerple",
          .doc = "bias by the logarithm of the distance, with slope and scale learned per head",
          .paper = "Chi et al. 2022 (KERPLE), eq. 4, logarithmic variant");
