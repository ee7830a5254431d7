/* x = x + dropout(norm(sublayer(norm(x)))): a norm before and after each sublayer, and one after the last layer. */
#include "finish.h"

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    x = ab_add_dropout(c, x, ab_normalize(c, ab_self_attention(c, ab_normalize(c, x, "self.ln")), "self.ln_out"));
    if (in->cross)
        x = ab_add_dropout(c, x,
                           ab_normalize(c, ab_cross_attention(c, ab_normalize(c, x, "cross.ln")), "cross.ln_out"));
    if (in->feed_forward)
        x = ab_add_dropout(c, x,
                           ab_normalize(c, ab_feed_forward(c, ab_normalize(c, x, "ffn.ln"), "ffn"), "ffn.ln_out"));
    return x;
}

static const ab_block_plugin self = {.forward = forward, .finish = finish};
AB_PLUGIN(char, NULL, &self, .name = "sandwich", .doc = "norm before and after each sublayer",
          .paper = "Ding et al. 2021 (CogView), section 2.4");
