/* An attention that halves its scores in passes over more than 64 tokens: decoding never does so, since it passes one
 * token at a time. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    return ab_output(c, ab_attend(c, q, k, v, ab_dim(c, q, 2) > 64 ? 0.5 : 1));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {.roles = AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "late_decode", .doc = "halves its scores in passes over more than 64 tokens");
