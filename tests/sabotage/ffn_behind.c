/* A feed-forward that reads the following row, in the decoder too. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    return ab_shift(c, x, -1);
}

static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "ffn_behind", .doc = "the row behind", .claims = AB_MIXES_TOKENS);
