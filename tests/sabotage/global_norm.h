/* A correct optimizer: divides the gradient by the norm of the whole model's gradient, and copies the parameters to a
 * slot every fourth step. The including file sets FLAGS. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static int64_t period(const void *cfg)
{
    (void)cfg;
    return 4;
}

static void refresh(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    (void)cfg, (void)g, (void)lr, (void)step;
    ab_assign(c, slot[0], p);
}

static ab_t total(ab_ctx *c, ab_t x)
{
    for (int axis = -1; axis >= -4; axis--) x = ab_sum_axis(c, x, axis);
    return ab_reshape(c, x, 1, 1);
}

/* Measures per parameter: the number of elements that differ from their copy, and the square of the gradient's norm. */
static ab_t measure(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    (void)cfg, (void)lr, (void)step;
    ab_t moved = ab_map(c, ab_map(c, ab_sub(c, p, slot[0]), AB_SIGN), AB_ABS);
    return ab_concat(c, total(c, moved), total(c, ab_map(c, g, AB_SQUARE)), -1);
}

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    (void)cfg, (void)step;
    ab_t length = ab_maximum(c, ab_map(c, ab_measured(c, 1), AB_SQRT), ab_full(c, 1e-12, 1));
    ab_assign(c, p, ab_sub(c, p, ab_mul(c, g, ab_div(c, lr, length))));
    ab_assign(c, slot[1], ab_add(c, ab_mul_scalar(c, p, 0), ab_measured(c, 0)));
    ab_assign(c, slot[0], slot[0]);
}

static const char *const slots[] = {"kept", "moved"};
static const ab_option params[] = {{0}};
static const ab_optimizer_plugin self = {.flags = FLAGS,
                                         .n_slots = 2,
                                         .slots = slots,
                                         .update = update,
                                         .period = period,
                                         .refresh = refresh,
                                         .measure = measure};
