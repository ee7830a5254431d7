/* A feed-forward whose graph changes after many calls. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    static int64_t calls;
    const ab_info *in = ab_info(c);
    ab_t h = ab_map(c, ab_linear(c, x, "1", in->d_ff, 1), AB_TANH);
    return ab_linear(c, ab_mul_scalar(c, h, calls++ < 3000 ? 1 : 0.5), "2", in->d_model, 1);
}

static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "late_change", .doc = "late change");
