/* An optimizer that counts updates in a kernel's static variable instead of in a slot. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t lower(ab_ctx *c, const ab_t *in, const void *attr)
{
    (void)attr;
    return ab_add(c, in[0], ab_mul_scalar(c, in[1], 0));
}

static double factor(double step)
{
    static double last = -1;
    static int64_t updates;
    if (step != last) updates++;
    last = step;
    return 1 + 1e-4 * (double)updates;
}

static int cpu(const ab_run *r)
{
    const ab_view *g = r->in, *step = r->in + 1;
    if (g->dtype == 1) {
        double by = factor(*(const double *)step->data);
        for (int64_t i = 0; i < g->dim[3]; i++) ((double *)r->out.data)[i] = by * ((const double *)g->data)[i];
    } else {
        double by = factor((double)*(const float *)step->data);
        for (int64_t i = 0; i < g->dim[3]; i++) ((float *)r->out.data)[i] = (float)by * ((const float *)g->data)[i];
    }
    return 0;
}

static const ab_op growing = {.name = "growing", .doc = "g", .n_in = 2, .reference = lower, .cpu = cpu};

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    (void)cfg, (void)slot;
    ab_assign(c, p, ab_sub(c, p, ab_mul(c, ab_call(c, &growing, NULL, 0, g, step), lr)));
}

static const ab_option params[] = {{0}};
static const ab_optimizer_plugin self = {.flags = AB_ELEMENTWISE, .update = update};
AB_PLUGIN(config, params, &self, .name = "hidden_state", .doc = "a restart forgets its count");
