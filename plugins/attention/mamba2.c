/* Mamba-2 as a token mixer: a selective state space whose decay is one number for each head and token.
 *
 *     S_t = exp(dt_t A) S_{t-1} + dt_t B_t' x_t,  y_t = C_t S_t + D x_t,  dt_t = softplus(u_t W + b),  A = -exp(a)
 *                                                                  Dao & Gu 2024, arXiv 2405.21060, section 7
 *
 * x, B, C = SiLU(conv(u W)), with d_v (x) and d_k (B, C) columns per head; all heads share B and C, or each has its
 * own. All columns of y SiLU(u W) are normalised together (RMSNorm) and projected. The paper defines it for decoders;
 * in the encoder a second recurrence from the end is added.
 */
#include "delta.h"

typedef struct {
    int64_t conv, shared;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t u, ab_t mem)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    (void)mem;
    int64_t H = in->heads, groups = o->shared ? 1 : H;
    ab_t x = delta_heads(c, u, "x", "x.conv", H, in->d_v, o->conv),
         B = delta_heads(c, u, "B", "B.conv", groups, in->d_k, o->conv),
         C = delta_heads(c, u, "C", "C.conv", groups, in->d_k, o->conv);
    ab_t time = delta_time(c, u), none = {0};
    ab_t y = ab_delta_scan(c, C, B, ab_mul(c, x, ab_heads(c, time, H)), none, ab_heads(c, delta_log_decay(c, time), H));
    y = ab_add(c, y, ab_mul(c, x, ab_weight_full(c, "D", 1, H, 1, 1)));
    y = ab_mul(c, ab_merge(c, y), ab_silu(c, ab_linear(c, u, "gate", H * in->d_v, 0)));
    return ab_linear(c, delta_norm(c, y, "gain"), "out", in->d_model, 0);
}

static const ab_option params[] = {
    {"conv", AB_INT, offsetof(config, conv), 4, 1, 16, 0, "width of the convolution of x, B and C; 1: none [tokens]"},
    {"shared", AB_BOOL, offsetof(config, shared), 1, 0, 1, 0, "all heads have the same B and C"},
    {0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "mamba2",
          .doc = "state space duality: a state that decays by one number for each head and token",
          .paper = "Dao & Gu 2024 (Mamba-2), section 7");
