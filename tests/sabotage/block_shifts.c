/* Nothing is wrong here: a block that adds the previous row and a convolution to its sublayers, and claims
 * AB_MIXES_TOKENS. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    x = ab_add_dropout(c, x, ab_self_attention(c, ab_normalize(c, x, "self.ln")));
    x = ab_add(c, x, ab_shift(c, x, 2));
    if (in->cross) x = ab_add_dropout(c, x, ab_cross_attention(c, ab_normalize(c, x, "cross.ln")));
    x = ab_add(c, x, ab_depthwise_conv(c, x, "conv", 2, 0));
    if (in->feed_forward) x = ab_add_dropout(c, x, ab_feed_forward(c, ab_normalize(c, x, "ffn.ln"), "ffn"));
    return x;
}

static const ab_option params[] = {{0}};
static const ab_block_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "block_shifts", .doc = "sublayers and earlier rows",
          .claims = AB_MIXES_TOKENS);
