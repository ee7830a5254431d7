/* An optimizer whose graph changes after many calls. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    (void)cfg, (void)slot, (void)step;
    static int64_t calls;
    ab_assign(c, p, ab_sub(c, p, ab_mul(c, ab_mul_scalar(c, g, calls++ < 3000 ? 1 : 0.5), lr)));
}

static const ab_option params[] = {{0}};
static const ab_optimizer_plugin self = {.flags = AB_ELEMENTWISE, .update = update};
AB_PLUGIN(config, params, &self, .name = "late_rule", .doc = "late change of an update");
