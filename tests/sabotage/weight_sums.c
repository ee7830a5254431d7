/* Nothing is wrong here: the plugin adds and subtracts learned values. The gradients of two such values are equal but
 * for sign, scale or dropout. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    const ab_info *info = ab_info(c);
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t a = ab_weight(c, "a", 0.5, info->heads, 1, info->d_k), b = ab_weight(c, "b", 0.5, info->heads, 1, info->d_k);
    q = ab_mul(c, q, ab_add_scalar(c, ab_sub(c, a, b), 1));
    ab_t d = ab_weight(c, "d", 0.5, info->d_k), e = ab_weight(c, "e", 0.5, info->d_k);
    k = ab_add(c, k, ab_add(c, d, ab_mul_scalar(c, e, 0.5)));
    ab_t f = ab_weight(c, "f", 0.5, info->d_v), g = ab_weight(c, "g", 0.5, info->d_v);
    v = ab_add(c, v, ab_add(c, f, ab_dropout(c, g, info->dropout)));
    ab_t gate = ab_map(c, ab_sub(c, ab_weight(c, "open", 0.5, 1), ab_weight(c, "closed", 0.5, 1)), AB_SIGMOID);
    return ab_output(c, ab_mul(c, ab_attend(c, q, k, v, 1), gate));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL | AB_CROSS,
                                         .accepts =
                                             AB_POS_EMBED | AB_POS_ROTATE | AB_POS_BIAS | AB_POS_SCORES | AB_POS_VALUES,
                                         .forward = forward};
AB_PLUGIN(config, params, &self, .name = "weight_sums", .doc = "learned values added to one another");
