/* decay.h - linear attention with a decaying state, shared by retention.c and gated_linear.c.
 *
 *     y_i = q_i S_i,  S_i = exp(g_i) S_{i-1} + k_i' v_i        S [d_k,d_v], g_i <= 0 decays the rows of S
 *
 * The encoder has no causal mask, so it sums over both directions, and later positions decay in the same way: the
 * weight of j for i is exp(-|b_i - b_j|), where b is the running sum of g. Decoding carries S. Otherwise all positions
 * are computed at once, in chunks (Yang et al. 2024, section 3.2): as attention within a chunk, and by passing states
 * between chunks in log2(chunks) rounds of doubling. The cost is O(n) except for these rounds.
 */
#ifndef DECAY_H
#define DECAY_H
#include "ab_plugin.h"

/* ---- one position, with a carried state ---- */

typedef struct {
    int64_t heads, d_k, d_v, d_g;
} decay_shape;

/* One position: x [B, k of all heads | v | g], state before it -> state after it [B, heads d_k d_v]. */
static ab_t decay_step(ab_ctx *c, const void *cfg, ab_t x, ab_t state)
{
    const decay_shape *s = cfg;
    int64_t batch = ab_dim(c, x, -2), K = s->heads * s->d_k, V = s->heads * s->d_v, G = s->heads * s->d_g;
    ab_t k = ab_reshape(c, ab_slice(c, x, -1, 0, K), batch, s->heads, s->d_k, 1);
    ab_t v = ab_reshape(c, ab_slice(c, x, -1, K, V), batch, s->heads, 1, s->d_v);
    ab_t g = ab_reshape(c, ab_slice(c, x, -1, K + V, G), batch, s->heads, s->d_g, 1);
    ab_t kept = ab_mul(c, ab_map(c, g, AB_EXP), ab_reshape(c, state, batch, s->heads, s->d_k, s->d_v));
    return ab_reshape(c, ab_add(c, kept, ab_mul(c, k, v)), 1, 1, batch, K * s->d_v);
}

static ab_t decay_one(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t g)
{
    decay_shape s = {ab_dim(c, k, -3), ab_dim(c, k, -1), ab_dim(c, v, -1), ab_dim(c, g, -1)};
    int64_t batch = ab_dim(c, k, -4);
    ab_t x = ab_concat(c,
                       ab_concat(c, ab_reshape(c, k, 1, batch, 1, s.heads * s.d_k),
                                 ab_reshape(c, v, 1, batch, 1, s.heads * s.d_v), -1),
                       ab_reshape(c, g, 1, batch, 1, s.heads * s.d_g), -1);
    ab_t state = ab_scan(c, decay_step, &s, x, s.heads * s.d_k * s.d_v, 0);
    return ab_matmul(c, q, ab_reshape(c, state, batch, s.heads, s.d_k, s.d_v), 0, 0);
}

/* ---- all positions, in chunks ---- */

static double decay_not_behind(const void *cfg, const int64_t *i) { return (void)cfg, i[1] <= i[0]; }
static double decay_behind(const void *cfg, const int64_t *i) { return (void)cfg, i[1] > i[0]; }

/* [B,H,T,d] -> [B H, chunks, chunk, d], padded with zeros. */
static ab_t decay_chunks(ab_ctx *c, ab_t x, int64_t chunk)
{
    int64_t batch = ab_dim(c, x, -4), heads = ab_dim(c, x, -3), time = ab_dim(c, x, -2), d = ab_dim(c, x, -1);
    int64_t n = (time + chunk - 1) / chunk, rest = n * chunk - time;
    if (rest) x = ab_concat(c, x, ab_full(c, 0, batch, heads, rest, d), -2);
    return ab_reshape(c, x, batch * heads, n, chunk, d);
}

/* Moves values by `by` chunks, which may be negative: chunk i gets the values of chunk i - by, or zeros. */
static ab_t decay_shift(ab_ctx *c, ab_t x, int64_t by)
{
    int64_t n = ab_dim(c, x, -3), away = by < 0 ? -by : by;
    ab_t none = ab_full(c, 0, ab_dim(c, x, -4), away < n ? away : n, ab_dim(c, x, -2), ab_dim(c, x, -1));
    if (away >= n) return none;
    ab_t kept = ab_slice(c, x, -3, by < 0 ? away : 0, n - away);
    return by < 0 ? ab_concat(c, kept, none, -3) : ab_concat(c, none, kept, -3);
}

/* For each chunk, the state from all chunks before it (direction 1) or after it (-1). own: what each chunk adds,
 * decayed to its border [N,n,d_k,d_v]; through: decay of a state across the chunk [N,n,d_k or 1,1]. */
