/* Half a feed-forward step before the attention and half a step after it; pre-norm. */
#include "finish.h"

static ab_t half_step(ab_ctx *c, ab_t x, const char *norm, const char *name)
{
    if (!ab_info(c)->feed_forward) return x;
    return ab_add_dropout(c, x, ab_mul_scalar(c, ab_feed_forward(c, ab_normalize(c, x, norm), name), 0.5));
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    x = half_step(c, x, "ffn.ln", "ffn");
    x = ab_add_dropout(c, x, ab_self_attention(c, ab_normalize(c, x, "self.ln")));
    if (ab_info(c)->cross) x = ab_add_dropout(c, x, ab_cross_attention(c, ab_normalize(c, x, "cross.ln")));
    return half_step(c, x, "ffn_2.ln", "ffn_2");
}

static const ab_block_plugin self = {.forward = forward, .finish = finish};
AB_PLUGIN(char, NULL, &self, .name = "macaron", .doc = "half a feed-forward step before and after the attention",
          .paper = "Lu et al. 2019 (Macaron Net), section 3.2; norms as in Gulati et al. 2020");
