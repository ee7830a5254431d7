/* A block that omits the cross-attention. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    x = ab_add_normalize(c, x, ab_self_attention(c, x), "self.ln");
    return ab_info(c)->feed_forward ? ab_add_normalize(c, x, ab_feed_forward(c, x, "ffn"), "ffn.ln") : x;
}

static const ab_option params[] = {{0}};
static const ab_block_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "block_skips", .doc = "reads no encoder");
