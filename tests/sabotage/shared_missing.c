/* A plugin that reads a shared value which no layer has stored. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    x = ab_add(c, x, ab_shared(c, "value"));
    return ab_linear(c, x, "1", ab_info(c)->d_model, 1);
}

static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "shared_missing", .doc = "takes what nobody gave");
