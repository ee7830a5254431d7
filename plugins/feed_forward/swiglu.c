/* (silu(x W) * (x V)) W2, without biases. With same_size the inner width is 2/3 of d_ff, so that its three matrices are
 * as large as relu's two. */
#include "ab_plugin.h"

typedef struct {
    int64_t same_size;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    int64_t width = o->same_size ? (2 * in->d_ff + 2) / 3 : in->d_ff;
    ab_t gate = ab_silu(c, ab_linear(c, x, "gate", width, 0));
    ab_t h = ab_mul(c, gate, ab_linear(c, x, "1", width, 0));
    return ab_linear(c, ab_dropout(c, h, in->dropout), "2", in->d_model, 0);
}

static const ab_option params[] = {{"same_size", AB_BOOL, offsetof(config, same_size), 1, 0, 0, 0,
                                    "inner width 2/3 of d_ff, for as many weights as relu (section 2)"},
                                   {0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "swiglu", .doc = "linear map gated by another one through SiLU",
          .paper = "Shazeer 2020, GLU Variants Improve Transformer, eq. 6");
