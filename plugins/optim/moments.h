/* moments.h - Adam's moments and its change, shared by adam.c, adamw.c, lamb.c and muon.c. Kingma and Ba 2015,
 * algorithm 1. */
#ifndef MOMENTS_H
#define MOMENTS_H
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    double beta1, beta2, eps;
} adam_constants;

static inline ab_t one_minus_power(ab_ctx *c, double beta, ab_t step) /* 1 - beta^step */
{
    return ab_add_scalar(c, ab_mul_scalar(c, ab_map(c, ab_mul_scalar(c, step, log(beta)), AB_EXP), -1), 1);
}

/* Returns m^ / (sqrt(v^) + eps) and updates slot[0] and slot[1], m and v. */
static inline ab_t adam_change(ab_ctx *c, adam_constants o, ab_t g, const ab_t *slot, ab_t step)
{
    ab_t m = ab_add(c, ab_mul_scalar(c, slot[0], o.beta1), ab_mul_scalar(c, g, 1 - o.beta1));
    ab_t v = ab_add(c, ab_mul_scalar(c, slot[1], o.beta2), ab_mul_scalar(c, ab_map(c, g, AB_SQUARE), 1 - o.beta2));
    ab_t m_hat = ab_div(c, m, one_minus_power(c, o.beta1, step)),
         v_hat = ab_div(c, v, one_minus_power(c, o.beta2, step));
    ab_assign(c, slot[0], m);
    ab_assign(c, slot[1], v);
    return ab_div(c, m_hat, ab_add_scalar(c, ab_map(c, v_hat, AB_SQRT), o.eps));
}
#endif
