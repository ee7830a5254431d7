/* With dropout, a dropped score becomes 0, also where the future was masked. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    ab_t s = ab_scores(c, ab_query(c, x), ab_key(c, mem), 1 / sqrt((double)in->d_k));
    if (in->training && in->dropout > 0) {
        ab_t noise = ab_uniform(c, ab_dim(c, s, 0), in->heads, ab_dim(c, s, 2), ab_dim(c, s, 3));
        s = ab_where(c, ab_less_than(c, noise, ab_full(c, in->dropout, 1)), ab_full(c, 0, 1), s);
    }
    return ab_output(c, ab_weighted_sum(c, ab_softmax(c, s), ab_value(c, mem)));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED | AB_POS_BIAS, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "drops_masked", .doc = "dropped scores become 0");
