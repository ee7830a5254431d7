/* Masks one of two terms: the weights e^m - e^s (m: the masked scores) are -e^s at masked keys. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t s = ab_add_scalar(c, ab_mul_scalar(c, ab_matmul(c, q, k, 0, 1), 0.5), 0.1);
    ab_t masked = ab_map(c, ab_mask(c, s), AB_EXP), all = ab_map(c, ab_mul_scalar(c, s, 0.5), AB_EXP);
    return ab_output(c, ab_weighted_sum(c, ab_sub(c, masked, all), v));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED | AB_POS_ROTATE, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "masks_half", .doc = "weights of which only one part is masked");
