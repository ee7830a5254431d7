/* DeltaNet: before storing a token's value under its key, removes the share beta of the value stored under that key.
 *
 *     S_t = S_{t-1} - beta_t k_t' (k_t S_{t-1} - v_t),  y_t = q_t S_t        Yang et al. 2024, arXiv 2406.06484
 *
 * q, k = SiLU(conv(x W)) of length 1, v = SiLU(conv(x W)), beta = sigmoid(x W); heads are normalised (RMSNorm) and
 * projected. The paper defines it for decoders; in the encoder a second recurrence from the end is added.
 */
#include "delta.h"

typedef struct {
    int64_t conv;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    (void)mem;
    delta_parts p = delta_project(c, x, o->conv);
    ab_t none = {0}, y = delta_norm(c, ab_delta_scan(c, p.q, p.k, p.v, p.beta, none), "gain");
    return ab_linear(c, ab_merge(c, y), "out", ab_info(c)->d_model, 0);
}

static const ab_option params[] = {{"conv", AB_INT, offsetof(config, conv), 4, 1, 16, 0,
                                    "width of the convolution of queries, keys and values; 1: none [tokens]"},
                                   {0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "delta_net",
          .doc = "linear attention that corrects what its state has stored under each key",
          .paper = "Yang et al. 2024 (DeltaNet), arXiv 2406.06484");
