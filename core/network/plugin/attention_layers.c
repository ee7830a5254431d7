/* attention_layers.c - layers along each sentence: recurrent units and convolutions.
 *
 * Operations of the backend run over packed rows. In decoding steps, with `generic` and without such an operation,
 * layers are composed: a recurrence as a scan over padded sentences, a convolution as concatenated shifted copies (in
 * decoding, of a carried past). Both forms have the same learned values.
 */
#include "network/plugin/attention_context.h"
#include <math.h>
#include <string.h>

/* Finds the sentences of these rows. False and an error if layers along sentences cannot run over them. */
static bool rows_of(ab_ctx *c, const char *what, ab_t x, attn_sentences *s)
{
    if (!x.id || !attn_sentences_of(c, x, s)) return false;
    const int64_t *d = tape_at(c, x)->dim;
    char shape[64];
    if (d[0] == 1 && d[1] == 1 && d[2] == s->rows) return true;
    tape_fail(c, "%s: %s, expected rows [%lld,n]", what, shape_text(d, shape), (long long)s->rows);
    return false;
}

static bool one_operation(const ab_ctx *c, op o)
{
    return !attn_steps(c) && !c->attn->generic && c->backend && c->backend->kernels[o];
}

/* ---- recurrent ---- */

typedef struct {
    int64_t d;
    ab_t u;
} cell;

static ab_t part(ab_ctx *c, ab_t x, int64_t i, int64_t d) { return t_slice(c, x, -1, i * d, d); }
static ab_t gate(ab_ctx *c, ab_t x, ab_t q, int64_t i, int64_t d)
{
    return t_map(c, t_binary(c, OP_ADD, part(c, x, i, d), part(c, q, i, d)), AB_SIGMOID);
}

/* x: W x_t + b, with columns z, r, n. */
static ab_t gru_step(ab_ctx *c, const void *cfg, ab_t x, ab_t h)
{
    const cell *g = cfg;
    int64_t d = g->d;
    ab_t q = t_matmul(c, h, g->u, 0, 0);
    ab_t z = gate(c, x, q, 0, d), of_h = t_binary(c, OP_MUL, gate(c, x, q, 1, d), part(c, q, 2, d));
    ab_t n = t_map(c, t_binary(c, OP_ADD, part(c, x, 2, d), of_h), AB_TANH);
    return t_binary(c, OP_ADD, n, t_binary(c, OP_MUL, z, t_binary(c, OP_SUB, h, n)));
}

/* x: W x_t + b, with columns i, f, o, g; state: h and m side by side. */
static ab_t lstm_step(ab_ctx *c, const void *cfg, ab_t x, ab_t state)
{
    const cell *l = cfg;
    int64_t d = l->d;
    ab_t m = part(c, state, 1, d), q = t_matmul(c, part(c, state, 0, d), l->u, 0, 0);
    ab_t g = t_map(c, t_binary(c, OP_ADD, part(c, x, 3, d), part(c, q, 3, d)), AB_TANH);
    m = t_binary(c, OP_ADD, t_binary(c, OP_MUL, gate(c, x, q, 1, d), m), t_binary(c, OP_MUL, gate(c, x, q, 0, d), g));
    return t_concat(c, t_binary(c, OP_MUL, gate(c, x, q, 2, d), t_map(c, m, AB_TANH)), m, -1);
}

static ab_t recurrent(ab_ctx *c, ab_t x, const char *in, const char *u_name, int64_t d, int lstm, int backwards)
{
    attn_sentences s;
    int64_t wide = (lstm ? 4 : 3) * d;
    if (d < 1) return tape_fail(c, "ab_%s: %lld units, expected 1 or more", lstm ? "lstm" : "gru", (long long)d);
    if (!rows_of(c, lstm ? "lstm" : "gru", x, &s) || !attn_may_scan(c, x, backwards)) return (ab_t){0};
    attn_weights l = attn_linear_weights(c, in, tape_at(c, x)->dim[3], wide, wide, 1);
    ab_t u = attn_param(c, u_name, (int64_t[4]){1, 1, d, wide}, 1 / sqrt((double)d), 0);
    x = t_linear(c, x, l.w, l.b, 0, 0);
    if (one_operation(c, OP_RECURRENT)) return t_cast(c, t_recurrent(c, x, u, s.offset, lstm, backwards), c->compute);
    ab_t states = host_scan(c, lstm ? lstm_step : gru_step, &(cell){d, u}, host_pad(c, x), lstm ? 2 * d : d, backwards);
    return attn_pack_as(c, lstm ? part(c, states, 0, d) : states, &s);
}
ab_t host_gru(ab_ctx *c, ab_t x, const char *in, const char *u, int64_t d, int backwards)
{
    return recurrent(c, x, in, u, d, 0, backwards);
}
ab_t host_lstm(ab_ctx *c, ab_t x, const char *in, const char *u, int64_t d, int backwards)
{
    return recurrent(c, x, in, u, d, 1, backwards);
}

