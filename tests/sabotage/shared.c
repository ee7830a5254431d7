/* Nothing is wrong here: queries and keys share one projection (Kitaev et al. 2020, section 2). */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_key_step(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    return ab_output(c, ab_attend(c, q, k, v, 1 / sqrt((double)ab_dim(c, q, -1))));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED | AB_POS_ROTATE, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "shared", .doc = "queries and keys share a projection");
