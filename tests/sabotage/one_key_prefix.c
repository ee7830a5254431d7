/* Nothing is wrong here: linear attention whose heads share one head of keys. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_map(c, ab_query(c, x), AB_ELU1), v = ab_value_step(c, mem);
    ab_t k = ab_map(c, ab_slice(c, ab_key_step(c, mem), -3, 0, 1), AB_ELU1); /* [B,1,T,d_k] */
    return ab_output(c, ab_causal_kv_sum(c, q, k, v));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED | AB_POS_ROTATE, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "one_key_prefix", .doc = "linear attention with one head of keys");