/* ---- convolutional ---- */

/* The state: the last positions concatenated in sentence order, so the newest is last, or (backwards) first. */
static ab_t push(ab_ctx *c, const void *backwards, ab_t x, ab_t h)
{
    int64_t n = tape_at(c, x)->dim[3], kept = tape_at(c, h)->dim[3] - n;
    if (!kept) return x;
    if (*(const int *)backwards) return t_concat(c, x, t_slice(c, h, -1, 0, kept), -1);
    return t_concat(c, t_slice(c, h, -1, n, kept), x, -1);
}

/* y_t = x_{t + by} within the sentence, else 0: [1,B,T,n]. Padding behind a sentence is 0 already. */
static ab_t shifted(ab_ctx *c, ab_t x, int64_t by)
{
    if (!by) return x;
    const int64_t *dim = tape_at(c, x)->dim, time = dim[2], away = by < 0 ? -by : by, moved = away < time ? away : time;
    ab_t zeros = attn_zeros(c, 1, dim[1], moved, dim[3]);
    if (moved == time) return zeros;
    ab_t kept = t_slice(c, x, -2, by < 0 ? 0 : moved, time - moved);
    return by < 0 ? t_concat(c, zeros, kept, -2) : t_concat(c, kept, zeros, -2);
}

/* Concatenates each position with the `more` positions before it (backwards: behind it), in sentence order: [1,B,T,n]
 * -> [1,B,T,(more + 1) n]. A decoding step has one position and carries the earlier positions. */
static ab_t window(ab_ctx *c, ab_t x, int64_t more, int backwards)
{
    if (!x.id) return x;
    if (attn_steps(c)) return host_scan(c, push, &backwards, x, (more + 1) * tape_at(c, x)->dim[3], backwards);
    ab_t seen = shifted(c, x, backwards ? 0 : -more);
    for (int64_t i = 1; i <= more; i++) seen = t_concat(c, seen, shifted(c, x, backwards ? i : i - more), -1);
    return seen;
}

static ab_t neighbours(ab_ctx *c, ab_t x, int64_t before, int64_t behind)
{
    ab_t seen = window(c, x, before, 0);
    if (!behind) return seen;
    ab_t next = window(c, x, behind, 1); /* begins with the position itself, with which `seen` ends */
    if (!next.id) return next;
    int64_t n = tape_at(c, x)->dim[3];
    return t_concat(c, seen, t_slice(c, next, -1, n, behind * n), -1);
}

ab_t host_conv(ab_ctx *c, ab_t x, const char *name, int64_t width, int64_t before, int64_t behind)
{
    attn_sentences s;
    if (width < 1 || before < 0 || behind < 0)
        return tape_fail(
            c, "ab_conv: found width %lld over %lld positions before and %lld after, expected at least 1, 0 and 0",
            (long long)width, (long long)before, (long long)behind);
    if (!rows_of(c, "conv", x, &s) || !attn_may_scan(c, x, behind > 0)) return (ab_t){0};
    int64_t inputs = (before + 1 + behind) * tape_at(c, x)->dim[3];
    attn_weights l = attn_linear_weights(c, name, inputs, width, width, 1);
    ab_t seen = one_operation(c, OP_NEIGHBOURS) ? t_neighbours(c, x, s.offset, before, behind)
                                                : attn_pack_as(c, neighbours(c, host_pad(c, x), before, behind), &s);
    return t_linear(c, seen, l.w, l.b, 0, 0);
}

/* ---- convolutions of each column ---- */

ab_t host_shift(ab_ctx *c, ab_t rows, int64_t by)
{
    attn_sentences s;
    if (!by || !rows_of(c, "ab_shift", rows, &s)) return by ? (ab_t){0} : rows;
    if (!attn_may_scan(c, rows, by < 0)) return (ab_t){0};
    ab_t x = host_pad(c, rows);
    if (!attn_steps(c)) return attn_pack_as(c, shifted(c, x, -by), &s);
    ab_t seen = window(c, x, by, 0); /* oldest first */
    return seen.id ? attn_pack_as(c, t_slice(c, seen, -1, 0, tape_at(c, x)->dim[3]), &s) : seen;
}

