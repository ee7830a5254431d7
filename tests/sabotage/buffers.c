/* Nothing is wrong here: a feed-forward with two buffers, a running mean of squares as in batch normalisation and a
 * count of updates; a training step reads what earlier steps wrote. */
#include "ab_plugin.h"

typedef struct {
    int64_t plain;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    ab_t h = ab_map(c, ab_linear(c, x, "1", in->d_ff, 1), AB_TANH);
    if (!o->plain) {
        ab_t squares = ab_buffer(c, "squares", 1, 1, in->d_ff), count = ab_buffer(c, "count", 0, 1),
             mask = ab_row_mask(c);
        ab_t now = ab_div(c, ab_sum_axis(c, ab_mul(c, ab_map(c, h, AB_SQUARE), mask), -2), ab_sum_axis(c, mask, -2));
        ab_set_buffer(c, squares, ab_add(c, ab_mul_scalar(c, squares, 0.9), ab_mul_scalar(c, now, 0.1)));
        ab_set_buffer(c, count, ab_add_scalar(c, count, 1));
        h = ab_div(c, h, ab_map(c, ab_add_scalar(c, squares, 0.01), AB_SQRT));
    }
    return ab_linear(c, h, "2", in->d_model, 1);
}

static const ab_option params[] = {
    {"plain", AB_BOOL, offsetof(config, plain), 0, 0, 0, 0, "no buffers [true or false]"}, {0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "buffers", .doc = "state without gradient");
