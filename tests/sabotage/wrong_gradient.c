/* A fused square whose gradient lacks the factor 2. With LISTED the plugin lists the operation, which is then checked
 * on its own. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t lower(ab_ctx *c, const ab_t *in, const void *attr)
{
    (void)attr;
    return ab_map(c, in[0], AB_SQUARE);
}

static void grad(ab_ctx *c, const ab_t *in, ab_t y, ab_t dy, ab_t *din, const void *attr)
{
    (void)y, (void)attr;
    din[0] = ab_mul(c, dy, in[0]);
}

static int cpu(const ab_run *r)
{
    const ab_view *x = r->in;
    int64_t n = x->dim[0] * x->dim[1] * x->dim[2] * x->dim[3];
    if (x->dtype > 1) return -1;
    for (int64_t i = 0; i < n; i++) {
        if (x->dtype == 1) {
            double v = ((const double *)x->data)[i];
            ((double *)r->out.data)[i] = v * v;
        } else {
            float v = ((const float *)x->data)[i];
            ((float *)r->out.data)[i] = v * v;
        }
    }
    return 0;
}

static const ab_op square = {
    .name = "square", .doc = "x squared", .n_in = 1, .reference = lower, .grad = grad, .cpu = cpu};

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    return ab_output(c, ab_call(c, &square, NULL, 0, ab_attend(c, q, k, v, 1)));
}

static const ab_option params[] = {{0}};
#ifdef LISTED
static const ab_op *const ops[] = {&square, NULL};
#else
static const ab_op *const ops[] = {NULL};
#endif
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "wrong_gradient", .doc = "half the gradient of a square", .ops = ops);
