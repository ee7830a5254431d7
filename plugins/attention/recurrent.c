/* A gated recurrent unit instead of self-attention (the paper's Table 1, "Recurrent").
 *
 *     z, r = sigmoid(W x + U h),  n = tanh(W x + r (U h)),  h' = (1 - z) n + z h        Cho et al. 2014, eq. 5 to 8
 *
 * In the encoder, half of the width runs forwards and half backwards; in the decoder all of it runs forwards.
 */
#include "ab_plugin.h"

typedef struct {
    int64_t width;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    int64_t d = o->width > 0 ? o->width : in->d_model;
    (void)mem;
    if (in->role == AB_CAUSAL) return ab_linear(c, ab_gru(c, x, "in", "u", d, 0), "out", in->d_model, 1);
    if (d % 2) return ab_fail(c, "recurrent: width must be even: half of it runs in each direction");
    ab_t there = ab_gru(c, x, "in", "u", d / 2, 0), back = ab_gru(c, x, "in_back", "u_back", d / 2, 1);
    return ab_linear(c, ab_concat(c, there, back, -1), "out", in->d_model, 1);
}

static const ab_option params[] = {{"width", AB_INT, offsetof(config, width), -1, 2, 16384, "auto",
                                    "size of the state, both directions together; auto: d_model [units]"},
                                   {0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "recurrent", .doc = "gated recurrent unit instead of self-attention",
          .paper = "Cho et al. 2014, eq. 5 to 8; Vaswani et al. 2017, Table 1", .version = "1.0");
