/* A plugin whose parameter table allows values that the plugin then refuses. */
#include "ab_plugin.h"

typedef struct {
    int64_t width;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    if (o->width > ab_dim(c, v, -1)) return ab_fail(c, "wide_range: width is larger than a head");
    return ab_output(c, ab_attend(c, q, k, v, 1));
}

static const ab_option params[] = {
    {"width", AB_INT, offsetof(config, width), 2, 1, 1000, 0, "columns that are used [columns]"}, {0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "wide_range", .doc = "refuses the end of its own range");
