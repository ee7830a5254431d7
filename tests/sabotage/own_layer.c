/* Nothing is wrong here: multi-token prediction. In training, modules of one layer each predict tokens further ahead.
 * Each module's input is the previous module's output and the embedding of the token that the previous one predicts.
 *
 * h^k_i = layer_k(W_k [norm(h^(k-1)_i); norm(E(t_(i+k)))]), p(t_(i+k+1)) = softmax(h^k_i E')
 *
 * DeepSeek-AI 2024, arXiv 2412.19437, eq. 21 to 25 */
#include "ab_plugin.h"
#include <math.h>
#include <stdio.h>

typedef struct {
    int64_t ahead;
    double weight;
} config;

/* RMSNorm over the last axis with a learned gain */
static ab_t norm(ab_ctx *c, ab_t x, const char *gain)
{
    double d = (double)ab_dim(c, x, -1);
    return ab_mul(c, ab_unit_length(c, x, d * 1e-6), ab_mul_scalar(c, ab_weight_full(c, gain, 1, (int64_t)d), sqrt(d)));
}
/* Embeddings of ids [rows]; id -1 (no token) gets the embedding of id 0. */
static ab_t vectors(ab_ctx *c, ab_t ids)
{
    ab_t known = ab_to_ids(c, ab_maximum(c, ab_to_float(c, ids), ab_full(c, 0, 1)));
    return ab_embedding(c, ab_token_vectors(c), known);
}

static void losses(ab_ctx *c, const void *cfg, ab_t x, ab_t logits, ab_t target)
{
    const config *o = cfg;
    const double none = -1;
    (void)logits;
    for (int64_t k = 1; k <= o->ahead; k++) {
        char module[32], name[48], loss_name[32];
        snprintf(module, sizeof module, "module%d", (int)k), snprintf(loss_name, sizeof loss_name, "ahead_%d", (int)k);
        snprintf(name, sizeof name, "state%d", (int)k);
        ab_t state = norm(c, x, name);
        snprintf(name, sizeof name, "token%d", (int)k);
        ab_t both = ab_concat(c, state, norm(c, vectors(c, ab_ahead(c, target, k - 1)), name), -1);
        snprintf(name, sizeof name, "joined%d", (int)k);
        x = ab_layer(c, ab_linear(c, both, name, ab_dim(c, x, -1), 0), module);
        ab_t later = ab_ahead(c, target, k), loss = ab_cross_entropy(c, ab_logits(c, x), later);
        ab_t found = ab_less_than(c, ab_const(c, &none, 1), ab_to_float(c, later)); /* [rows] as [1,rows] */
        ab_t n = ab_add_scalar(c, ab_sum_axis(c, found, -1), 1e-6);
        ab_add_loss(c, loss_name, ab_div(c, ab_sum_axis(c, loss, -2), n), o->weight / (double)o->ahead);
    }
}

static const ab_head_plugin self = {.losses = losses};
static const ab_option options[] = {
    {"ahead", AB_INT, offsetof(config, ahead), 1, 1, 4, NULL, "tokens predicted after the next one [tokens]"},
    {"weight", AB_REAL, offsetof(config, weight), 0.3, 0, 100, NULL, "factor of the mean of these tokens' losses"},
    {0}};
AB_PLUGIN(config, options, &self, .name = "own_layer",
          .doc = "x E^T, and in training a layer for each of the tokens after the next",
          .paper = "DeepSeek-AI 2024 (V3), section 2.2");
