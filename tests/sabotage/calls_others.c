/* Nothing is wrong here: an attention that averages two other attentions with a gate per row, and applies one of them
 * again to their sum. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t gate = ab_map(c, ab_linear(c, x, "gate", 1, 1), AB_SIGMOID);
    ab_t near = ab_call_attention(c, "dot", x, mem), far = ab_call_attention(c, "scaled_dot", x, mem);
    ab_t y = ab_add(c, far, ab_mul(c, gate, ab_sub(c, near, far)));
    ab_t again = ab_add(c, x, y);
    return ab_add(c, y, ab_call_attention(c, "dot", again, x.id == mem.id ? again : mem));
}

static const char *const calls[] = {"dot", "scaled_dot", NULL};
static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "calls_others", .doc = "a mixture of two attentions", .calls = calls);
