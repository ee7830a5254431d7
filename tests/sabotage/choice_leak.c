/* An attention that hides the future by default, but not if its parameter has another value. */
#include "ab_plugin.h"

typedef struct {
    int64_t mask;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t s = ab_scores(c, q, k, 1);
    if (o->mask == 1) s = ab_mul_scalar(c, ab_matmul(c, q, k, 0, 1), 0.5);
    return ab_output(c, ab_weighted_sum(c, ab_softmax(c, s), v));
}

static const ab_option params[] = {
    {"mask", AB_CHOICE, offsetof(config, mask), 0, 0, 0, "causal|none", "which scores are left out"}, {0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "choice_leak", .doc = "an unmasked branch behind a choice");
