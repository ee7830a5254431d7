/* An optimizer with a function for every n-th step, which does not set n. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    (void)cfg, (void)slot, (void)step;
    ab_assign(c, p, ab_sub(c, p, ab_mul(c, g, lr)));
}

static const ab_option params[] = {{0}};
static const ab_optimizer_plugin self = {.flags = AB_ELEMENTWISE, .update = update, .refresh = update};
AB_PLUGIN(config, params, &self, .name = "half_refresh", .doc = "refresh without period");
