/* Grouped-query attention: fewer key-value heads than query heads; each key-value head serves a group of query heads.
 * kv_heads = 1 is multi-query attention. The projections have kv_heads d_k and kv_heads d_v columns, and decoding
 * caches these columns for each position. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t kv_heads;
} config;

/* The largest divisor of the number of query heads that is at most kv_heads. */
static int64_t kv_heads(int64_t heads, int64_t most)
{
    int64_t n = most < heads ? most : heads;
    while (heads % n) n--;
    return n;
}

/* Reshapes queries [B,H,T,d] to [B G, H/G, T, d], so that each group meets its keys [B G, 1, T, d]. */
static ab_t by_group(ab_ctx *c, ab_t x, int64_t groups)
{
    int64_t batch = ab_dim(c, x, -4), heads = ab_dim(c, x, -3), time = ab_dim(c, x, -2), d = ab_dim(c, x, -1);
    return ab_reshape(c, x, batch * groups, heads / groups, time, d);
}
static ab_t by_head(ab_ctx *c, ab_t x, int64_t heads)
{
    int64_t rows = ab_dim(c, x, -4), part = ab_dim(c, x, -3), time = ab_dim(c, x, -2), d = ab_dim(c, x, -1);
    return ab_reshape(c, x, rows * part / heads, heads, time, d);
}

static ab_t attend(ab_ctx *c, ab_t x, ab_t mem, int64_t groups)
{
    const ab_info *in = ab_info(c);
    ab_t q = ab_rotate(c, ab_heads(c, ab_linear(c, x, "q", in->heads * in->d_k, 1), in->heads));
    ab_t k = ab_remember(c, ab_rotate(c, ab_heads(c, ab_linear(c, mem, "k", groups * in->d_k, 1), groups)));
    ab_t v = ab_remember(c, ab_heads(c, ab_linear(c, mem, "v", groups * in->d_v, 1), groups));
    ab_t s = by_head(c, ab_matmul(c, by_group(c, q, groups), by_group(c, k, groups), 0, 1), in->heads);
    s = ab_mask(c, ab_position(c, ab_mul_scalar(c, s, 1 / sqrt((double)in->d_k)), q, k));
    ab_t p = ab_dropout(c, ab_softmax(c, s), in->dropout);
    ab_t y = by_head(c, ab_matmul(c, by_group(c, p, groups), by_group(c, v, groups), 0, 0), in->heads);
    return ab_output(c, y);
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    return attend(c, x, mem, kv_heads(ab_info(c)->heads, ((const config *)cfg)->kv_heads));
}

static const ab_option params[] = {
    {"kv_heads", AB_INT, offsetof(config, kv_heads), 1, 1, 1024, 0,
     "heads of keys and values, reduced to a divisor of `heads`; 1: multi-query [heads]"},
    {0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED | AB_POS_ROTATE | AB_POS_BIAS, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "grouped_query",
          .doc = "attention with fewer heads of keys and values than of queries",
          .paper = "Ainslie et al. 2023 (GQA), section 2.2; Shazeer 2019 (multi-query)");
