/* Schedule-free AdamW: the gradient is taken at y, between the iterate z and the mean x of all z; x is evaluated and
 * kept. No decay of the learning rate is needed: use schedule = constant, with a warmup. Defazio et al. 2024,
 * algorithm 1.
 *
 *     z -= lr d,   x += c (z - x),   y = (1 - beta1) z + beta1 x;   c = lr^2 / the sum of all lr^2 so far
 *     d = g / (sqrt(v / (1 - beta2^t)) + eps) + decay y
 */
#include "moments.h"

typedef struct {
    double beta1, beta2, eps, decay;
} config;
enum { ITERATE, MEAN, SQUARES, WEIGHTS };

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    const config *o = cfg;
    ab_t first = ab_less_than(c, step, ab_full(c, 1.5, 1));
    ab_t z = ab_where(c, first, p, slot[ITERATE]), x = ab_where(c, first, p, slot[MEAN]);
    ab_t v =
        ab_add(c, ab_mul_scalar(c, slot[SQUARES], o->beta2), ab_mul_scalar(c, ab_map(c, g, AB_SQUARE), 1 - o->beta2));
    ab_t root = ab_map(c, ab_div(c, v, one_minus_power(c, o->beta2, step)), AB_SQRT);
    ab_t d = ab_add(c, ab_div(c, g, ab_add_scalar(c, root, o->eps)), ab_mul_scalar(c, p, o->decay));
    ab_t weight = ab_mul(c, lr, lr), sum = ab_add(c, slot[WEIGHTS], weight);
    ab_t share = ab_div(c, weight, ab_maximum(c, sum, ab_full(c, 1e-30, 1))); /* the share is 0 while lr is 0 */
    z = ab_sub(c, z, ab_mul(c, d, lr));
    x = ab_add(c, x, ab_mul(c, share, ab_sub(c, z, x)));
    ab_assign(c, slot[ITERATE], z);
    ab_assign(c, slot[MEAN], x);
    ab_assign(c, slot[SQUARES], v);
    ab_assign(c, slot[WEIGHTS], sum);
    ab_assign(c, p, ab_add(c, ab_mul_scalar(c, z, 1 - o->beta1), ab_mul_scalar(c, x, o->beta1)));
}

static const char *const slots[] = {"z", "x", "v", "weights"};
static const ab_option params[] = {
    {"beta1", AB_REAL, offsetof(config, beta1), 0.9, 0, 0.999999, 0, "share of the mean in y [none]"},
    {"beta2", AB_REAL, offsetof(config, beta2), 0.999, 1e-6, 0.9999999, 0, "decay of the mean squared gradient [none]"},
    {"eps", AB_REAL, offsetof(config, eps), 1e-8, 0, 1, 0, "added to the root [none]"},
    {"decay", AB_REAL, offsetof(config, decay), 0, 0, 1, 0,
     "weight decay at y, multiplied by the learning rate [none]"},
    {0}};
static const ab_optimizer_plugin self = {
    .flags = AB_ELEMENTWISE, .n_slots = 4, .slots = slots, .update = update, .evaluated = 1 + MEAN};
AB_PLUGIN(config, params, &self, .name = "schedule_free",
          .doc = "AdamW whose evaluated values are a mean of its iterates", .paper = "Defazio et al. 2024, algorithm 1",
          .version = "1.0");
