/* A feed-forward whose output has its inner width instead of the model's. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    return ab_linear_relu(c, x, "1", ab_info(c)->d_ff, 1);
}

static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "ffn_width", .doc = "the second map is missing");
