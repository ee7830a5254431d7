/* An attention that takes the previous token's value from the rows of the current call: in decoding a call has only the
 * rows of one step. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t before(ab_ctx *c, ab_t v)
{
    int64_t time = ab_dim(c, v, -2);
    ab_t none = ab_mul_scalar(c, ab_slice(c, v, -2, 0, 1), 0);
    return time > 1 ? ab_concat(c, none, ab_slice(c, v, -2, 0, time - 1), -2) : none;
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem), now = ab_value_step(c, mem);
    return ab_output(c, ab_add(c, ab_attend(c, q, k, v, 1), before(c, now)));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {.roles = AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "decode_breaks", .doc = "mixes over time without the host's memory");
