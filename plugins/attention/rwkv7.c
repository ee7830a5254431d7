/* RWKV-7's time mixing: each column of the state decays at its own rate, and before storing, the state forgets along a
 * learned direction.
 *
 *     S_t = diag(w_t) S_{t-1} - (a_t kappa_t)' (kappa_t S_{t-1}) + k_t' v_t,  y_t = r_t S_t
 *                                                          Peng et al. 2025, arXiv 2503.14456, section 4
 *
 * Each projection reads a mixture of a token's row and the one before. kappa has length 1. log w = -e^(-1/2)
 * sigmoid(..), a, the gate and the share of the first layer's values come from maps of low rank. Heads are normalised
 * (group norm), get the token's own value times r_t (rho k_t)', are gated and projected. The paper defines it for
 * decoders; in the encoder a second recurrence from the end is added.
 */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t rank;
} config;

/* x + mu (before - x), with a learned mu per column */
static ab_t mixed(ab_ctx *c, ab_t x, ab_t before, const char *mu)
{
    return ab_add(c, x, ab_mul(c, ab_weight_full(c, mu, 0.5, ab_dim(c, x, -1)), ab_sub(c, before, x)));
}
static ab_t low_rank(ab_ctx *c, ab_t x, const char *down, const char *up, int64_t rank, int64_t n)
{
    return ab_map(c, ab_linear(c, ab_linear(c, x, down, rank, 0), up, n, 1), AB_SIGMOID);
}
/* In the first layer: its values. In later layers: a mixture of the first layer's values and their own. */
static ab_t values(ab_ctx *c, ab_t x, int64_t rank, int64_t n)
{
    ab_t v = ab_linear(c, x, "v", n, 0);
    if (!ab_info(c)->layer) {
        ab_share(c, "v", v);
        return v;
    }
    return ab_add(c, v, ab_mul(c, low_rank(c, x, "v_down", "v_up", rank, n), ab_sub(c, ab_shared(c, "v"), v)));
}
/* Rows [rows, H d] normalised by head, with a gain and bias for each column. eps: the paper's 64e-5 */
static ab_t group_norm(ab_ctx *c, ab_t y, int64_t heads, int64_t d)
{
    int64_t rows = ab_dim(c, y, -2);
    y = ab_reshape(c, y, rows, heads, d);
    y = ab_sub(c, y, ab_mul_scalar(c, ab_sum_axis(c, y, -1), 1 / (double)d));
    y = ab_mul_scalar(c, ab_unit_length(c, y, 64e-5 * (double)d), sqrt((double)d));
    y = ab_mul(c, ab_reshape(c, y, rows, heads * d), ab_weight_full(c, "norm.g", 1, heads * d));
    return ab_add(c, y, ab_weight(c, "norm.b", 0, heads * d));
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const ab_info *in = ab_info(c);
    int64_t H = in->heads, K = H * in->d_k, V = H * in->d_v, rank = ((const config *)cfg)->rank;
    int64_t rows = ab_dim(c, x, -2);
    (void)mem;
    ab_t b = ab_shift(c, x, 1), r = ab_linear(c, mixed(c, x, b, "mu_r"), "r", K, 0);
    ab_t k = ab_linear(c, mixed(c, x, b, "mu_k"), "k", K, 0), v = values(c, mixed(c, x, b, "mu_v"), rank, V);
    ab_t w = ab_map(c, ab_linear(c, mixed(c, x, b, "mu_w"), "w_down", rank, 0), AB_TANH);
    w = ab_mul_scalar(c, ab_map(c, ab_linear(c, w, "w_up", K, 1), AB_SIGMOID), -exp(-0.5));
    ab_t a = low_rank(c, mixed(c, x, b, "mu_a"), "a_down", "a_up", rank, K);
    ab_t gate = ab_map(c, ab_linear(c, mixed(c, x, b, "mu_g"), "g_down", 2 * rank, 0), AB_SIGMOID);
    ab_t kappa = ab_heads(c, ab_mul(c, k, ab_weight_full(c, "kappa", 0.85, K)), H), rate = ab_heads(c, a, H);
    kappa = ab_unit_length(c, kappa, 1e-6);
    k = ab_mul(c, k, ab_add_scalar(c, ab_mul(c, ab_add_scalar(c, a, -1), ab_weight_full(c, "k_a", 1, K)), 1));
    ab_t y = ab_dplr_scan(c, ab_heads(c, r, H), ab_heads(c, k, H), ab_heads(c, v, H),
                          ab_mul_scalar(c, ab_mul(c, rate, kappa), -1), kappa, ab_heads(c, w, H));
    y = group_norm(c, ab_merge(c, y), H, in->d_v);
    ab_t own = ab_mul(c, ab_mul(c, r, k), ab_weight(c, "rho", -0.1, K));
    own = ab_sum_axis(c, ab_reshape(c, own, rows, H, in->d_k), -1);
    own = ab_reshape(c, ab_mul(c, own, ab_reshape(c, v, rows, H, in->d_v)), rows, V);
    return ab_linear(c, ab_mul(c, ab_add(c, y, own), ab_linear(c, gate, "g_up", V, 0)), "out", in->d_model, 0);
}

static const ab_option params[] = {{"rank", AB_INT, offsetof(config, rank), 16, 1, 1024, 0,
                                    "rank of the maps to decay, rate and values; half that of the gate's [columns]"},
                                   {0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "rwkv7",
          .doc = "a state with a decay for each column and a learned rate of unlearning",
          .paper = "Peng et al. 2025 (RWKV-7), section 4");
