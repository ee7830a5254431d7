/* sigmoid(r Wr) * (max(0, k W1)^2 W2), where r and k are each a mean of the row and the row before it, by column.
 * The channel mixing of RWKV-4. */
#include "ab_plugin.h"

/* mu x + (1 - mu) before */
static ab_t mixed(ab_ctx *c, ab_t x, ab_t before, const char *mu)
{
    ab_t m = ab_weight_full(c, mu, 0.5, ab_dim(c, x, -1));
    return ab_add(c, before, ab_mul(c, m, ab_sub(c, x, before)));
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    ab_t before = ab_shift(c, x, 1);
    ab_t h = ab_map(c, ab_linear_relu(c, mixed(c, x, before, "mu_k"), "1", in->d_ff, 1), AB_SQUARE);
    ab_t y = ab_linear(c, ab_dropout(c, h, in->dropout), "2", in->d_model, 1);
    return ab_mul(c, ab_map(c, ab_linear(c, mixed(c, x, before, "mu_r"), "r", in->d_model, 0), AB_SIGMOID), y);
}

static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(char, NULL, &self, .name = "token_shift", .doc = "squared ReLU and a gate, of each row and the row before",
          .paper = "Peng et al. 2023 (RWKV), channel mixing", .claims = AB_MIXES_TOKENS);
