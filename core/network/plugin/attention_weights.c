/* attention_weights.c - attention weights over the last axis, composed of operations: softmax, with or without a sink,
 * and entmax. record() lets attention_scores.c fuse them. */
#include "network/plugin/attention_context.h"
#include "tensor/graph/score.h"
#include <string.h>

/* Keeps weights p under a name for pictures of heads, if p has the shape of attention weights. */
static ab_t named(ab_ctx *c, ab_t p)
{
    const attn_context *t = c->attn;
    if (!p.id || !t || !t->keep_weights) return p;
    const int64_t *d = tape_at(c, p)->dim;
    if (d[0] == t->batch && d[1] == t->info.heads && d[2] == t->q_time && d[3] == t->k_time)
        t_keep(c, p, attn_full_name(c, "weights"));
    return p;
}

static ab_t record(ab_ctx *c, ab_t p, ab_t s, weights_kind kind, ab_t sink)
{
    if (!p.id || !c->attn) return p;
    traced_weights *w = arena_alloc(&c->memory, sizeof *w);
    *w = (traced_weights){p.id, s.id, kind, sink, c->attn->weights_traced};
    c->attn->weights_traced = w;
    return named(c, p);
}

ab_t host_softmax(ab_ctx *c, ab_t s) { return named(c, t_softmax(c, s)); }

/* A softmax over the keys and a sink, whose weight is dropped. */
ab_t host_softmax_sink(ab_ctx *c, ab_t s, ab_t sink)
{
    if (!s.id || !sink.id) return (ab_t){0};
    int64_t d[4], keys = tape_at(c, s)->dim[3];
    char is[64], wanted[64];
    memcpy(d, tape_at(c, s)->dim, sizeof d);
    d[3] = 1;
    for (int i = 0; i < 4; i++)
        if (tape_at(c, sink)->dim[i] != 1 && tape_at(c, sink)->dim[i] != d[i])
            return tape_fail(c, "ab_softmax_sink: a sink %s, expected %s, or 1 along an axis",
                             shape_text(tape_at(c, sink)->dim, is), shape_text(d, wanted));
    ab_t all = t_softmax(c, t_concat(c, s, t_broadcast_to(c, sink, d), -1));
    return record(c, t_slice(c, all, -1, 0, keys), s, WEIGHTS_SOFTMAX, sink);
}

/* ---- entmax: p = max(0, z - tau)^(1 / (alpha - 1)), z = (alpha - 1) s, with tau such that the weights sum to 1.
 * Sorted scores (without gradient) tell which keys are above tau; these give tau. alpha 1.5: Peters et al. 2019,
 * section 3.2 and appendix C.1; alpha 2, sparsemax: Martins and Astudillo 2016, algorithm 1. ---- */

static double not_after(const void *unused, const int64_t *i) { return (void)unused, i[0] <= i[1]; }
static double place(const void *unused, const int64_t *i) { return (void)unused, (double)(i[0] + 1); }

/* Returns tau if exactly n numbers, with this sum and sum of squares, are above tau. */
static ab_t threshold(ab_ctx *c, bool sparsemax, ab_t n, ab_t sum, ab_t squares)
{
    if (sparsemax) return t_binary(c, OP_DIV, t_add_scalar(c, sum, -1), n);
    ab_t mean = t_binary(c, OP_DIV, sum, n);
    ab_t spread = t_binary(c, OP_SUB, squares, t_binary(c, OP_MUL, sum, mean)); /* sum of (z - mean)^2 */
    ab_t rest = t_map(c, t_add_scalar(c, t_mul_scalar(c, spread, -1), 1), AB_RELU);
    return t_binary(c, OP_SUB, mean, t_map(c, t_binary(c, OP_DIV, rest, n), AB_SQRT));
}

/* 1 where z [..,T] is above its row's threshold, else 0. */
static ab_t support(ab_ctx *c, bool sparsemax, ab_t z)
{
    ab_t first = host_detach(c, host_sort(c, z, 1, NULL));
    int64_t t = tape_at(c, z)->dim[3];
    /* a product with `before` gives prefix sums */
    ab_t before = host_computed_table(c, 2, (int64_t[]){t, t}, not_after, NULL, 0),
         n = host_computed_table(c, 1, (int64_t[]){t}, place, NULL, 0);
    ab_t tau = threshold(c, sparsemax, n, t_matmul(c, first, before, 0, 0),
                         t_matmul(c, t_map(c, first, AB_SQUARE), before, 0, 0));
    /* fits: the prefix's smallest number is above the prefix's tau */
    ab_t fits = t_binary(c, OP_SUB, one_number(c, 1), t_binary(c, OP_LESS_THAN, first, tau));
    ab_t last = t_to_ids(c, t_add_scalar(c, host_sum(c, fits, -1), -1));
    return host_detach(c, t_binary(c, OP_LESS_THAN, t_gather(c, tau, last), z));
}

/* Shifts z to a maximum of 0 and clamps it at -2, also at masked keys (-inf): a number more than 1 below the largest
 * cannot be above tau. */
ab_t host_entmax(ab_ctx *c, ab_t s, double alpha)
{
    if (alpha != 1.5 && alpha != 2) return tape_fail(c, "ab_entmax: alpha %g, expected 1.5 or 2", alpha);
    if (!s.id) return s;
    bool sparsemax = alpha == 2;
    ab_t z = t_mul_scalar(c, s, alpha - 1);
    ab_t top = host_maximum(c, host_detach(c, host_max(c, z, -1)), one_number(c, -1e30));
    z = host_maximum(c, t_binary(c, OP_SUB, z, top), one_number(c, -2));
    ab_t in = support(c, sparsemax, z), kept = t_binary(c, OP_MUL, z, in);
    ab_t tau = threshold(c, sparsemax, host_sum(c, in, -1), host_sum(c, kept, -1),
                         host_sum(c, t_binary(c, OP_MUL, kept, kept), -1));
    ab_t above = t_binary(c, OP_MUL, in, t_binary(c, OP_SUB, z, tau));
    return record(c, sparsemax ? above : t_map(c, above, AB_SQUARE), s,
                  sparsemax ? WEIGHTS_SPARSEMAX : WEIGHTS_ENTMAX15, (ab_t){0});
}
