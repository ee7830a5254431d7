/* Differential attention (Ye et al. 2024, arXiv 2410.05258, section 2.1, equations 1 to 3): the weights of a head are
 * softmax(q1 k1') - lambda softmax(q2 k2'), whose common part cancels. The two maps share a head's d_k columns, so a
 * model has as many parameters as with scaled_dot and as many heads; each map has half of the columns, rounded up to an
 * even number.
 *
 * lambda = exp(lambda_q1 lambda_k1) - exp(lambda_q2 lambda_k2) + initial, initial = 0.8 - 0.6 exp(-0.3 layer), layer
 * from 0. A head's output is normalised by its root mean square, and multiplied by 1 - initial. */
#include "ab_plugin.h"
#include <math.h>

static ab_t dot(ab_ctx *c, const char *q, const char *k, int64_t n)
{
    ab_t a = ab_weight(c, q, -0.1, n), b = ab_weight(c, k, -0.1, n);
    return ab_map(c, ab_sum_axis(c, ab_mul(c, a, b), -1), AB_EXP);
}

/* The weights [B,H,Tq,Tk] of map i (0 or 1). */
static ab_t weights(ab_ctx *c, ab_t q, ab_t k, int64_t i, int64_t heads)
{
    ab_t a = ab_slice(c, q, -3, i * heads, heads), b = ab_slice(c, k, -3, i * heads, heads);
    return ab_softmax(c, ab_scores(c, a, b, 1 / sqrt((double)ab_dim(c, q, -1))));
}

static ab_t forward(ab_ctx *c, const void *unused, ab_t x, ab_t mem)
{
    (void)unused;
    const ab_info *in = ab_info(c);
    int64_t H = in->heads, half = (in->d_k + 3) / 4 * 2; /* even, because rotary positions need pairs */
    double initial = 0.8 - 0.6 * exp(-0.3 * (double)in->layer);
    ab_t q = ab_rotate(c, ab_heads(c, ab_linear(c, x, "q", 2 * H * half, 1), 2 * H));
    ab_t k = ab_remember(c, ab_rotate(c, ab_heads(c, ab_linear(c, mem, "k", 2 * H * half, 1), 2 * H)));
    ab_t v = ab_remember(c, ab_heads(c, ab_linear(c, mem, "v", H * in->d_v, 1), H));
    ab_t lambda = ab_sub(c, dot(c, "lambda_q1", "lambda_k1", half), dot(c, "lambda_q2", "lambda_k2", half));
    lambda = ab_add_scalar(c, lambda, initial);
    ab_t p = ab_sub(c, weights(c, q, k, 0, H), ab_mul(c, lambda, weights(c, q, k, 1, H)));
    ab_t y = ab_merge(c, ab_weighted_sum(c, ab_dropout(c, p, in->dropout), v));
    int64_t rows = ab_dim(c, y, -2);
    double d = (double)in->d_v; /* y / sqrt(sum / d + eps) is sqrt(d) y / sqrt(sum + d eps) */
    y = ab_unit_length(c, ab_reshape(c, y, rows, H, in->d_v), d * 1e-5);
    y = ab_mul(c, y, ab_mul_scalar(c, ab_weight_full(c, "norm", 1, in->d_v), (1 - initial) * sqrt(d)));
    return ab_output(c, ab_reshape(c, y, rows, H * in->d_v));
}

static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED | AB_POS_ROTATE | AB_POS_BIAS, .forward = forward};
AB_PLUGIN(char, NULL, &self, .name = "differential",
          .doc = "the difference of two softmax maps, which cancels what they have in common",
          .paper = "Ye et al. 2024, Differential Transformer, section 2.1");
