/* Nothing is wrong here: ab_where hides far keys. A NaN in the branch that it does not select stays out of the
 * result. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t s = ab_scores(c, ab_query(c, x), ab_key(c, mem), 0.5), never = ab_full(c, 0, 1);
    ab_t far = ab_map(c, ab_relative_position(c, ab_qpos(c), ab_kpos(c)), AB_ABS);
    ab_t near = ab_less_than(c, far, ab_full(c, 3, 1));
    s = ab_mask(c, ab_where(c, near, ab_where(c, never, ab_full(c, NAN, 1), s), ab_full(c, -1e9, 1)));
    return ab_output(c, ab_weighted_sum(c, ab_softmax(c, s), ab_value(c, mem)));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED | AB_POS_BIAS, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "selects", .doc = "attends to near keys, by selection");
