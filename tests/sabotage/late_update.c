/* An optimizer whose kernel changes after many updates. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t reference(ab_ctx *c, const ab_t *in, const void *attr)
{
    (void)attr;
    return ab_mul_scalar(c, in[0], 1);
}
static int64_t calls;

static int kernel(const ab_run *r)
{
    int64_t n = r->out.dim[0] * r->out.dim[1] * r->out.dim[2] * r->out.dim[3];
    if (r->in[0].dtype != 1 || r->out.dtype != 1) return -1;
    for (int64_t i = 0; i < n; i++)
        ((double *)r->out.data)[i] = ((const double *)r->in[0].data)[i] * (calls > 3000 ? 0.5 : 1);
    calls++;
    return 0;
}

static const ab_op op = {.name = "copy", .doc = "g", .n_in = 1, .reference = reference, .cpu = kernel};

static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    (void)cfg, (void)slot, (void)step;
    ab_assign(c, p, ab_sub(c, p, ab_mul(c, ab_call(c, &op, NULL, 0, g), lr)));
}

static const ab_option params[] = {{0}};
static const ab_optimizer_plugin self = {.flags = AB_ELEMENTWISE, .update = update};
AB_PLUGIN(config, params, &self, .name = "late_update", .doc = "late change of an update's kernel");
