/* Nothing is wrong here: a fused operation with a constant of its own, a right gradient, and a kernel for
 * single precision only (double precision runs its reference). */
#include "ab_plugin.h"

typedef struct {
    double by;
} config;

static ab_t lower(ab_ctx *c, const ab_t *in, const void *attr)
{
    return ab_mul(c, ab_mul_scalar(c, in[0], *(const double *)attr), in[1]);
}

static void grad(ab_ctx *c, const ab_t *in, ab_t y, ab_t dy, ab_t *din, const void *attr)
{
    (void)y;
    ab_t scaled = ab_mul_scalar(c, dy, *(const double *)attr);
    din[0] = ab_mul(c, scaled, in[1]);
    din[1] = ab_mul(c, scaled, in[0]);
}

static int cpu(const ab_run *r)
{
    const ab_view *a = r->in, *b = r->in + 1;
    if (r->out.dtype != 0) return -1;
    float by = (float)*(const double *)r->attr;
    int64_t n = a->dim[0] * a->dim[1] * a->dim[2] * a->dim[3];
    for (int64_t i = 0; i < n; i++)
        ((float *)r->out.data)[i] = by * ((const float *)a->data)[i] * ((const float *)b->data)[i];
    return 0;
}

static const ab_op gate = {.name = "gate", .doc = "by a b", .n_in = 2, .reference = lower, .grad = grad, .cpu = cpu};

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem), y = ab_attend(c, q, k, v, 1);
    return ab_output(c, ab_call(c, &gate, &o->by, sizeof o->by, y, ab_map(c, y, AB_TANH)));
}

static const ab_option params[] = {
    {"by", AB_REAL, offsetof(config, by), 1.5, 0, 10, 0, "factor before the gate [none]"}, {0}};
static const ab_op *const ops[] = {&gate, NULL};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED | AB_POS_ROTATE | AB_POS_BIAS, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "honest", .doc = "a gate on the attention's output", .ops = ops);
