/* Retention: linear attention whose state decays by a fixed factor per head.
 *
 *     S_i = gamma S_{i-1} + k_i' v_i,  y_i = q_i S_i,  gamma = 1 - 2^-(5 + head)        Sun et al. 2023, eq. 6 and 8
 *
 * Heads are normalised, gated by swish(x W) and projected. The paper's rotation of queries and keys is `position =
 * rotary`. The paper defines it for decoders; in the encoder both directions are summed, with gamma^|i - j|.
 */
#include "decay.h"
#include <math.h>

typedef struct {
    double fastest;
    int64_t chunk;
} config;

static double log_gamma_of(const void *cfg, const int64_t *i)
{
    return log1p(-exp2(-*(const double *)cfg - (double)i[0]));
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    ab_t q = ab_mul_scalar(c, ab_query(c, x), 1 / sqrt((double)in->d_k)), k = ab_key_step(c, mem),
         v = ab_value_step(c, mem);
    ab_t everywhere = ab_full(c, 0, ab_dim(c, k, -4), in->heads, ab_dim(c, k, -2), 1);
    ab_t g = ab_add(c, everywhere, ab_table(c, log_gamma_of, &o->fastest, in->heads, 1, 1));
    return decay_output(c, x, decayed_sum(c, q, k, v, g, o->chunk), 0);
}

static const ab_option params[] = {
    {"fastest", AB_REAL, offsetof(config, fastest), 5, 1, 20, 0,
     "head i (0, 1, ...) loses the share 2^-(fastest + i) of its state at each token [none]"},
    {"chunk", AB_INT, offsetof(config, chunk), 32, 1, 64, 0,
     "positions computed together in training; affects speed, not results [tokens]"},
    {0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED | AB_POS_ROTATE, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "retention",
          .doc = "linear attention with a state that decays at a fixed rate per head",
          .paper = "Sun et al. 2023 (RetNet), eq. 5 to 8");
