/* Nothing is wrong here: a feed-forward of ternary weights and 8-bit activations (BitNet b1.58, Ma et al. 2024) with
 * the straight-through gradient, which treats rounding as the identity. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t rounded(ab_ctx *c, ab_t x) { return ab_to_float(c, ab_to_ids(c, x)); }
static ab_t straight_through(ab_ctx *c, ab_t x, ab_t y) { return ab_add(c, x, ab_detach(c, ab_sub(c, y, x))); }

static ab_t bit_linear(ab_ctx *c, ab_t x, const char *name, int64_t width)
{
    int64_t n = ab_dim(c, x, -1);
    ab_t w = ab_weight(c, name, 0.4, n, width), one = ab_full(c, 1, 1);
    ab_t mean =
        ab_mul_scalar(c, ab_sum_axis(c, ab_sum_axis(c, ab_map(c, w, AB_ABS), -1), -2), 1.0 / (double)(n * width));
    ab_t ternary = ab_minimum(c, ab_maximum(c, rounded(c, ab_div(c, w, mean)), ab_mul_scalar(c, one, -1)), one);
    ab_t most = ab_add_scalar(c, ab_max_axis(c, ab_map(c, x, AB_ABS), -1), 1e-6);
    ab_t steps = ab_mul_scalar(c, rounded(c, ab_mul_scalar(c, ab_div(c, x, most), 127)), 1.0 / 127);
    return ab_matmul(c, straight_through(c, x, ab_mul(c, steps, most)),
                     straight_through(c, w, ab_mul(c, ternary, mean)), 0, 0);
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    return bit_linear(c, ab_map(c, bit_linear(c, x, "1", in->d_ff), AB_RELU), "2", in->d_model);
}

static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .claims = AB_SURROGATE_GRADIENT | AB_DISCONTINUOUS, .name = "bitlinear",
          .doc = "ternary weights");
