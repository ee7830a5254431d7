/* An operation whose reference depends on where in the model it is called; the gradient cannot know that. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t lower(ab_ctx *c, const ab_t *in, const void *attr)
{
    (void)attr;
    return ab_mul(c, in[0], ab_add_scalar(c, in[0], (double)ab_info(c)->heads));
}

static int cpu(const ab_run *r)
{
    const ab_view *x = r->in;
    int64_t n = x->dim[0] * x->dim[1] * x->dim[2] * x->dim[3];
    if (r->out.dtype != 1) return -1;
    for (int64_t i = 0; i < n; i++) {
        double v = ((const double *)x->data)[i];
        ((double *)r->out.data)[i] = v * (v + (double)x->dim[1]);
    }
    return 0;
}

static const ab_op op = {.name = "by_heads", .doc = "x (x + heads)", .n_in = 1, .reference = lower, .cpu = cpu};

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    return ab_output(c, ab_call(c, &op, NULL, 0, ab_attend(c, q, k, v, 1)));
}

static const ab_option params[] = {{0}};
static const ab_op *const ops[] = {&op, NULL};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED | AB_POS_ROTATE, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "info_in_reference", .doc = "outputs times themselves", .ops = ops);
