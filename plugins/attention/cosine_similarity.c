/* Attention whose scores are the cosine of query and key, times a learned factor per head. */
#include "ab_plugin.h"

typedef struct {
    double factor;
} config;

/* [B,H,T,d] -> [B,H,T,1]: 1 / length of each vector */
static ab_t inverse_length(ab_ctx *c, ab_t x)
{
    ab_t squares = ab_add_scalar(c, ab_sum_axis(c, ab_map(c, x, AB_SQUARE), -1), 1e-6);
    return ab_div(c, ab_full(c, 1, 1), ab_map(c, squares, AB_SQRT));
}

/* Scores are divided by both lengths. Dividing the vectors instead would change the projections and prevent fusion. */
static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const ab_info *in = ab_info(c);
    ab_t factor = ab_weight_full(c, "factor", ((const config *)cfg)->factor, in->heads, 1, 1);
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t of_query = ab_mul(c, inverse_length(c, q), factor), of_key = ab_transpose(c, inverse_length(c, k), -2, -1);
    ab_t cosine = ab_mul(c, ab_mul(c, ab_matmul(c, q, k, 0, 1), of_query), of_key);
    ab_t p = ab_softmax(c, ab_mask(c, ab_position(c, cosine, q, k)));
    return ab_output(c, ab_weighted_sum(c, ab_dropout(c, p, in->dropout), v));
}

static const ab_option params[] = {
    {"factor", AB_REAL, offsetof(config, factor), 10, 0.1, 1000, 0, "initial value of the learned factor [none]"}, {0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_ALL, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "cosine_similarity",
          .doc = "attention by the cosine of query and key, times a learned factor per head",
          .paper = "Henry et al. 2020, Query-Key Normalization for Transformers, section 3");
