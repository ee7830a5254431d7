/* A block that uses cross-attention also in the encoder, which has none. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    return ab_add_normalize(c, x, ab_cross_attention(c, x), "cross.ln");
}

static const ab_option params[] = {{0}};
static const ab_block_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "block_cross", .doc = "calls what is not there");
