/* x = x + dropout(sublayer(norm(x))) for each sublayer; a norm after the last layer. */
#include "finish.h"

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    x = ab_add_dropout(c, x, ab_self_attention(c, ab_normalize(c, x, "self.ln")));
    if (in->cross) x = ab_add_dropout(c, x, ab_cross_attention(c, ab_normalize(c, x, "cross.ln")));
    if (in->feed_forward) x = ab_add_dropout(c, x, ab_feed_forward(c, ab_normalize(c, x, "ffn.ln"), "ffn"));
    return x;
}

static const ab_block_plugin self = {.forward = forward, .finish = finish};
AB_PLUGIN(char, NULL, &self, .name = "pre_norm", .doc = "norm before each sublayer and after the last layer",
          .paper = "Xiong et al. 2020, On Layer Normalization in the Transformer Architecture, section 3");
