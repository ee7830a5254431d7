/* Cross-attention with a soft window that moves along the source: each target position moves the window's centre k by a
 * learned step > 0, and the scores are q_t.u_j / sqrt(d_k) - b_t (k_t - j)^2, per head. Graves 2013, eq. 46 to 51, with
 * the product of query and key in place of the weight a. A model that copies its input can so remember its place in the
 * source: the window moves by 0 or 1, and `most` = 1 suffices.
 */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    double step, most, width;
    int64_t offset;
} config;

/* log(exp(y) - 1), the inverse of softplus */
static double before_softplus(double y) { return y > 30 ? y : log(expm1(y)); }

/* A linear map of x with initial bias `start`: [B,H,Tq,1]. */
static ab_t per_query(ab_ctx *c, ab_t x, const char *name, double start)
{
    ab_t rows = ab_linear(c, x, name, ab_info(c)->heads, 1);
    return ab_add_scalar(c, ab_heads(c, rows, ab_info(c)->heads), start);
}

/* Steps in [0, most] that saturate at both ends, so that a centre which moves by whole tokens does not drift. */
static ab_t steps(ab_ctx *c, const config *o, ab_t x)
{
    if (o->most <= 0) return ab_softplus(c, per_query(c, x, "step", before_softplus(o->step)));
    double part = fmin(o->step / o->most, 0.99);
    return ab_mul_scalar(c, ab_map(c, per_query(c, x, "step", log(part / (1 - part))), AB_SIGMOID), o->most);
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    ab_t q = ab_query(c, x), u = ab_key(c, mem), v = ab_value(c, mem);
    ab_t centre = ab_running_sum(c, steps(c, o, x));
    if (o->offset) centre = ab_add(c, centre, per_query(c, x, "offset", 0));
    ab_t narrow = ab_softplus(c, per_query(c, x, "narrow", before_softplus(1 / (2 * o->width * o->width))));
    ab_t apart = ab_sub(c, centre, ab_to_float(c, ab_kpos(c))); /* [B,H,Tq,Tk] */
    ab_t s = ab_mul_scalar(c, ab_matmul(c, q, u, 0, 1), 1 / sqrt((double)in->d_k));
    s = ab_mask(c, ab_sub(c, s, ab_mul(c, narrow, ab_map(c, apart, AB_SQUARE))));
    return ab_output(c, ab_weighted_sum(c, ab_dropout(c, ab_softmax(c, s), in->dropout), v));
}

static const ab_option params[] = {
    {"step", AB_REAL, offsetof(config, step), 0.5, 0.001, 100, 0,
     "initial step of the centre, at most 0.99 `most` [source tokens per target token]"},
    {"most", AB_REAL, offsetof(config, most), 0, 0, 100, 0,
     "largest step, where steps saturate [source tokens per target token]; 0 = no bound"},
    {"offset", AB_BOOL, offsetof(config, offset), 0, 0, 0, 0,
     "each query also looks a learned distance before or behind the centre"},
    {"width", AB_REAL, offsetof(config, width), 8, 0.1, 10000, 0,
     "initial standard deviation of the window [source tokens]"},
    {0}};
static const ab_attention_plugin self = {.roles = AB_CROSS, .accepts = AB_POS_ALL, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "gaussian_window",
          .doc = "cross-attention in a soft window that moves along the source",
          .paper = "Graves 2013 (Generating Sequences With Recurrent Neural Networks), section 5.1");
