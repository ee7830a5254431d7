/* An operation missing from the plugin's list, whose kernel changes after many calls. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t unused;
} config;

static ab_t reference(ab_ctx *c, const ab_t *in, const void *attr)
{
    (void)attr;
    return ab_map(c, in[0], AB_TANH);
}
static int64_t calls;

static int kernel(const ab_run *r)
{
    int64_t n = r->out.dim[0] * r->out.dim[1] * r->out.dim[2] * r->out.dim[3];
    if (r->in[0].dtype != r->out.dtype || r->out.dtype > 1) return -1;
    for (int64_t i = 0; i < n; i++) {
        double x = r->out.dtype ? ((const double *)r->in[0].data)[i] : ((const float *)r->in[0].data)[i], y = tanh(x);
        if (calls > 3000) y *= 0.5;
        if (r->out.dtype)
            ((double *)r->out.data)[i] = y;
        else
            ((float *)r->out.data)[i] = (float)y;
    }
    calls++;
    return 0;
}

static const ab_op op = {.name = "squash", .doc = "tanh", .n_in = 1, .reference = reference, .cpu = kernel};

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    ab_t h = ab_linear(c, x, "1", in->d_ff, 1);
    return ab_linear(c, ab_call(c, &op, NULL, 0, h), "2", in->d_model, 1);
}

static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "kernel_late", .doc = "kernel late");
