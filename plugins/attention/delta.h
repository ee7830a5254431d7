/* delta.h - shared by delta_net.c, gated_delta_net.c and mamba2.c: a short convolution of the projections, norms, and a
 * decay for each head and token. */
#ifndef DELTA_H
#define DELTA_H
#include "ab_plugin.h"
#include <math.h>

/* SiLU of x W [B,heads,T,d]. width > 1: first convolves each column over the last `width` positions, in the encoder
 * over `width` positions around. Learns NAME.w and NAME.conv. */
static inline ab_t delta_heads(ab_ctx *c, ab_t x, const char *name, const char *conv, int64_t heads, int64_t d,
                               int64_t width)
{
    ab_t y = ab_linear(c, x, name, heads * d, 0);
    int64_t behind = ab_info(c)->role == AB_CAUSAL ? 0 : (width - 1) / 2;
    if (width > 1) y = ab_depthwise_conv(c, y, conv, width - 1 - behind, behind);
    return ab_heads(c, ab_silu(c, y), heads);
}

typedef struct {
    ab_t q, k, v, beta; /* [B,H,T,d_k], [B,H,T,d_k], [B,H,T,d_v], [B,H,T,1] */
} delta_parts;
/* Queries and keys of length 1, values, and beta in (0, 1), the strength of the correction. */
static inline delta_parts delta_project(ab_ctx *c, ab_t x, int64_t width)
{
    const ab_info *in = ab_info(c);
    ab_t q = delta_heads(c, x, "q", "q.conv", in->heads, in->d_k, width),
         k = delta_heads(c, x, "k", "k.conv", in->heads, in->d_k, width),
         v = delta_heads(c, x, "v", "v.conv", in->heads, in->d_v, width);
    ab_t beta = ab_map(c, ab_linear(c, x, "beta", in->heads, 0), AB_SIGMOID);
    return (delta_parts){ab_unit_length(c, q, 1e-6), ab_unit_length(c, k, 1e-6), v, ab_heads(c, beta, in->heads)};
}

/* RMSNorm over the last axis, with a learned gain */
static inline ab_t delta_norm(ab_ctx *c, ab_t y, const char *gain)
{
    int64_t d = ab_dim(c, y, -1);
    return ab_mul(c, ab_unit_length(c, y, 1e-5 * (double)d),
                  ab_mul_scalar(c, ab_weight_full(c, gain, 1, d), sqrt((double)d)));
}

/* ---- a decay for each head and token: log alpha = -exp(A) dt, dt = softplus(x W + bias) ---- */

/* Value for head i: evenly spaced from `first` to `last`, which are logarithms. */
static inline double delta_between(const int64_t *i, int64_t heads, double first, double last)
{
    return heads > 1 ? first + (last - first) * (double)i[1] / (double)(heads - 1) : (first + last) / 2;
}
/* Initial values. A: exp(A) from 1 to 16. Bias: dt from 0.001 to 0.1 (Gu and Dao 2023, section 3.6). */
static inline double delta_first_rate(const void *heads, const int64_t *i)
{
    return delta_between(i, *(const int64_t *)heads, 0, log(16));
}
static inline double delta_first_bias(const void *heads, const int64_t *i)
{
    return log(expm1(exp(delta_between(i, *(const int64_t *)heads, log(1e-3), log(1e-1)))));
}

/* dt: rows [rows,heads] */
static inline ab_t delta_time(ab_ctx *c, ab_t x)
{
    int64_t heads = ab_info(c)->heads;
    ab_t bias = ab_add(c, ab_weight(c, "dt_bias", 0, 1, heads), ab_table(c, delta_first_bias, &heads, 1, heads));
    return ab_softplus(c, ab_add(c, ab_linear(c, x, "dt", heads, 0), bias));
}
/* log alpha: rows [rows,heads] */
static inline ab_t delta_log_decay(ab_ctx *c, ab_t time)
{
    int64_t heads = ab_info(c)->heads;
    ab_t rate = ab_add(c, ab_weight(c, "A", 0, 1, heads), ab_table(c, delta_first_rate, &heads, 1, heads));
    return ab_mul_scalar(c, ab_mul(c, ab_map(c, rate, AB_EXP), time), -1);
}
#endif
