/* attention_scan.c - ab_scan (recurrences over a sentence), ab_pad, ab_pack, decoding states, and finding the sentences
 * of rows. */
#include "network/plugin/attention_context.h"
#include <stdlib.h>
#include <string.h>

/* ---- running sums and scans ---- */

ab_t attn_zeros(ab_ctx *c, int64_t a, int64_t b, int64_t d, int64_t e)
{
    double *v = xcalloc((size_t)(a * b * d * e), sizeof *v);
    ab_t z = t_const(c, (int64_t[4]){a, b, d, e}, v);
    free(v);
    return z;
}

ab_t attn_carried(ab_ctx *c, int64_t a, int64_t b, int64_t d, int64_t e)
{
    const char *name = arena_printf(&c->memory, "carried.%lld", (long long)c->attn->n_carried++);
    return t_state(c, attn_full_name(c, name), c->compute == F64 ? F64 : F32, a, b, d, e);
}

ab_t attn_carried_sum(ab_ctx *c, ab_t now)
{
    if (!now.id) return now;
    node v = *tape_at(c, now);
    ab_t state = attn_carried(c, v.dim[0], v.dim[1], v.dim[2], v.dim[3]);
    ab_t sum = t_binary(c, OP_ADD, t_cache_reorder(c, state, c->attn->parents), now);
    t_state_write(c, state, sum);
    return sum;
}

/* ---- was a value computed from x or from mem? ---- */

enum { FROM_X = 1, FROM_MEM = 2 };

/* Searches all nodes that y depends on, down to x and mem (x may itself depend on mem), or to nodes laid out by the
 * offsets of a side. */
static int sides_of(const ab_ctx *c, ab_t y)
{
    const attn_context *t = c->attn;
    bool *below = xcalloc((size_t)y.id + 1, sizeof *below);
    int found = 0;
    below[y.id] = true;
    for (int32_t i = y.id; i > 0; i--) {
        const node *v = &c->v[i];
        int32_t laid_out = v->op == OP_MERGE                                  ? v->i.MERGE.offsets
                           : v->op == OP_ATTEND || v->op == OP_ATTEND_PROGRAM ? v->i.ATTEND.q_offsets
                                                                              : 0;
        if (!below[i]) continue;
        if (i == t->x.id || laid_out == t->q_off.id)
            found |= FROM_X;
        else if (i == t->mem.id || laid_out == t->k_off.id)
            found |= FROM_MEM;
        else
            for (int k = 0; k < v->n_in; k++) below[v->in[k]] = true;
    }
    free(below);
    return found;
}

typedef struct {
    ab_step f;
    const void *cfg;
    int64_t d;
    int backwards;
    ab_t len, h;
} scan;

static ab_t call_step(ab_ctx *c, ab_step f, const void *cfg, ab_t x_t, ab_t h)
{
    ab_hook before = enter_hook(c, AB_IN_STEP);
    h = tape_given(c, f(c, cfg, x_t, h), "step", "scan");
    c->hook = before;
    return h;
}

/* One time step. A sentence that has ended keeps its state. */
static ab_t scan_step(ab_ctx *c, scan *s, ab_t x_t, int64_t t)
{
    ab_t alive = t_binary(c, OP_LESS_THAN, one_number(c, (double)t), s->len),
         next = call_step(c, s->f, s->cfg, x_t, s->h);
    if (!next.id) return next;
    char shape[64];
    if (tape_at(c, next)->dim[3] != s->d || tape_at(c, next)->dim[2] != tape_at(c, s->h)->dim[2])
        return tape_fail(c, "ab_scan: a step returned %s, expected [%lld,%lld]",
                         shape_text(tape_at(c, next)->dim, shape), (long long)tape_at(c, s->h)->dim[2],
                         (long long)s->d);
    s->h = t_binary(c, OP_ADD, s->h, t_binary(c, OP_MUL, alive, t_binary(c, OP_SUB, next, s->h)));
    return s->h;
}

/* Halves recursively, which limits copies by slices and joins (and gradients) to T log T. x: [1,B,n,w] -> [1,B,n,d] */
static ab_t scan_range(ab_ctx *c, scan *s, ab_t x, int64_t from, int64_t n)
{
    if (!x.id) return x;
    int64_t batch = tape_at(c, x)->dim[1], width = tape_at(c, x)->dim[3];
    if (n == 1) {
        ab_t h = scan_step(c, s, t_reshape(c, x, (int64_t[4]){1, 1, batch, width}), from);
        return h.id ? t_reshape(c, h, (int64_t[4]){1, batch, 1, s->d}) : h;
    }
    int64_t half = n / 2;
    ab_t a = t_slice(c, x, -2, 0, half), b = t_slice(c, x, -2, half, n - half);
    if (s->backwards) {
        b = scan_range(c, s, b, from + half, n - half);
        a = scan_range(c, s, a, from, half);
    } else {
        a = scan_range(c, s, a, from, half);
        b = scan_range(c, s, b, from + half, n - half);
    }
    return t_concat(c, a, b, -2);
}

