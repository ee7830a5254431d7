/* No normalisation: values are unchanged. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)c, (void)cfg;
    return x;
}

static const ab_option params[] = {{0}};
static const ab_norm_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "none", .doc = "no normalisation");
