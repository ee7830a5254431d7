/* gelu(x W1 + b1) W2 + b2, with the tanh form of GELU. */
#include "ab_plugin.h"

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    ab_t h = ab_gelu(c, ab_linear(c, x, "1", in->d_ff, 1));
    return ab_linear(c, ab_dropout(c, h, in->dropout), "2", in->d_model, 1);
}

static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(char, NULL, &self, .name = "gelu", .doc = "two linear maps with a GELU between them",
          .paper = "Hendrycks and Gimpel 2016, section 2");
