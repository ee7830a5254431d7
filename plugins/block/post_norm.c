/* x = norm(x + dropout(sublayer(x))) for each sublayer. */
#include "ab_plugin.h"

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    x = ab_add_normalize(c, x, ab_self_attention(c, x), "self.ln");
    if (in->cross) x = ab_add_normalize(c, x, ab_cross_attention(c, x), "cross.ln");
    if (in->feed_forward) x = ab_add_normalize(c, x, ab_feed_forward(c, x, "ffn"), "ffn.ln");
    return x;
}

static const ab_block_plugin self = {.forward = forward};
AB_PLUGIN(char, NULL, &self, .name = "post_norm", .doc = "norm after each residual connection",
          .paper = "Vaswani et al. 2017, section 3.1");
