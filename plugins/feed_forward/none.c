/* Layers without a feed-forward. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = NULL};
AB_PLUGIN(config, params, &self, .name = "none", .doc = "layers without a feed-forward");
