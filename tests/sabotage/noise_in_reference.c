/* An operation whose reference draws noise: a second evaluation would draw other numbers. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t reference(ab_ctx *c, const ab_t *in, const void *attr)
{
    (void)attr;
    return ab_add(c, in[0], ab_uniform(c, 1, 1));
}
static int kernel(const ab_run *r)
{
    (void)r;
    return -1;
}
static const ab_op op = {.name = "noisy", .doc = "adds noise", .n_in = 1, .reference = reference, .cpu = kernel};

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    return ab_linear(c, ab_call(c, &op, NULL, 0, x), "1", ab_info(c)->d_model, 1);
}

static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "noise_in_reference", .doc = "noise where it may not be");
