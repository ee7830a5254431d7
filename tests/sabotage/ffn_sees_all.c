/* A feed-forward that may mix rows of a sentence, and adds the sentence's sum, later tokens included. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    ab_t all = ab_pad(c, ab_linear(c, x, "1", ab_info(c)->d_model, 1));
    ab_t sum = ab_sum_axis(c, all, -2), zero = ab_mul_scalar(c, all, 0);
    return ab_pack(c, ab_add(c, zero, sum));
}

static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "ffn_sees_all", .doc = "the sentence's sum", .claims = AB_MIXES_TOKENS);
