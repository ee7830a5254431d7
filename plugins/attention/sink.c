/* Softmax with a sink: one more logit per head in the sum of the softmax, whose key has no value, so that a head can
 * attend to nothing. learned: a number per head that begins at 0 (OpenAI 2025, gpt-oss, arXiv 2508.10925, section 2);
 * zero: always 0 (Xiao et al. 2024, arXiv 2309.17453, section 3, SoftMax1). */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t logit; /* 0: learned; 1: zero */
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const ab_info *in = ab_info(c);
    const config *o = cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t sink = o->logit ? ab_full(c, 0, 1) : ab_weight(c, "sink", 0, in->heads, 1, 1);
    ab_t p = ab_softmax_sink(c, ab_scores(c, q, k, 1 / sqrt((double)in->d_k)), sink);
    return ab_output(c, ab_weighted_sum(c, ab_dropout(c, p, in->dropout), v));
}

static const ab_option params[] = {{"logit", AB_CHOICE, offsetof(config, logit), 0, 0, 0, "learned|zero",
                                    "the sink's logit: a learned number per head, or 0"},
                                   {0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_ALL, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "sink",
          .doc = "softmax with one more logit per head in its sum, whose key has no value",
          .paper = "OpenAI 2025, gpt-oss model card, section 2; Xiao et al. 2024 (StreamingLLM), section 3");
