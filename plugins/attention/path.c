/* PaTH: position enters as a product of matrices, one for each token between query and key.
 *
 *     score(i, j) = q_i H_i H_{i-1} .. H_{j+1} k_j' / sqrt(d_k), H_s = 1 - beta_s w_s' w_s
 *                                                          Yang et al. 2025, arXiv 2505.16381, eq. 3
 *
 * Computed in blocks of keys from the last to the first (section 3). Let P = q (beta w)', for the block's positions up
 * to the query's own. The block's scores are q k' - P C, and the previous block continues with q - P R in place of q. L
 * is the part of w (beta w)' below the diagonal, (1 + L) R = w, and (1 + L) C = the part of w k' below the diagonal. w
 * has length 1 and is a convolution of a projection of low rank; beta = 2 sigmoid(x W).
 */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t rank, width, block;
} config;

static double behind(const void *cfg, const int64_t *i) { return (void)cfg, i[1] < i[0]; }
static double up_to(const void *cfg, const int64_t *i) { return (void)cfg, i[1] <= i[0]; }

typedef struct {
    ab_t k, w, bw; /* [B,H,T,d_k]; bw: beta w */
} keys;

/* Scores of q against n keys from `from` on. Updates q for the keys before them. */
static ab_t block_scores(ab_ctx *c, const config *o, const keys *all, int64_t from, int64_t n, ab_t *q)
{
    ab_t k = ab_slice(c, all->k, -2, from, n), w = ab_slice(c, all->w, -2, from, n),
         bw = ab_slice(c, all->bw, -2, from, n), p = ab_matmul(c, *q, bw, 0, 1);
    int64_t rows = ab_dim(c, p, -2), d = ab_dim(c, w, -1);
    if (rows > 1) p = ab_mul(c, p, ab_table(c, up_to, o, rows, n));
    ab_t later = ab_mul(c, ab_matmul(c, w, k, 0, 1), ab_table(c, behind, o, n, n));
    ab_t solved = ab_solve_lower(c, ab_matmul(c, w, bw, 0, 1), ab_concat(c, w, later, -1));
    ab_t s = ab_sub(c, ab_matmul(c, *q, k, 0, 1), ab_matmul(c, p, ab_slice(c, solved, -1, d, n), 0, 0));
    *q = ab_sub(c, *q, ab_matmul(c, p, ab_slice(c, solved, -1, 0, d), 0, 0));
    return s;
}

/* [B,H,Tq,Tk], unmasked, with 0 for keys of later blocks. In decoding, the only query is behind all keys. */
static ab_t scores(ab_ctx *c, const config *o, const keys *all, ab_t q)
{
    int64_t time = ab_dim(c, all->k, -2), tq = ab_dim(c, q, -2), last = (time - 1) / o->block * o->block;
    ab_t moving = tq > 1 ? ab_slice(c, q, -2, last, tq - last) : q, s = {0};
    for (int64_t from = last; from >= 0; from -= o->block) {
        int64_t n = time - from < o->block ? time - from : o->block;
        if (tq > 1 && from < last) moving = ab_concat(c, ab_slice(c, q, -2, from, n), moving, -2);
        ab_t part = block_scores(c, o, all, from, n, &moving);
        if (tq > 1 && from) part = ab_concat(c, ab_full(c, 0, ab_dim(c, q, -4), ab_dim(c, q, -3), from, n), part, -2);
        s = from < last ? ab_concat(c, part, s, -1) : part;
    }
    return s;
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    int64_t H = in->heads;
    ab_t q = ab_query(c, x), v = ab_value(c, mem);
    ab_t w = ab_linear(c, ab_linear(c, mem, "w_down", o->rank, 0), "w_up", H * in->d_k, 0);
    if (o->width > 1) w = ab_depthwise_conv(c, w, "w_conv", o->width - 1, 0);
    w = ab_remember(c, ab_unit_length(c, ab_heads(c, w, H), 1e-6));
    ab_t beta = ab_map(c, ab_heads(c, ab_linear(c, mem, "beta", H, 1), H), AB_SIGMOID);
    keys all = {ab_key(c, mem), w, ab_mul(c, w, ab_remember(c, ab_mul_scalar(c, beta, 2)))};
    ab_t s = ab_mask(c, ab_mul_scalar(c, scores(c, o, &all, q), 1 / sqrt((double)in->d_k)));
    return ab_output(c, ab_weighted_sum(c, ab_dropout(c, ab_softmax(c, s), in->dropout), v));
}

static const ab_option params[] = {
    {"rank", AB_INT, offsetof(config, rank), 32, 1, 4096, 0, "rank of the map that makes w [columns]"},
    {"width", AB_INT, offsetof(config, width), 3, 1, 16, 0, "tokens that w is made of; 1: its own [tokens]"},
    {"block", AB_INT, offsetof(config, block), 64, 1, 4096, 0, "keys that are computed together [tokens]"},
    {0}};
static const ab_attention_plugin self = {.roles = AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "path",
          .doc = "softmax attention with positions from products of Householder-like matrices",
          .paper = "Yang et al. 2025 (PaTH), eq. 3");
