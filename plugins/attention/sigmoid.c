/* Sigmoid attention (Ramapuram et al. 2024, "Theory, Analysis, and Best Practices for Sigmoid Self-Attention", arXiv
 * 2409.04431, section 3): each key has the weight sigmoid(score + b), independent of other keys. b = -log n, where the
 * query sees n keys, makes the initial weights' sum about 1. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t bias; /* 0: b = -log n; 1: no b */
} config;

/* [B,1,1,1], or in a decoder [Tq,1] */
static ab_t keys_seen(ab_ctx *c, const ab_info *in)
{
    if (in->role != AB_CAUSAL) return ab_klen(c);
    ab_t at = ab_qpos(c);
    return ab_reshape(c, ab_add_scalar(c, ab_to_float(c, at), 1), ab_dim(c, at, -1), 1);
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const ab_info *in = ab_info(c);
    const config *o = cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t s = ab_scores(c, q, k, 1 / sqrt((double)in->d_k));
    if (!o->bias) s = ab_sub(c, s, ab_map(c, keys_seen(c, in), AB_LOG));
    return ab_output(c, ab_weighted_sum(c, ab_dropout(c, ab_map(c, s, AB_SIGMOID), in->dropout), v));
}

static const ab_option params[] = {{"bias", AB_CHOICE, offsetof(config, bias), 0, 0, 0, "length|none",
                                    "length: scores less the log of how many keys are seen"},
                                   {0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_ALL, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "sigmoid", .doc = "a sigmoid of each score instead of a softmax over them",
          .paper = "Ramapuram et al. 2024, Theory, Analysis, and Best Practices for Sigmoid Self-Attention, section 3");
