/* An optimizer whose `measure` function assigns values. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t measure(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    (void)cfg, (void)slot, (void)lr, (void)step;
    ab_assign(c, p, ab_sub(c, p, g));
    return ab_full(c, 1, 1);
}

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    (void)cfg, (void)slot, (void)step;
    ab_assign(c, p, ab_sub(c, p, ab_mul(c, g, lr)));
}

static const ab_option params[] = {{0}};
static const ab_optimizer_plugin self = {.flags = AB_ELEMENTWISE, .update = update, .measure = measure};
AB_PLUGIN(config, params, &self, .name = "measure_assigns", .doc = "a measure that changes what it measures");
