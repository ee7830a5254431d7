/* max(0, x W1 + b1) W2 + b2 (Vaswani et al. 2017, section 3.3, eq. 2). */
#include "ab_plugin.h"

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    ab_t h = ab_linear_relu(c, x, "1", in->d_ff, 1);
    return ab_linear(c, ab_dropout(c, h, in->dropout), "2", in->d_model, 1);
}

static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(char, NULL, &self, .name = "relu", .doc = "two linear maps with a ReLU between them",
          .paper = "Vaswani et al. 2017, section 3.3, eq. 2");