bool attn_may_scan(ab_ctx *c, ab_t x, int backwards)
{
    if (attn_is_causal(c) && backwards)
        tape_fail(c, "ab_scan: a decoder cannot run backwards over the future");
    else if (!attn_is_self(c) && sides_of(c, x) & FROM_X)
        tape_fail(c, "ab_scan: cross attention can scan only rows from mem; decoding has one position of x per step");
    else
        return true;
    return false;
}

ab_t host_scan(ab_ctx *c, ab_step f, const void *cfg, ab_t x, int64_t d, int backwards)
{
    if (!x.id) return x;
    const attn_context *t = c->attn;
    int64_t *dim = tape_at(c, x)->dim, batch = dim[1], time = dim[2], width = dim[3];
    if (!attn_may_scan(c, x, backwards)) return (ab_t){0};
    if (attn_steps(c)) {
        ab_t state = attn_carried(c, batch, 1, 1, d);
        ab_t h = t_reshape(c, t_cache_reorder(c, state, t->parents), (int64_t[4]){1, 1, batch, d});
        h = call_step(c, f, cfg, t_reshape(c, x, (int64_t[4]){1, 1, batch, width}), h);
        if (!h.id) return h;
        t_state_write(c, state, t_reshape(c, h, (int64_t[4]){batch, 1, 1, d}));
        return t_reshape(c, h, (int64_t[4]){1, batch, 1, d});
    }
    ab_t len = t_reshape(c, t_to_float(c, t->klen), (int64_t[4]){1, 1, batch, 1});
    scan s = {f, cfg, d, backwards, len, attn_zeros(c, 1, 1, batch, d)};
    return scan_range(c, &s, x, 0, time);
}

/* In a decoding step, each hypothesis adds its row of a to the sum that its parent carried. */
ab_t host_running_sum(ab_ctx *c, ab_t a)
{
    if (!a.id) return a;
    const attn_context *t = c->attn;
    int64_t d[4];
    char shape[64];
    memcpy(d, tape_at(c, a)->dim, sizeof d);
    if (d[0] != t->batch || d[2] != t->q_time || (!attn_is_self(c) && sides_of(c, a) != FROM_X))
        return tape_fail(c, "ab_running_sum: %s, expected [%lld,n,%lld,d], made from x", shape_text(d, shape),
                         (long long)t->batch, (long long)t->q_time);
    if (!t->decode) return t_cumsum(c, a);
    int64_t rows = d[0] * d[2];
    ab_t now = t_reshape(c, t_transpose(c, a, -2, -3), (int64_t[4]){rows, 1, d[1], d[3]});
    return t_transpose(c, t_reshape(c, attn_carried_sum(c, now), (int64_t[4]){d[0], d[2], d[1], d[3]}), -2, -3);
}

/* ---- rows and padded sentences ---- */

bool attn_sentences_of(ab_ctx *c, ab_t rows, attn_sentences *s)
{
    const attn_context *t = c->attn;
    int sides = attn_is_self(c) ? FROM_X : sides_of(c, rows);
    if (sides != FROM_X && sides != FROM_MEM) {
        tape_fail(c, "ab_pad: rows from %s have no known sentences", sides ? "both x and mem" : "neither x nor mem");
        return false;
    }
    *s = sides == FROM_X ? (attn_sentences){t->q_off, t->q_rows, t->q_time}
                         : (attn_sentences){t->k_off, t->k_rows, t->k_time};
    return true;
}

ab_t host_pad(ab_ctx *c, ab_t rows)
{
    attn_sentences s;
    if (!rows.id || !attn_sentences_of(c, rows, &s)) return (ab_t){0};
    int64_t n = tape_at(c, rows)->dim[3];
    ab_t y = t_heads(c, rows, s.offset, 0, 1, n, s.time);
    return y.id ? t_reshape(c, y, (int64_t[4]){1, c->attn->batch, s.time, n}) : y;
}

ab_t attn_pack_as(ab_ctx *c, ab_t x, const attn_sentences *s)
{
    if (!x.id) return x;
    int64_t n = tape_at(c, x)->dim[3];
    return t_merge(c, t_reshape(c, x, (int64_t[4]){c->attn->batch, 1, s->time, n}), s->offset, s->rows, 0, n);
}

ab_t host_pack(ab_ctx *c, ab_t x)
{
    if (!x.id) return x;
    const attn_context *t = c->attn;
    node v = *tape_at(c, x);
    char shape[64];
    if (v.dim[0] != 1 || v.dim[1] != t->batch || v.dim[2] != t->q_time)
        return tape_fail(c, "ab_pack: %s, expected [1,%lld,%lld,n]", shape_text(v.dim, shape), (long long)t->batch,
                         (long long)t->q_time);
    return attn_pack_as(c, x, &(attn_sentences){t->q_off, t->q_rows, t->q_time});
}

ab_t host_klen(ab_ctx *c)
{
    const attn_context *t = c->attn;
    return t_reshape(c, t_to_float(c, t->klen), (int64_t[4]){t->batch, 1, 1, 1});
}
