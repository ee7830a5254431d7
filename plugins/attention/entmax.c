/* Attention with sparse weights: exact alpha-entmax instead of softmax. alpha = 1.5: Peters et al. 2019, section 3.2;
 * alpha = 2, sparsemax: Martins and Astudillo 2016. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t alpha; /* 0: alpha is 1.5; 1: alpha is 2 */
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const ab_info *in = ab_info(c);
    const config *o = cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t p = ab_entmax(c, ab_scores(c, q, k, 1 / sqrt((double)in->d_k)), o->alpha ? 2 : 1.5);
    return ab_output(c, ab_weighted_sum(c, ab_dropout(c, p, in->dropout), v));
}

static const ab_option params[] = {{"alpha", AB_CHOICE, offsetof(config, alpha), 0, 0, 0, "1.5|2",
                                    "1.5: sparse weights; 2: sparsemax, with more zeros"},
                                   {0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_ALL, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "entmax",
          .doc = "attention with sparse weights: entmax or sparsemax instead of softmax",
          .paper = "Peters, Niculae and Martins 2019, Sparse Sequence-to-Sequence Models; Martins and Astudillo 2016");
