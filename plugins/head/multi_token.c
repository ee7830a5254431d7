/* multi_token.c - in training each row also predicts tokens after the next one, each through its own layer. */
#include "ab_plugin.h"
#include <stdio.h>

typedef struct {
    int64_t ahead;
    double weight;
} config;

/* Logits of the `by`-th token after the next one, [rows,vocabulary]. */
static ab_t propose(ab_ctx *c, const void *cfg, ab_t x, int64_t by)
{
    char name[32];
    (void)cfg;
    snprintf(name, sizeof name, "ahead_%d", (int)by);
    return ab_logits(c, ab_add(c, x, ab_silu(c, ab_linear(c, x, name, ab_dim(c, x, -1), 1))));
}

static int64_t ahead(const void *cfg) { return ((const config *)cfg)->ahead; }

static void losses(ab_ctx *c, const void *cfg, ab_t x, ab_t logits, ab_t target)
{
    const config *o = cfg;
    const double none = -1;
    (void)logits;
    for (int64_t k = 1; k <= o->ahead; k++) {
        char name[32];
        snprintf(name, sizeof name, "ahead_%d", (int)k);
        ab_t later = ab_ahead(c, target, k);                                        /* ids [rows] */
        ab_t loss = ab_cross_entropy(c, propose(c, cfg, x, k), later);              /* [rows,1] */
        ab_t found = ab_less_than(c, ab_const(c, &none, 1), ab_to_float(c, later)); /* [rows] as [1,rows] */
        ab_t n = ab_add_scalar(c, ab_sum_axis(c, found, -1), 1e-6);
        ab_add_loss(c, name, ab_div(c, ab_sum_axis(c, loss, -2), n), o->weight);
    }
}

static const ab_head_plugin self = {.losses = losses, .ahead = ahead, .propose = propose};
static const ab_option options[] = {
    {"ahead", AB_INT, offsetof(config, ahead), 1, 1, 16, NULL, "tokens predicted after the next one [tokens]"},
    {"weight", AB_REAL, offsetof(config, weight), 1, 0, 100, NULL, "factor of each such token's loss"},
    {0}};
AB_PLUGIN(config, options, &self, .name = "multi_token", .doc = "x E^T, and in training also the tokens after the next",
          .paper = "Gloeckle et al. 2024, section 2");
