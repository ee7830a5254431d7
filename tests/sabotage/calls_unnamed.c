/* A plugin that calls an attention without naming it: the run would not record this attention's parameters and file. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    return ab_call_attention(c, "scaled_dot", x, mem);
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {.roles = AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "calls_unnamed", .doc = "another attention");
