/* gated.h - a feed-forward of one linear map gated by another, (f(x W) * (x V)) W2 without biases: shared by geglu.c
 * and swiglu.c, which differ in f. Shazeer 2020, GLU Variants Improve Transformer. With same_size the inner width is
 * 2/3 of d_ff, so that its three matrices are as large as relu's two. */
#ifndef GATED_H
#define GATED_H
#include "ab_plugin.h"

typedef struct {
    int64_t same_size;
} config;
static const ab_option params[] = {{"same_size", AB_BOOL, offsetof(config, same_size), 1, 0, 0, 0,
                                    "inner width 2/3 of d_ff, for as many weights as relu (section 2)"},
                                   {0}};

static int64_t inner_width(ab_ctx *c, const config *o)
{
    int64_t d_ff = ab_info(c)->d_ff;
    return o->same_size ? (2 * d_ff + 2) / 3 : d_ff;
}
static ab_t gate_of(ab_ctx *c, const void *cfg, ab_t x) { return ab_linear(c, x, "gate", inner_width(c, cfg), 0); }
static ab_t gated(ab_ctx *c, const void *cfg, ab_t x, ab_t gate)
{
    const ab_info *in = ab_info(c);
    ab_t h = ab_mul(c, gate, ab_linear(c, x, "1", inner_width(c, cfg), 0));
    return ab_linear(c, ab_dropout(c, h, in->dropout), "2", in->d_model, 0);
}
#endif
