/* A correct optimizer with two slots. Files that include it define NAMES, with wrong names for the slots. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    (void)cfg, (void)step;
    ab_t m = ab_add(c, g, ab_mul_scalar(c, slot[0], 0.9));
    ab_assign(c, slot[0], m);
    ab_assign(c, slot[1], ab_map(c, g, AB_ABS));
    ab_assign(c, p, ab_sub(c, p, ab_mul(c, m, lr)));
}

static const ab_option params[] = {{0}};
static const ab_optimizer_plugin self = {.flags = AB_ELEMENTWISE, .n_slots = 2, .slots = NAMES, .update = update};
