/* Declares a slot with one number per row, but assigns one number per element. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static void slot_shape(const void *cfg, const ab_parameter *of, uint32_t i, int64_t dim[4])
{
    (void)cfg, (void)of, (void)i;
    dim[3] = 1;
}

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    (void)cfg, (void)step;
    ab_t m = ab_add(c, ab_mul_scalar(c, slot[0], 0.9), g);
    ab_assign(c, slot[0], m);
    ab_assign(c, p, ab_sub(c, p, ab_mul(c, m, lr)));
}

static const char *const slots[] = {"m"};
static const ab_option params[] = {{0}};
static const ab_optimizer_plugin self = {.n_slots = 1, .slots = slots, .update = update, .slot_shape = slot_shape};
AB_PLUGIN(config, params, &self, .name = "slot_size", .doc = "slots of another size than announced");
