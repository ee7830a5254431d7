/* Dot-product attention without the scale: softmax(q k') v. Luong et al. 2015, section 3.1, "dot". */
#include "ab_plugin.h"

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    return ab_output(c, ab_attend(c, q, k, v, 1));
}

static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_ALL, .forward = forward};
AB_PLUGIN(char, NULL, &self, .name = "dot", .doc = "dot-product attention without the scale",
          .paper = "Luong et al. 2015, section 3.1", .version = "1.0");
