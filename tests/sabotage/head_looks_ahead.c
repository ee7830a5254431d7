/* A head that adds the mean of all rows, so that a row sees later tokens. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t logits(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    ab_t mean = ab_mul_scalar(c, ab_sum_axis(c, x, -2), 1 / (double)ab_dim(c, x, -2));
    return ab_logits(c, ab_add(c, x, mean));
}

static const ab_option params[] = {{0}};
static const ab_head_plugin self = {.logits = logits};
AB_PLUGIN(config, params, &self, .name = "head_looks_ahead", .doc = "rows with the mean of all");
