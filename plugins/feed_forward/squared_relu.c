/* max(0, x W1 + b1)^2 W2 + b2. */
#include "ab_plugin.h"

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    ab_t h = ab_map(c, ab_linear_relu(c, x, "1", in->d_ff, 1), AB_SQUARE);
    return ab_linear(c, ab_dropout(c, h, in->dropout), "2", in->d_model, 1);
}

static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(char, NULL, &self, .name = "squared_relu", .doc = "two linear maps with a squared ReLU between them",
          .paper = "So et al. 2021 (Primer), section 4");
