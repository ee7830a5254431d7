/* LAMB: Adam's change with decoupled weight decay, scaled to the norm of its parameter. You et al. 2020, algorithm 2.
 *
 *     r = m^ / (sqrt(v^) + eps) + decay p,    p -= lr |p| / |r| r,    the ratio is 1 if one of the norms is 0
 */
#include "moments.h"

typedef struct {
    double beta1, beta2, eps, decay;
    int64_t unscaled;
} config;

static ab_t norm(ab_ctx *c, ab_t x) /* the norm over all elements: one number */
{
    ab_t sum = ab_map(c, x, AB_SQUARE);
    for (int axis = -1; axis >= -4; axis--) sum = ab_sum_axis(c, sum, axis);
    return ab_map(c, sum, AB_SQRT);
}

/* |p| / |r|; 1 if either norm is 0 (avoids dividing by 0). */
static ab_t trust_ratio(ab_ctx *c, ab_t p, ab_t r)
{
    ab_t of_p = norm(c, p), of_r = norm(c, r), one = ab_full(c, 1, 1), zero = ab_full(c, 0, 1);
    ab_t both = ab_less_than(c, zero, ab_minimum(c, of_p, of_r));
    return ab_where(c, both, ab_div(c, of_p, ab_where(c, both, of_r, one)), one);
}

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    const config *o = cfg;
    ab_t r = adam_change(c, (adam_constants){o->beta1, o->beta2, o->eps}, g, slot, step);
    if (o->decay > 0) r = ab_add(c, r, ab_mul_scalar(c, p, o->decay));
    ab_parameter_kind kind = ab_this_parameter(c)->kind;
    ab_t rate = o->unscaled && (kind == AB_BIAS || kind == AB_GAIN) ? lr : ab_mul(c, lr, trust_ratio(c, p, r));
    ab_assign(c, p, ab_sub(c, p, ab_mul(c, r, rate)));
}

static const char *const slots[] = {"m", "v"};
static const ab_option params[] = {
    {"beta1", AB_REAL, offsetof(config, beta1), 0.9, 1e-6, 0.999999, 0, "decay of the mean gradient [none]"},
    {"beta2", AB_REAL, offsetof(config, beta2), 0.999, 1e-6, 0.9999999, 0, "decay of the mean squared gradient [none]"},
    {"eps", AB_REAL, offsetof(config, eps), 1e-6, 1e-12, 1, 0, "added to the root [none]"},
    {"decay", AB_REAL, offsetof(config, decay), 0.01, 0, 1, 0, "weight decay, part of the scaled change [none]"},
    {"unscaled", AB_BOOL, offsetof(config, unscaled), 0, 0, 0, 0,
     "do not scale the changes of biases and norms, as in the paper's code [true or false]"},
    {0}};
static const ab_optimizer_plugin self = {.n_slots = 2, .slots = slots, .update = update};
AB_PLUGIN(config, params, &self, .name = "lamb", .doc = "Adam's change scaled to the norm of its parameter",
          .paper = "You et al. 2020, algorithm 2", .version = "1.0");
