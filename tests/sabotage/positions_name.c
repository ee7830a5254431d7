/* An attention whose own table has the name and shape of the position shaw's table. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t table = ab_weight(c, "rel_k", 0.5, 33, ab_info(c)->d_k);
    return ab_output(c, ab_attend(c, ab_add(c, q, ab_slice(c, table, -2, 0, 1)), k, v, 1));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL | AB_CROSS,
                                         .accepts =
                                             AB_POS_EMBED | AB_POS_ROTATE | AB_POS_BIAS | AB_POS_SCORES | AB_POS_VALUES,
                                         .forward = forward};
AB_PLUGIN(config, params, &self, .name = "positions_name", .doc = "queries with a vector of their own");
