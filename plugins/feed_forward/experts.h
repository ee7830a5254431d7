/* experts.h - shared by feed-forwards with a router or gate: relu.c's layer of width d_ff, and experts, ReLU layers
 * whose learned values are named by their numbers ("0.1.w", "0.2.w", "1.1.w" ...). */
#ifndef EXPERTS_H
#define EXPERTS_H
#include "ab_plugin.h"
#include <stdio.h>

static inline ab_t relu_layer(ab_ctx *c, ab_t x, const char *first, const char *second)
{
    const ab_info *in = ab_info(c);
    return ab_linear(c, ab_dropout(c, ab_linear_relu(c, x, first, in->d_ff, 1), in->dropout), second, in->d_model, 1);
}

/* The sum of all numbers in x [..,rows,n]. */
static inline ab_t sum(ab_ctx *c, ab_t x) { return ab_sum_axis(c, ab_sum_axis(c, x, -1), -2); }

static inline ab_t expert(ab_ctx *c, ab_t x, int64_t e)
{
    char first[16], second[16];
    snprintf(first, sizeof first, "%d.1", (int)e), snprintf(second, sizeof second, "%d.2", (int)e);
    return relu_layer(c, x, first, second);
}

/* The outputs of experts e .. e + n - 1 for vectors [..,n each,d], sorted by expert. Halves the range recursively,
 * which limits copies. */
static inline ab_t experts(ab_ctx *c, ab_t x, int64_t e, int64_t n)
{
    if (n == 1) return expert(c, x, e);
    int64_t each = ab_dim(c, x, -2) / n, half = n / 2;
    ab_t a = experts(c, ab_slice(c, x, -2, 0, half * each), e, half);
    return ab_concat(c, a, experts(c, ab_slice(c, x, -2, half * each, (n - half) * each), e + half, n - half), -2);
}
#endif
