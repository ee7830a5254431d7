/* Prodigy: Adam whose step size d is estimated from the distance travelled, so that lr = 1 needs no search. Mishchenko
 * and Defazio 2023 (arXiv 2306.06101), algorithm 4; r and s have the schedule's lr in them, as in the authors' code.
 *
 *     r = b r + d^2 lr / d0 <g, p0 - p>,   s = b s + d^2 lr / d0 g,   b = sqrt(beta2);   sums over all parameters
 *     m = beta1 m + (1 - beta1) d g,   v = beta2 v + (1 - beta2) d^2 g^2
 *     d' = max(d, d_coef r / |s|_1),   p -= d lr (m / (sqrt(v) + d' eps) + decay p)
 *
 * d and r are numbers of the whole model; every element stores a copy of both.
 */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    double beta1, beta2, eps, decay, d0, d_coef;
} config;
enum { M, V, S, START, D, R };
enum { TRAVELLED, LENGTH }; /* measured: the new term of r, |s|_1 */

static ab_t first_step(ab_ctx *c, ab_t step) { return ab_less_than(c, step, ab_full(c, 1.5, 1)); }

static ab_t mean(ab_ctx *c, ab_t old, ab_t now, double beta, double weight)
{
    return ab_add(c, ab_mul_scalar(c, old, beta), ab_mul_scalar(c, now, weight));
}

/* d before the step */
static ab_t step_size(ab_ctx *c, const config *o, const ab_t *slot, ab_t step)
{
    return ab_where(c, first_step(c, step), ab_full(c, o->d0, 1), slot[D]);
}

/* d^2 lr / d0 g */
static ab_t weighted_gradient(ab_ctx *c, const config *o, ab_t d, ab_t g, ab_t lr)
{
    return ab_mul(c, g, ab_mul(c, ab_mul_scalar(c, ab_mul(c, d, d), 1 / o->d0), lr));
}

static ab_t total(ab_ctx *c, ab_t x)
{
    for (int axis = -1; axis >= -4; axis--) x = ab_sum_axis(c, x, axis);
    return ab_reshape(c, x, 1, 1);
}

static ab_t measure(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    const config *o = cfg;
    ab_t w = weighted_gradient(c, o, step_size(c, o, slot, step), g, lr);
    ab_t away = ab_sub(c, ab_where(c, first_step(c, step), p, slot[START]), p);
    ab_t s = mean(c, slot[S], w, sqrt(o->beta2), 1);
    return ab_concat(c, total(c, ab_mul(c, w, away)), total(c, ab_map(c, s, AB_ABS)), -1);
}

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    const config *o = cfg;
    ab_t d = step_size(c, o, slot, step), mine = ab_mul(c, d, g);
    ab_t m = mean(c, slot[M], mine, o->beta1, 1 - o->beta1),
         v = mean(c, slot[V], ab_map(c, mine, AB_SQUARE), o->beta2, 1 - o->beta2),
         s = mean(c, slot[S], weighted_gradient(c, o, d, g, lr), sqrt(o->beta2), 1),
         r = ab_add(c, ab_mul_scalar(c, slot[R], sqrt(o->beta2)), ab_measured(c, TRAVELLED));
    ab_t length = ab_maximum(c, ab_measured(c, LENGTH), ab_full(c, 1e-30, 1)); /* without a gradient so far, d stays */
    ab_t next = ab_maximum(c, d, ab_div(c, ab_mul_scalar(c, r, o->d_coef), length));
    ab_t root = ab_add(c, ab_map(c, v, AB_SQRT), ab_mul_scalar(c, next, o->eps));
    ab_t change = ab_add(c, ab_div(c, m, root), ab_mul_scalar(c, p, o->decay));
    ab_assign(c, slot[M], m);
    ab_assign(c, slot[V], v);
    ab_assign(c, slot[S], s);
    ab_assign(c, slot[START], ab_where(c, first_step(c, step), p, slot[START]));
    ab_assign(c, slot[D], next);
    ab_assign(c, slot[R], r);
    ab_assign(c, p, ab_sub(c, p, ab_mul(c, change, ab_mul(c, d, lr))));
}

static const char *const slots[] = {"m", "v", "s", "start", "d", "r"};
static const ab_option params[] = {
    {"beta1", AB_REAL, offsetof(config, beta1), 0.9, 1e-6, 0.999999, 0, "decay of the mean gradient [none]"},
    {"beta2", AB_REAL, offsetof(config, beta2), 0.999, 1e-6, 0.9999999, 0, "decay of the mean squared gradient [none]"},
    {"eps", AB_REAL, offsetof(config, eps), 1e-8, 1e-12, 1, 0, "added to the root, times d [none]"},
    {"decay", AB_REAL, offsetof(config, decay), 0, 0, 1, 0,
     "weight decay, multiplied by d and the learning rate [none]"},
    {"d0", AB_REAL, offsetof(config, d0), 1e-6, 1e-9, 1, 0, "the first step size [none]"},
    {"d_coef", AB_REAL, offsetof(config, d_coef), 1, 1e-3, 1000, 0, "factor on the estimate of d [none]"},
    {0}};
static const ab_optimizer_plugin self = {
    .flags = AB_ELEMENTWISE, .n_slots = 6, .slots = slots, .update = update, .measure = measure};
AB_PLUGIN(config, params, &self, .name = "prodigy", .doc = "Adam that estimates its step size; use lr = 1",
          .paper = "Mishchenko and Defazio 2023, algorithm 4", .version = "1.0");
