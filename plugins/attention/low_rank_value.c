/* Scaled dot-product attention with a value projection of low rank: V = (x A) B, A [d_model, rank], B [rank, heads
 * d_v]. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t rank;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const ab_info *in = ab_info(c);
    ab_t q = ab_rotate(c, ab_heads(c, ab_linear(c, x, "q", in->heads * in->d_k, 1), in->heads));
    ab_t k = ab_remember(c, ab_rotate(c, ab_heads(c, ab_linear(c, mem, "k", in->heads * in->d_k, 1), in->heads)));
    ab_t low = ab_linear(c, mem, "v_in", ((const config *)cfg)->rank, 0);
    ab_t v = ab_remember(c, ab_heads(c, ab_linear(c, low, "v_out", in->heads * in->d_v, 0), in->heads));
    return ab_output(c, ab_attend(c, q, k, v, 1 / sqrt((double)in->d_k)));
}

static const ab_option params[] = {
    {"rank", AB_INT, offsetof(config, rank), 32, 1, 65536, 0, "width between the two factors of W_V [values]"}, {0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_ALL, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "low_rank_value", .doc = "attention with a low-rank value projection");
