/* Lion: the sign of an interpolated momentum. Chen et al. 2023, algorithm 2. */
#include "ab_plugin.h"

typedef struct {
    double beta1, beta2, decay;
} config;

static ab_t between(ab_ctx *c, ab_t m, ab_t g, double beta)
{
    return ab_add(c, ab_mul_scalar(c, m, beta), ab_mul_scalar(c, g, 1 - beta));
}

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    const config *o = cfg;
    (void)step;
    ab_t change = ab_add(c, ab_map(c, between(c, slot[0], g, o->beta1), AB_SIGN), ab_mul_scalar(c, p, o->decay));
    ab_assign(c, slot[0], between(c, slot[0], g, o->beta2));
    ab_assign(c, p, ab_sub(c, p, ab_mul(c, change, lr)));
}

static const char *const slots[] = {"m"};
static const ab_option params[] = {
    {"beta1", AB_REAL, offsetof(config, beta1), 0.9, 0, 0.999999, 0, "weight of the momentum in the step [none]"},
    {"beta2", AB_REAL, offsetof(config, beta2), 0.99, 0, 0.999999, 0, "decay of the momentum [none]"},
    {"decay", AB_REAL, offsetof(config, decay), 0, 0, 1, 0, "weight decay, multiplied by the learning rate [none]"},
    {0}};
static const ab_optimizer_plugin self = {.flags = AB_ELEMENTWISE, .n_slots = 1, .slots = slots, .update = update};
AB_PLUGIN(config, params, &self, .name = "lion", .doc = "Lion: steps by the sign of an interpolated momentum",
          .paper = "Chen et al. 2023, algorithm 2", .version = "1.0");
