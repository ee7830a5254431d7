/* Nothing is wrong here: an optimizer's slots take the values that a parameter and another slot had before this
 * update. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    (void)cfg, (void)step;
    ab_assign(c, p, ab_sub(c, p, ab_mul(c, g, lr)));
    ab_assign(c, slot[0], p);
    ab_assign(c, slot[1], slot[0]);
}

static const char *const slots[] = {"last", "before"};
static const ab_option params[] = {{0}};
static const ab_optimizer_plugin self = {.flags = AB_ELEMENTWISE, .n_slots = 2, .slots = slots, .update = update};
AB_PLUGIN(config, params, &self, .name = "old_values", .doc = "gradient descent that remembers two steps");
