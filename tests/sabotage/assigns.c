/* An attention that calls ab_assign, which only optimizers may, on its own output. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem), y = ab_attend(c, q, k, v, 1);
    ab_assign(c, y, ab_mul_scalar(c, y, 2));
    return ab_output(c, y);
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED | AB_POS_ROTATE, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "assigns", .doc = "an attention that assigns");
