/* Updates at a rate of its own. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    (void)cfg, (void)slot, (void)lr, (void)step;
    ab_assign(c, p, ab_sub(c, p, ab_mul_scalar(c, g, 0.03)));
}

static const ab_option params[] = {{0}};
static const ab_optimizer_plugin self = {.flags = AB_ELEMENTWISE, .update = update};
AB_PLUGIN(config, params, &self, .name = "own_rate", .doc = "gradient descent at one rate");