ab_t attn_ahead(ab_ctx *c, ab_t rows, int64_t by)
{
    attn_sentences s;
    if (!rows_of(c, "ab_ahead", rows, &s)) return (ab_t){0};
    return attn_pack_as(c, shifted(c, host_pad(c, rows), by), &s);
}

/* Runs one operation if the backend has it; else sums in the order of the positions, as in a decoding step. */
ab_t host_depthwise_conv(ab_ctx *c, ab_t rows, const char *name, int64_t before, int64_t behind)
{
    attn_sentences s;
    if (before < 0 || behind < 0)
        return tape_fail(c, "ab_depthwise_conv: found %lld positions before and %lld after, expected at least 0",
                         (long long)before, (long long)behind);
    if (!rows_of(c, "ab_depthwise_conv", rows, &s) || !attn_may_scan(c, rows, behind > 0)) return (ab_t){0};
    int64_t n = tape_at(c, rows)->dim[3], width = before + 1 + behind;
    ab_t w = attn_param(c, name, (int64_t[4]){1, 1, width, n}, 1 / sqrt((double)width), 0), sum = {0};
    if (one_operation(c, OP_DEPTHWISE_CONV)) return t_depthwise_conv(c, rows, w, s.offset, before);
    ab_t x = t_cast(c, host_pad(c, rows), c->compute == F64 ? F64 : F32);
    if (!x.id || !w.id) return (ab_t){0};
    ab_t seen = attn_steps(c) ? window(c, x, before, 0) : x;
    for (int64_t i = 0; i < width && seen.id; i++) {
        ab_t at = attn_steps(c) ? t_slice(c, seen, -1, i * n, n) : shifted(c, x, i - before);
        ab_t term = t_binary(c, OP_MUL, at, t_slice(c, w, -2, i, 1));
        sum = sum.id ? t_binary(c, OP_ADD, sum, term) : term;
    }
    return sum.id ? t_cast(c, attn_pack_as(c, sum, &s), c->compute) : sum;
}

/* ---- convolutions with a filter as long as the sentence ---- */

/* One decoding step: the weighted sum of all positions so far. `past` has the weights, by distance. */
static ab_t long_conv_step(ab_ctx *c, ab_t rows, ab_t past)
{
    const attn_context *k = c->attn;
    ab_t seen = host_remember(c, host_heads(c, rows, 1)); /* [B,1,T,n] */
    if (!seen.id) return seen;
    int64_t d[4], taps = tape_at(c, past)->dim[2];
    memcpy(d, tape_at(c, seen)->dim, sizeof d);
    if (taps < d[2])
        return tape_fail(c,
                         "ab_long_conv: decoding %lld positions, found weights for %lld in `past` (expected one for "
                         "each element of ab_kpos)",
                         (long long)d[2], (long long)taps);
    ab_t distance = t_mul_scalar(c, t_relative_position(c, k->qpos, k->kpos), -1);
    ab_t weights = t_embedding(c, past, t_to_ids(c, t_map(c, distance, AB_RELU))); /* [1,1,T,n] */
    d[2] = 1;
    return host_merge(c, t_sum_to(c, t_binary(c, OP_MUL, seen, weights), d));
}

ab_t host_long_conv(ab_ctx *c, ab_t rows, ab_t past, ab_t future)
{
    attn_sentences s;
    if (!past.id || !rows_of(c, "ab_long_conv", rows, &s) || !attn_may_scan(c, rows, future.id != 0)) return (ab_t){0};
    int64_t n = tape_at(c, rows)->dim[3];
    const ab_t filters[] = {past, future};
    for (int i = 0; i < 2; i++) {
        char shape[64];
        const int64_t *d = filters[i].id ? tape_at(c, filters[i])->dim : (int64_t[4]){1, 1, 1, n};
        if (d[0] != 1 || d[1] != 1 || d[3] != n)
            return tape_fail(c, "ab_long_conv: the filter is %s, expected [L,%lld]", shape_text(d, shape),
                             (long long)n);
    }
    if (attn_steps(c)) return t_cast(c, long_conv_step(c, rows, past), c->compute);
    ab_t y = t_long_conv(c, rows, past, s.offset, 0);
    if (future.id) { /* here the position itself has weight 0, because `past` has its weight */
        ab_t later = t_concat(c, attn_zeros(c, 1, 1, 1, n), future, -2);
        y = t_binary(c, OP_ADD, y, t_long_conv(c, rows, later, s.offset, 1));
    }
    return t_cast(c, y, c->compute);
}
