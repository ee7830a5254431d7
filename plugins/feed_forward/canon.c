/* A Canon layer before the products and one between them: x + a causal convolution of each column by itself. */
#include "ab_plugin.h"

typedef struct {
    int64_t width;
} config;

static ab_t canon(ab_ctx *c, const config *o, ab_t x, const char *name)
{
    return ab_add(c, x, ab_depthwise_conv(c, x, name, o->width - 1, 0));
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    const ab_info *in = ab_info(c);
    ab_t h = canon(c, cfg, ab_linear(c, canon(c, cfg, x, "canon_c"), "1", in->d_ff, 1), "canon_d");
    return ab_linear(c, ab_dropout(c, ab_map(c, h, AB_RELU), in->dropout), "2", in->d_model, 1);
}

static const ab_option params[] = {{"width", AB_INT, offsetof(config, width), 4, 1, 64, NULL,
                                    "tokens that a Canon layer sees, the row's own included [tokens]"},
                                   {0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "canon", .doc = "two linear maps with a ReLU, and Canon layers C and D",
          .paper = "Allen-Zhu 2025 (Physics of Language Models, part 4.1)", .claims = AB_MIXES_TOKENS);
