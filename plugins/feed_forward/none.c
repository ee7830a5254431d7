/* Layers without a feed-forward. */
#include "ab_plugin.h"

static const ab_feed_forward_plugin self = {.forward = NULL};
AB_PLUGIN(char, NULL, &self, .name = "none", .doc = "layers without a feed-forward");
