/* An operation whose reference calls ab_mask. The gradient does not know the sentences' lengths, and neither does the
 * reference when it runs because the kernel has declined. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t lower(ab_ctx *c, const ab_t *in, const void *attr)
{
    (void)attr;
    return ab_softmax(c, ab_mask(c, in[0]));
}

static int cpu(const ab_run *r)
{
    (void)r;
    return -1;
}

static const ab_op op = {
    .name = "masked_softmax", .doc = "softmax(mask(s))", .n_in = 1, .reference = lower, .cpu = cpu};

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    return ab_output(c, ab_weighted_sum(c, ab_call(c, &op, NULL, 0, ab_matmul(c, q, k, 0, 1)), v));
}

static const ab_option params[] = {{0}};
static const ab_op *const ops[] = {&op, NULL};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED | AB_POS_ROTATE, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "mask_in_reference", .doc = "a softmax of its own", .ops = ops);
