/* A plugin that sets a buffer twice in one step. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    ab_t count = ab_buffer(c, "count", 0, 1);
    for (int i = 0; i < 2; i++) ab_set_buffer(c, count, ab_add_scalar(c, count, 1));
    return ab_linear(c, x, "1", ab_info(c)->d_model, 1);
}

static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "buffer_twice", .doc = "sets a buffer twice");
