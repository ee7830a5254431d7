/* AdamW: Adam with weight decay decoupled from the gradient. Loshchilov and Hutter 2019, algorithm 2. */
#include "moments.h"

typedef struct {
    double beta1, beta2, eps, decay;
} config;

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    const config *o = cfg;
    ab_t change = adam_change(c, (adam_constants){o->beta1, o->beta2, o->eps}, g, slot, step);
    change = ab_add(c, change, ab_mul_scalar(c, p, o->decay));
    ab_assign(c, p, ab_sub(c, p, ab_mul(c, change, lr)));
}

static const char *const slots[] = {"m", "v"};
static const ab_option params[] = {
    {"beta1", AB_REAL, offsetof(config, beta1), 0.9, 1e-6, 0.999999, 0, "decay of the mean gradient [none]"},
    {"beta2", AB_REAL, offsetof(config, beta2), 0.999, 1e-6, 0.9999999, 0, "decay of the mean squared gradient [none]"},
    {"eps", AB_REAL, offsetof(config, eps), 1e-8, 0, 1, 0, "added to the root [none]"},
    {"decay", AB_REAL, offsetof(config, decay), 0.01, 0, 1, 0, "weight decay, multiplied by the learning rate [none]"},
    {0}};
static const ab_optimizer_plugin self = {.flags = AB_ELEMENTWISE, .n_slots = 2, .slots = slots, .update = update};
AB_PLUGIN(config, params, &self, .name = "adamw", .doc = "Adam with decoupled weight decay",
          .paper = "Loshchilov and Hutter 2019, algorithm 2", .version = "1.0");
