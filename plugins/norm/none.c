/* No normalisation: values are unchanged. */
#include "ab_plugin.h"

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)c, (void)cfg;
    return x;
}

static const ab_norm_plugin self = {.forward = forward};
AB_PLUGIN(char, NULL, &self, .name = "none", .doc = "no normalisation");