static ab_t decay_states(ab_ctx *c, ab_t own, ab_t through, int direction)
{
    int64_t n = ab_dim(c, own, -3);
    for (int64_t by = 1; by < n; by *= 2) {
        own = ab_add(c, own, ab_mul(c, through, decay_shift(c, own, direction * by)));
        through = ab_mul(c, through, decay_shift(c, through, direction * by));
    }
    return decay_shift(c, own, direction);
}

/* The output from positions in one direction. q_near, k_near: queries and keys scaled so that their products include
 * the decay between two positions of a chunk. q_border, k_border: scaled by the decay to the chunk's border. */
static ab_t decay_half(ab_ctx *c, ab_t q_near, ab_t k_near, ab_t seen, ab_t q_border, ab_t k_border, ab_t through,
                       ab_t v, int direction)
{
    ab_t within = ab_matmul(c, ab_mul(c, ab_matmul(c, q_near, k_near, 0, 1), seen), v, 0, 0);
    if (ab_dim(c, v, -3) == 1) return within;
    return ab_add(c, within,
                  ab_matmul(c, q_border, decay_states(c, ab_matmul(c, k_border, v, 1, 0), through, direction), 0, 0));
}

/* q, k [B,H,T,d_k], v [B,H,T,d_v], g [B,H,T,d_k or 1], the log of the decay at each step -> [B,H,T,d_v]. chunk * |g|
 * must stay below 40, or exp overflows. Keys and values at padding must be 0, as those of ab_key_step, ab_value_step
 * and ab_heads are. */
static ab_t decayed_sum(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t g, int64_t chunk)
{
    int64_t batch = ab_dim(c, q, -4), heads = ab_dim(c, q, -3), time = ab_dim(c, q, -2), d_v = ab_dim(c, v, -1),
            unused = 0;
    if (time == 1) return decay_one(c, q, k, v, g); /* a decoding step, or sentences of one token */
    if (chunk > time) chunk = time;
    q = decay_chunks(c, q, chunk), k = decay_chunks(c, k, chunk), v = decay_chunks(c, v, chunk),
    g = decay_chunks(c, g, chunk);
    ab_t b = ab_cumsum(c, g), all = ab_slice(c, b, -2, chunk - 1, 1), rest = ab_sub(c, all, b);
    ab_t shrink = ab_map(c, b, AB_EXP), grow = ab_map(c, ab_mul_scalar(c, b, -1), AB_EXP),
         to_end = ab_map(c, rest, AB_EXP);
    ab_t through = ab_transpose(c, ab_map(c, all, AB_EXP), -1, -2);
    ab_t q_shrunk = ab_mul(c, q, shrink), k_shrunk = ab_mul(c, k, shrink);
    ab_t y = decay_half(c, q_shrunk, ab_mul(c, k, grow), ab_table(c, decay_not_behind, &unused, chunk, chunk), q_shrunk,
                        ab_mul(c, k, to_end), through, v, 1);
    if (ab_info(c)->role != AB_CAUSAL)
        y = ab_add(c, y,
                   decay_half(c, ab_mul(c, q, grow), k_shrunk, ab_table(c, decay_behind, &unused, chunk, chunk),
                              ab_mul(c, q, to_end), k_shrunk, through, v, -1));
    y = ab_reshape(c, y, batch, heads, ab_dim(c, y, -3) * chunk, d_v);
    return ab_slice(c, y, -2, 0, time);
}

/* Normalises each head's values to mean 0 and variance 1: both papers' group norm without gain. eps is 1e-4, because
 * with the usual 1e-5 nearly equal values of a head show rounding errors. */
static ab_t decay_normalize(ab_ctx *c, ab_t y)
{
    double d = (double)ab_dim(c, y, -1);
    ab_t centred = ab_sub(c, y, ab_mul_scalar(c, ab_sum_axis(c, y, -1), 1 / d));
    ab_t variance = ab_mul_scalar(c, ab_sum_axis(c, ab_map(c, centred, AB_SQUARE), -1), 1 / d);
    return ab_div(c, centred, ab_map(c, ab_add_scalar(c, variance, 1e-4), AB_SQRT));
}

/* Normalises the heads, gates them by swish(x W) and projects: rows. */
static ab_t decay_output(ab_ctx *c, ab_t x, ab_t y, int bias)
{
    const ab_info *in = ab_info(c);
    ab_t gate = ab_silu(c, ab_linear(c, x, "gate", in->heads * in->d_v, bias));
    return ab_linear(c, ab_mul(c, gate, ab_merge(c, decay_normalize(c, y))), "out", in->d_model, 0);
}
#endif
