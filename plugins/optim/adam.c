/* Adam with bias correction. Kingma and Ba 2015, algorithm 1; the paper's constants (Vaswani et al. 2017,
 * section 5.3). */
#include "moments.h"

typedef struct {
    double beta1, beta2, eps;
} config;

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    const config *o = cfg;
    ab_t change = adam_change(c, (adam_constants){o->beta1, o->beta2, o->eps}, g, slot, step);
    ab_assign(c, p, ab_sub(c, p, ab_mul(c, change, lr)));
}

static const char *const slots[] = {"m", "v"};
static const ab_option params[] = {
    {"beta1", AB_REAL, offsetof(config, beta1), 0.9, 1e-6, 0.999999, 0, "decay of the mean gradient [none]"},
    {"beta2", AB_REAL, offsetof(config, beta2), 0.98, 1e-6, 0.9999999, 0, "decay of the mean squared gradient [none]"},
    {"eps", AB_REAL, offsetof(config, eps), 1e-9, 0, 1, 0, "added to the root [none]"},
    {0}};
static const ab_optimizer_plugin self = {.flags = AB_ELEMENTWISE, .n_slots = 2, .slots = slots, .update = update};
AB_PLUGIN(config, params, &self, .name = "adam", .doc = "Adam with the paper's constants",
          .paper = "Kingma and Ba 2015, algorithm 1", .version = "1.0");
