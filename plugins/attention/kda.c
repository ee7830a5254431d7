/* Kimi Delta Attention: gated_delta_net with a decay per key column instead of per head.
 *
 *     S_t = (1 - beta_t k_t' k_t) diag(alpha_t) S_{t-1} + beta_t k_t' v_t,  y_t = q_t S_t
 *     log alpha_t = -exp(A) softplus(x_t W_down W_up + b)          Kimi Team 2025, arXiv 2510.26692, eq. 1
 *
 * A belongs to a head, b to a column; both begin as gated_delta_net's. Heads are normalised (RMSNorm), gated by a
 * sigmoid of low rank and projected. The paper defines it for decoders; in the encoder a second recurrence from the end
 * is added.
 */
#include "delta.h"

typedef struct {
    int64_t rank, conv;
} config;

/* [B,H,T,d_k] */
static ab_t log_decay(ab_ctx *c, ab_t x, int64_t rank)
{
    const ab_info *in = ab_info(c);
    int64_t H = in->heads, d = in->d_k;
    ab_t bias =
        ab_add(c, ab_weight(c, "dt_bias", 0, H, 1, d), ab_reshape(c, ab_table(c, delta_first_bias, &d, H, d), H, 1, d));
    ab_t rate =
        ab_add(c, ab_weight(c, "A", 0, H, 1, 1), ab_reshape(c, ab_table(c, delta_first_rate, &H, 1, H), H, 1, 1));
    ab_t dt = ab_heads(c, ab_linear(c, ab_linear(c, x, "dt_down", rank, 0), "dt_up", H * d, 0), H);
    return ab_mul_scalar(c, ab_mul(c, ab_map(c, rate, AB_EXP), ab_softplus(c, ab_add(c, dt, bias))), -1);
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    (void)mem;
    delta_parts p = delta_project(c, x, o->conv);
    ab_t w = log_decay(c, x, o->rank), stored = ab_mul(c, p.beta, p.k);
    ab_t y = ab_dplr_scan(c, p.q, stored, p.v, ab_mul_scalar(c, stored, -1), ab_mul(c, p.k, ab_map(c, w, AB_EXP)), w);
    ab_t gate = ab_linear(c, ab_linear(c, x, "gate_down", o->rank, 0), "gate_up", in->heads * in->d_v, 1);
    y = ab_mul(c, ab_merge(c, delta_norm(c, y, "gain")), ab_map(c, gate, AB_SIGMOID));
    return ab_linear(c, y, "out", in->d_model, 0);
}

static const ab_option params[] = {
    {"rank", AB_INT, offsetof(config, rank), 16, 1, 1024, 0, "rank of the decay's and the gate's maps [columns]"},
    {"conv", AB_INT, offsetof(config, conv), 4, 1, 16, 0,
     "width of the convolution of queries, keys and values; 1: none [tokens]"},
    {0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "kda", .doc = "gated_delta_net with a decay for each column of the keys",
          .paper = "Kimi Team 2025 (Kimi Linear), eq. 1");
