/* Hyper-connections: n residual streams. A sublayer reads a weighted sum of the streams. Its output is added to all
 * streams, which are also mixed with each other.
 *
 *     h = sum over i of a_i H_i,  H'_i = b_i sublayer(norm(h)) + sum over j of A_ij H_j
 *     a = a0 + s tanh(norm(H) w_a), likewise b and A                    Zhu et al. 2024, arXiv 2409.19606, eq. 2 to 13
 *
 * Layer l begins with a = its stream l mod n, b = 1, A = 1, which is pre_norm. The dynamic parts (`dynamic`) depend on
 * the token; their maps begin with 0. A norm of the streams' sum ends a stack.
 */
#include "finish.h"
#include <stdio.h>

typedef struct {
    int64_t n, dynamic;
} config;

enum { STREAMS = 8 };
static const char *const names[STREAMS] = {"stream0", "stream1", "stream2", "stream3",
                                           "stream4", "stream5", "stream6", "stream7"};
typedef struct {
    int64_t n, dynamic;
    ab_t h[STREAMS];
} streams;

static streams read_streams(ab_ctx *c, const config *o, ab_t x)
{
    streams s = {.n = o->n, .dynamic = o->dynamic};
    for (int64_t i = 0; i < s.n; i++) s.h[i] = ab_info(c)->layer ? ab_shared(c, names[i]) : x;
    return s;
}
/* Shares the streams with later layers; returns their sum. */
static ab_t share_streams(ab_ctx *c, const streams *s)
{
    ab_t sum = s->h[0];
    for (int64_t i = 0; i < s->n; i++) ab_share(c, names[i], s->h[i]);
    for (int64_t i = 1; i < s->n; i++) sum = ab_add(c, sum, s->h[i]);
    return sum;
}

/* Weights of stream i [rows or 1, n + 2]: its share in the sublayer's input, the share of the sublayer's output in
 * stream i, and the stream's share in each stream. static_: initial values of the fixed part. */
static ab_t weights(ab_ctx *c, const streams *s, int64_t i, const char *of, const double *static_)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%d", of, (int)i);
    ab_t fixed = ab_add(c, ab_weight(c, name, 0, 1, s->n + 2), ab_const(c, static_, 1, s->n + 2));
    if (!s->dynamic) return fixed;
    int64_t d = ab_dim(c, s->h[i], -1);
    snprintf(name, sizeof name, "%s.dynamic.%d", of, (int)i);
    ab_t map = ab_weight(c, name, 0, d, s->n + 2);
    snprintf(name, sizeof name, "%s.scale.%d", of, (int)i);
    ab_t by_token = ab_map(c, ab_matmul(c, ab_unit_length(c, s->h[i], 1e-6), map, 0, 0), AB_TANH);
    return ab_add(c, fixed, ab_mul(c, by_token, ab_weight_full(c, name, 0.01, 1)));
}

/* Applies one sublayer; which: 0 self-attention, 1 cross-attention, 2 feed-forward. */
static void sublayer(ab_ctx *c, streams *s, int which)
{
    static const char *const norms[] = {"self.ln", "cross.ln", "ffn.ln"}, *const of[] = {"hc.self", "hc.cross",
                                                                                         "hc.ffn"};
    ab_t w[STREAMS], in = {0}, next[STREAMS], y;
    for (int64_t i = 0; i < s->n; i++) {
        double start[STREAMS + 2] = {i == ab_info(c)->layer % s->n, 1};
        start[2 + i] = 1;
        w[i] = weights(c, s, i, of[which], start);
        ab_t part = ab_mul(c, s->h[i], ab_slice(c, w[i], -1, 0, 1));
        in = i ? ab_add(c, in, part) : part;
    }
    in = ab_normalize(c, in, norms[which]);
    y = which == 0 ? ab_self_attention(c, in) : which == 1 ? ab_cross_attention(c, in) : ab_feed_forward(c, in, "ffn");
    for (int64_t j = 0; j < s->n; j++) {
        ab_t kept = ab_mul(c, s->h[0], ab_slice(c, w[0], -1, 2 + j, 1));
        for (int64_t i = 1; i < s->n; i++) kept = ab_add(c, kept, ab_mul(c, s->h[i], ab_slice(c, w[i], -1, 2 + j, 1)));
        next[j] = ab_add_dropout(c, kept, ab_mul(c, y, ab_slice(c, w[j], -1, 1, 1)));
    }
    for (int64_t j = 0; j < s->n; j++) s->h[j] = next[j];
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    streams s = read_streams(c, cfg, x);
    sublayer(c, &s, 0);
    if (ab_info(c)->cross) sublayer(c, &s, 1);
    if (ab_info(c)->feed_forward) sublayer(c, &s, 2);
    return share_streams(c, &s);
}

static const ab_option params[] = {
    {"n", AB_INT, offsetof(config, n), 4, 1, STREAMS, 0, "residual streams [streams]"},
    {"dynamic", AB_BOOL, offsetof(config, dynamic), 1, 0, 0, 0, "the mixtures depend on the token"},
    {0}};
static const ab_block_plugin self = {.forward = forward, .finish = finish};
AB_PLUGIN(config, params, &self, .name = "hyper_connections", .doc = "several residual streams that mix",
          .paper = "Zhu et al. 2024 (Hyper-Connections)");
