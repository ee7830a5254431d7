/* Gated DeltaNet: the state of delta_net also decays, at a rate that each token sets.
 *
 *     S_t = alpha_t S_{t-1} - beta_t k_t' (alpha_t k_t S_{t-1} - v_t),  y_t = q_t S_t
 *     alpha_t = exp(-exp(A) softplus(x_t W + b))              Yang, Kautz, Hatamizadeh 2024, arXiv 2412.06464, eq. 10
 *
 * q, k = SiLU(conv(x W)) of length 1, v = SiLU(conv(x W)), beta = sigmoid(x W); heads are normalised (RMSNorm), gated
 * by SiLU(x W) and projected. The paper defines it for decoders; in the encoder a second recurrence from the end is
 * added.
 */
#include "delta.h"

typedef struct {
    int64_t conv;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    (void)mem;
    delta_parts p = delta_project(c, x, o->conv);
    ab_t log_alpha = ab_heads(c, delta_log_decay(c, delta_time(c, x)), in->heads);
    ab_t y = delta_norm(c, ab_delta_scan(c, p.q, p.k, p.v, p.beta, log_alpha), "gain");
    ab_t gate = ab_silu(c, ab_linear(c, x, "gate", in->heads * in->d_v, 0));
    return ab_linear(c, ab_mul(c, ab_merge(c, y), gate), "out", in->d_model, 0);
}

static const ab_option params[] = {{"conv", AB_INT, offsetof(config, conv), 4, 1, 16, 0,
                                    "width of the convolution of queries, keys and values; 1: none [tokens]"},
                                   {0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "gated_delta_net",
          .doc = "delta_net whose state decays at a rate set by each token",
          .paper = "Yang, Kautz, Hatamizadeh 2024 (Gated DeltaNet), eq. 10");
