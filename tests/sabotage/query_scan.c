/* A plugin that in cross-attention scans over the queries: a decoding step has only one query. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t step(ab_ctx *c, const void *cfg, ab_t x, ab_t h)
{
    (void)cfg;
    return ab_map(c, ab_add(c, x, ab_mul_scalar(c, h, 0.9)), AB_TANH);
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t u = ab_pad(c, x), r = ab_pack(c, ab_scan(c, step, NULL, u, ab_dim(c, u, -1), 0));
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    return ab_add(c, ab_output(c, ab_attend(c, q, k, v, 1)), r);
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "query_scan", .doc = "a recurrence beside attention");
