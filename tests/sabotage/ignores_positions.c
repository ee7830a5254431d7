/* An attention that claims to apply every hook of a position, but ignores the bias: alibi, t5 and none would give equal
 * rows. */
#include "ab_plugin.h"
#include <math.h>

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t s = ab_mul_scalar(c, ab_matmul(c, q, k, 0, 1), 1 / sqrt((double)ab_info(c)->d_k));
    ab_t p = ab_dropout(c, ab_softmax(c, ab_mask(c, s)), ab_info(c)->dropout);
    return ab_output(c, ab_weighted_sum(c, p, v));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL | AB_CROSS,
                                         .accepts =
                                             AB_POS_EMBED | AB_POS_ROTATE | AB_POS_BIAS | AB_POS_SCORES | AB_POS_VALUES,
                                         .forward = forward};
AB_PLUGIN(char, params, &self, .name = "ignores_positions", .doc = "test: leaves out the position's bias");
