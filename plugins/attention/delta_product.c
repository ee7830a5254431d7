/* DeltaProduct: delta_net with several corrections for each token, so that the state is multiplied by a product of
 * Householder matrices.
 *
 *     S = S - beta k' (k S - v) for each of a token's n keys, values and betas in turn,  y_t = q_t S
 *                                                          Siems et al. 2025, arXiv 2502.10297, section 3
 *
 * q, k = SiLU(conv(x W)) of length 1, v = SiLU(conv(x W)), beta = 2 sigmoid(x W): above 1 a step reflects (Grazzi et
 * al. 2024, arXiv 2411.12537). Heads are normalised (RMSNorm) and projected. The paper defines it for decoders; in the
 * encoder a second recurrence from the end is added.
 */
#include "delta.h"

typedef struct {
    int64_t n, conv;
} config;

/* [B,H,T,n d] -> [B,H,T n,d] */
static ab_t in_turn(ab_ctx *c, ab_t x, int64_t n)
{
    return ab_reshape(c, x, ab_dim(c, x, -4), ab_dim(c, x, -3), ab_dim(c, x, -2) * n, ab_dim(c, x, -1) / n);
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    int64_t H = in->heads, n = o->n;
    (void)mem;
    ab_t q = delta_heads(c, x, "q", "q.conv", H, in->d_k, o->conv), none = {0};
    ab_t k = in_turn(c, delta_heads(c, x, "k", "k.conv", H, n * in->d_k, o->conv), n);
    ab_t v = in_turn(c, delta_heads(c, x, "v", "v.conv", H, n * in->d_v, o->conv), n);
    ab_t beta = in_turn(c, ab_heads(c, ab_linear(c, x, "beta", n * H, 0), H), n);
    ab_t y = ab_delta_scan(c, ab_unit_length(c, q, 1e-6), ab_unit_length(c, k, 1e-6), v,
                           ab_mul_scalar(c, ab_map(c, beta, AB_SIGMOID), 2), none);
    return ab_linear(c, ab_merge(c, delta_norm(c, y, "gain")), "out", in->d_model, 0);
}

static const ab_option params[] = {{"n", AB_INT, offsetof(config, n), 2, 1, 8, 0, "corrections for each token [steps]"},
                                   {"conv", AB_INT, offsetof(config, conv), 4, 1, 16, 0,
                                    "width of the convolution of queries, keys and values; 1: none [tokens]"},
                                   {0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "delta_product", .doc = "delta_net with several corrections for each token",
          .paper = "Siems et al. 2025 (DeltaProduct), section 3");
