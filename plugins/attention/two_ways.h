/* two_ways.h - a recurrent layer instead of self-attention, shared by lstm.c and recurrent.c, which define RUN. In the
 * encoder, half of the width runs forwards and half backwards; in the decoder all of it runs forwards. */
#ifndef TWO_WAYS_H
#define TWO_WAYS_H

typedef struct {
    int64_t width;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    int64_t d = o->width > 0 ? o->width : in->d_model;
    (void)mem;
    if (in->role == AB_CAUSAL) return ab_linear(c, RUN(c, x, "in", "u", d, 0), "out", in->d_model, 1);
    if (d % 2) return ab_fail(c, "width must be even: half of it runs in each direction");
    ab_t there = RUN(c, x, "in", "u", d / 2, 0), back = RUN(c, x, "in_back", "u_back", d / 2, 1);
    return ab_linear(c, ab_concat(c, there, back, -1), "out", in->d_model, 1);
}

static const ab_option params[] = {{"width", AB_INT, offsetof(config, width), -1, 2, 16384, "auto",
                                    "size of the state, both directions together; auto: d_model [units]"},
                                   {0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
#endif
