/* Nothing is wrong here: built for the oldest minor version of the interface, without later functions. */
#define AB_TARGET_MINOR 0u
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    return ab_output(c, ab_attend(c, ab_query(c, x), ab_key(c, mem), ab_value(c, mem), 0.5));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "older_minor", .doc = "attention for old hosts");
