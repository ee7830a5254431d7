/* Nothing is wrong here: an attention with a negative scale, where the keys least like a query weigh most, plus one
 * with scale 0, where all weigh the same. */
#include "ab_plugin.h"

typedef struct {
    double scale;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    return ab_output(c, ab_add(c, ab_attend(c, q, k, v, o->scale), ab_attend(c, q, k, v, 0)));
}

static const ab_option params[] = {
    {"scale", AB_REAL, offsetof(config, scale), -0.5, -2, 0, 0, "factor on the scores [none]"}, {0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL | AB_CROSS,
                                         .accepts =
                                             AB_POS_EMBED | AB_POS_ROTATE | AB_POS_BIAS | AB_POS_SCORES | AB_POS_VALUES,
                                         .forward = forward};
AB_PLUGIN(config, params, &self, .name = "turned_scale", .doc = "scores times zero and less");
