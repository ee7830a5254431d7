/* Gated linear attention: linear attention whose state decays at a rate that each token sets.
 *
 *     S_i = diag(alpha_i) S_{i-1} + k_i' v_i,  y_i = q_i S_i,  alpha_i = sigmoid(x_i W1 W2 + b)^(1/16)      Yang et al.
 *     2024, section 4.2
 *
 * W1 W2 has rank 16; heads are normalised, gated by swish(x W + b) and projected. The paper defines it for decoders; in
 * the encoder both directions are summed and later positions decay in the same way.
 */
#include "decay.h"
#include <math.h>

enum { RANK = 16, TEMPERATURE = 16 };
typedef struct {
    int64_t chunk;
} config;

/* log of alpha [B,H,T,d_k], bounded so that a chunk's decay is at least exp(-40), as fp32 needs: with 16 positions
 * alpha >= 0.08. */
static ab_t log_alpha(ab_ctx *c, const config *o, ab_t x)
{
    const ab_info *in = ab_info(c);
    ab_t a = ab_linear(c, ab_linear(c, x, "alpha_down", RANK, 0), "alpha_up", in->heads * in->d_k, 1);
    ab_t g = ab_mul_scalar(c, ab_softplus(c, ab_mul_scalar(c, a, -1)), -1.0 / TEMPERATURE);
    return ab_heads(c, ab_maximum(c, g, ab_full(c, -40 / (double)o->chunk, 1)), in->heads);
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    ab_t q = ab_mul_scalar(c, ab_query(c, x), 1 / sqrt((double)ab_info(c)->d_k)), k = ab_key_step(c, mem),
         v = ab_value_step(c, mem);
    return decay_output(c, x, decayed_sum(c, q, k, v, log_alpha(c, o, mem), o->chunk), 1);
}

static const ab_option params[] = {
    {"chunk", AB_INT, offsetof(config, chunk), 16, 1, 64, 0,
     "positions computed together in training; also bounds alpha >= exp(-40 / chunk) [tokens]"},
    {0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED | AB_POS_ROTATE, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "gated_linear",
          .doc = "linear attention with a state that decays at a rate set by each token",
          .paper = "Yang et al. 2024 (GLA), section 4");
