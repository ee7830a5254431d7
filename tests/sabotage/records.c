/* Nothing is wrong here: draws noise, reads tokens, adds a loss whose gradient counts, logs numbers, and reads a value
 * of the previous layer. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t mean(ab_ctx *c, ab_t x, ab_t mask) /* over columns, and over rows that have a token */
{
    ab_t sum = ab_sum_axis(c, ab_sum_axis(c, ab_mul(c, x, mask), -1), -2);
    return ab_mul_scalar(c, ab_div(c, sum, ab_sum_axis(c, mask, -2)), 1 / (double)ab_dim(c, x, -1));
}

static double number(const void *layer, const int64_t *i)
{
    int64_t n = *(const int64_t *)layer;
    return (double)(2 + n + (1 + n) * i[0]);
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    ab_t mask = ab_row_mask(c), h = ab_map(c, ab_linear(c, x, "1", in->d_ff, 1), AB_TANH);
    ab_t noise = ab_normal(c, ab_dim(c, x, -2), in->d_ff), each = ab_weight(c, "token", -0.1, 16, in->d_ff);
    h = ab_add(c, ab_mul(c, h, ab_add_scalar(c, ab_mul_scalar(c, noise, 0.1), 1)), ab_embedding(c, each, ab_tokens(c)));
    if (in->layer) h = ab_add(c, h, ab_shared(c, "hidden"));
    ab_share(c, "hidden", h);
    ab_add_loss(c, "size", mean(c, ab_map(c, h, AB_SQUARE), mask), 0.7);
    ab_log(c, "hidden", mean(c, h, mask));
    /* the first layer logs 2, 3, 4, the next one 3, 5 */
    ab_log(c, "several", ab_table(c, number, &in->layer, in->layer ? 2 : 3));
    return ab_linear(c, h, "2", in->d_model, 1);
}

static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "records", .doc = "a feed-forward that records, shares and is noisy");
