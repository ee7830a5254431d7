/* x = x + dropout(self(y) + cross(y) + feed_forward(y)), y = norm(x): all sublayers read the same norm. */
#include "finish.h"

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    ab_t y = ab_normalize(c, x, "ln"), sum = ab_self_attention(c, y);
    if (in->cross) sum = ab_add(c, sum, ab_cross_attention(c, y));
    if (in->feed_forward) sum = ab_add(c, sum, ab_feed_forward(c, y, "ffn"));
    return ab_add_dropout(c, x, sum);
}

static const ab_block_plugin self = {.forward = forward, .finish = finish};
AB_PLUGIN(char, NULL, &self, .name = "parallel", .doc = "all sublayers in parallel, after one norm",
          .paper = "Wang and Komatsuzaki 2021 (GPT-J); Chowdhery et al. 2022 (PaLM), section 2");
