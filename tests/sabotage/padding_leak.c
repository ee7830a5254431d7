/* An attention that adds the mean of the values over the padded time axis: a longer sentence in the same batch makes
 * this mean smaller. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t mean = ab_mul_scalar(c, ab_sum_axis(c, v, -2), 1 / (double)ab_dim(c, v, -2));
    return ab_output(c, ab_add(c, ab_attend(c, q, k, v, 1), mean));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "padding_leak", .doc = "a mean over padding");
