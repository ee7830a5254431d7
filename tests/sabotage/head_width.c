/* A head that returns one logit too few. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t logits(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    ab_t all = ab_logits(c, x);
    return ab_slice(c, all, -1, 0, ab_dim(c, all, -1) - 1);
}

static const ab_option params[] = {{0}};
static const ab_head_plugin self = {.logits = logits};
AB_PLUGIN(config, params, &self, .name = "head_width", .doc = "all but the last logit");
