/* Stochastic gradient descent with momentum: v = mu v + g; p -= lr v (Nesterov: p -= lr (g + mu v)).
 * Sutskever et al. 2013. */
#include "ab_plugin.h"

typedef struct {
    double momentum;
    int64_t nesterov;
} config;

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    const config *o = cfg;
    (void)step;
    ab_t v = ab_add(c, ab_mul_scalar(c, slot[0], o->momentum), g);
    ab_t change = o->nesterov ? ab_add(c, g, ab_mul_scalar(c, v, o->momentum)) : v;
    ab_assign(c, slot[0], v);
    ab_assign(c, p, ab_sub(c, p, ab_mul(c, change, lr)));
}

static const char *const slots[] = {"v"};
static const ab_option params[] = {
    {"momentum", AB_REAL, offsetof(config, momentum), 0.9, 0, 0.9999, 0, "decay of the momentum [none]"},
    {"nesterov", AB_BOOL, offsetof(config, nesterov), 0, 0, 1, 0, "look ahead along the momentum [true or false]"},
    {0}};
static const ab_optimizer_plugin self = {.flags = AB_ELEMENTWISE, .n_slots = 1, .slots = slots, .update = update};
AB_PLUGIN(config, params, &self, .name = "sgd", .doc = "stochastic gradient descent with momentum",
          .paper = "Sutskever et al. 2013", .version = "1.0");
