/* A recurrent layer in the place of self-attention (the paper's Table 1, "Recurrent"): a gated recurrent
 * unit.
 *
 *     z, r = sigmoid(W x + U h),  n = tanh(W x + r (U h)),  h' = (1 - z) n + z h        Cho et al. 2014, eq.
 * 5 to 8
 *
 * In the encoder half of the width runs forwards and half backwards; in the decoder all of it runs forwards.
 */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t width;
} config;
typedef struct {
    int64_t d;
    const char *name;
} gru;

static ab_t step(ab_ctx *c, const void *cfg, ab_t x, ab_t h)
{
    const gru *g = cfg;
    int64_t d = g->d;
    double scale = 1 / sqrt((double)d);
    ab_t u = ab_matmul(c, h, ab_weight(c, g->name, scale, d, 3 * d), 0, 0);
    ab_t z = ab_map(c, ab_add(c, ab_slice(c, x, -1, 0, d), ab_slice(c, u, -1, 0, d)), AB_SIGMOID);
    ab_t r = ab_map(c, ab_add(c, ab_slice(c, x, -1, d, d), ab_slice(c, u, -1, d, d)), AB_SIGMOID);
    ab_t n = ab_map(c, ab_add(c, ab_slice(c, x, -1, 2 * d, d), ab_mul(c, r, ab_slice(c, u, -1, 2 * d, d))),
                    AB_TANH);
    return ab_add(c, n, ab_mul(c, z, ab_sub(c, h, n)));
}

static ab_t direction(ab_ctx *c, ab_t x, int64_t d, const char *in, const char *name, int backwards)
{
    gru g = {d, name};
    return ab_scan(c, step, &g, ab_unpack(c, ab_linear(c, x, in, 3 * d, 1)), d, backwards);
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    int64_t d = o->width > 0 ? o->width : in->d_model;
    (void)mem;
    if (in->role == AB_CAUSAL)
        return ab_linear(c, ab_pack(c, direction(c, x, d, "in", "u", 0)), "out", in->d_model, 1);
    if (d % 2) return ab_fail(c, "recurrent: width must be even: half of it runs in each direction");
    ab_t there = direction(c, x, d / 2, "in", "u", 0), back = direction(c, x, d / 2, "in_back", "u_back", 1);
    return ab_linear(c, ab_pack(c, ab_join(c, there, back, -1)), "out", in->d_model, 1);
}

static const ab_param params[] = {{"width", AB_INT, offsetof(config, width), -1, 2, 16384, "auto",
                                   "units of the state, both directions together; auto: d_model [units]"},
                                  {0}};
static const ab_attention self = {.roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "recurrent",
          .doc = "a gated recurrent layer in the place of self-attention",
          .paper = "Cho et al. 2014, eq. 5 to 8; Vaswani et al. 2017, Table 1", .version = "1.0");
