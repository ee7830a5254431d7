/* Token mixers whose output depends on each position by a known weight, for train/test_influence.c. They do not
 * decode. */
#include "ab_plugin.h"
#include <math.h>
#include <stddef.h>

typedef struct {
    int64_t kind;
} config;
enum { MEAN, SHIFT, CONVOLUTION, TRIANGLE, EXPONENTIALS, GATED, NOTHING };

static double one_of(const void *unused, const int64_t *i) { return (void)unused, 1 / (double)(i[0] + 1); }
/* Weight of key j <= i for query i: (j + 1) / (1 + 2 + .. + (i + 1)); later keys: 0. */
static double ramp(const void *unused, const int64_t *i)
{
    return (void)unused, i[1] > i[0] ? 0 : (double)(i[1] + 1) * 2 / (double)((i[0] + 1) * (i[0] + 2));
}

/* Attention by exp(s) / sum exp(s), written without ab_softmax, so that the host does not recognise the weights. */
static ab_t exponentials(ab_ctx *c, ab_t x, ab_t mem)
{
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t e = ab_map(c, ab_scores(c, q, k, 1 / sqrt((double)ab_info(c)->d_k)), AB_EXP);
    return ab_output(c, ab_matmul(c, ab_div(c, e, ab_sum_axis(c, e, -1)), v, 0, 0));
}

/* Multiplies each query's row by a linear map of the key's row at the same position. */
static ab_t gated(ab_ctx *c, ab_t x, ab_t mem)
{
    const ab_info *in = ab_info(c);
    ab_t v = ab_heads(c, ab_linear(c, mem, "v", in->heads * in->d_v, 1), in->heads);
    ab_t apart = ab_map(c, ab_relative_position(c, ab_qpos(c), ab_kpos(c)), AB_ABS);
    ab_t here = ab_less_than(c, apart, ab_full(c, 0.5, 1));
    return ab_mul(c, x, ab_output(c, ab_matmul(c, here, v, 0, 0)));
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    int64_t n = ab_dim(c, ab_kpos(c), -1), unused = 0;
    switch (((const config *)cfg)->kind) {
    case MEAN: return ab_pack(c, ab_mul(c, ab_cumsum(c, ab_pad(c, x)), ab_table(c, one_of, &unused, n, 1)));
    case SHIFT: return ab_shift(c, x, 1);
    case CONVOLUTION: return ab_depthwise_conv(c, x, "kernel", 2, 0);
    case TRIANGLE: return ab_output(c, ab_matmul(c, ab_table(c, ramp, &unused, n, n), ab_value(c, mem), 0, 0));
    case GATED: return gated(c, x, mem);
    case EXPONENTIALS: return exponentials(c, x, mem);
    default: return ab_linear(c, ab_mul_scalar(c, ab_detach(c, x), 0), "out", ab_info(c)->d_model, 1);
    }
}

static const ab_option params[] = {{"kind", AB_CHOICE, offsetof(config, kind), MEAN, 0, 0,
                                    "mean|shift|convolution|triangle|exponentials|gated|nothing", "what is mixed"},
                                   {0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "mixes", .doc = "token mixers for tests");
