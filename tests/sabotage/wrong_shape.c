/* A plugin that reshapes a tensor to another number of elements, as if there were only one head. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t y = ab_reshape(c, ab_attend(c, q, k, v, 1), ab_dim(c, q, 0), 1, ab_dim(c, q, 2), ab_dim(c, v, 3));
    return ab_output(c, y);
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "wrong_shape", .doc = "forgets the heads in a reshape");
