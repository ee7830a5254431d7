/* x = x + dropout(a sublayer(x)) with a learned scalar a per sublayer, initially 0; no norm. */
#include "ab_plugin.h"

static ab_t weighted(ab_ctx *c, ab_t y, const char *name) { return ab_mul(c, y, ab_weight_full(c, name, 0, 1)); }

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    x = ab_add_dropout(c, x, weighted(c, ab_self_attention(c, x), "self.a"));
    if (in->cross) x = ab_add_dropout(c, x, weighted(c, ab_cross_attention(c, x), "cross.a"));
    if (in->feed_forward) x = ab_add_dropout(c, x, weighted(c, ab_feed_forward(c, x, "ffn"), "ffn.a"));
    return x;
}

static const ab_block_plugin self = {.forward = forward};
AB_PLUGIN(char, NULL, &self, .name = "rezero", .doc = "no norm; each sublayer has a learned weight, initially 0",
          .paper = "Bachlechner et al. 2020, ReZero is All You Need, eq. 1");
