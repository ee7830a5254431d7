/* z_loss.c - keeps the softmax's normaliser Z near 1, so that logits do not drift away. */
#include "log_sum.h"

typedef struct {
    double weight;
} config;

static void losses(ab_ctx *c, const void *cfg, ab_t x, ab_t logits, ab_t target)
{
    const config *o = cfg;
    (void)x, (void)target;
    ab_t mask = ab_row_mask(c); /* [rows,1] */
    ab_t squares = ab_sum_axis(c, ab_mul(c, ab_map(c, log_sum_exp(c, logits), AB_SQUARE), mask), -2);
    ab_add_loss(c, "z", ab_div(c, squares, ab_sum_axis(c, mask, -2)), o->weight);
}

static const ab_head_plugin self = {.losses = losses};
static const ab_option options[] = {
    {"weight", AB_REAL, offsetof(config, weight), 1e-4, 0, 10, NULL, "factor of the mean of log(Z)^2 in the loss"},
    {0}};
AB_PLUGIN(config, options, &self, .name = "z_loss", .doc = "x E^T, and weight log(Z)^2 in the loss, Z the sum of exp",
          .paper = "Chowdhery et al. 2022 (PaLM), section 5");
