/* An optimizer that counts its calls: a parameter's update depends on the parameters before it. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    static int calls;
    (void)cfg, (void)slot, (void)step;
    ab_assign(c, p, ab_sub(c, p, ab_mul(c, ab_mul_scalar(c, g, 1 + calls++ % 7), lr)));
}

static const ab_option params[] = {{0}};
static const ab_optimizer_plugin self = {.update = update};
AB_PLUGIN(config, params, &self, .name = "counts_parameters", .doc = "keeps something from one parameter to the next");
