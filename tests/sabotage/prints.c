/* Nothing is wrong here: scaled dot-product attention that prints its scores, their softmax and ids. */
#include "ab_plugin.h"
#include <math.h>

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t s = ab_scores(c, q, k, 1 / sqrt((double)ab_info(c)->d_k)), p = ab_softmax(c, s);
    ab_print(c, "rows", x);
    ab_print(c, "scores", s);
    ab_print(c, "weights", p);
    ab_print(c, "tokens", ab_tokens(c));
    return ab_output(c, ab_weighted_sum(c, ab_dropout(c, p, ab_info(c)->dropout), v));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(char, params, &self, .name = "prints", .doc = "prints what it computes");
