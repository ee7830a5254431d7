/* A source file that does not end with AB_PLUGIN. */
#include "ab_plugin.h"
#include <math.h>

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t s = ab_scores(c, q, k, 1 / sqrt((double)in->d_k));
    return ab_output(c, ab_weighted_sum(c, ab_softmax(c, s), v));
}

static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
const ab_attention_plugin *the_plugin(void);
const ab_attention_plugin *the_plugin(void) { return &self; }
