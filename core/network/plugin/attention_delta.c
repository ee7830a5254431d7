/* attention_delta.c - ab_delta_scan, ab_dplr_scan, ab_fenwick_scan: recurrences whose state is one or several matrices
 * for each sentence and head.
 *
 * Runs as one operation if the backend has it; otherwise, and with `generic`, runs composed (graph/ops_delta.c). A
 * decoding step updates each hypothesis's carried state once, or once per position of its token. */
#include "network/plugin/attention_context.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { Q, K, V, BETA, DECAY, DELTA_IN, A = BETA, B, DPLR_DECAY, DPLR_IN };
typedef struct {
    const char *name;
    bool dplr;
    ab_t in[DPLR_IN]; /* q, k, v; then either beta, decay, or with dplr a, b, decay */
    int n;
} delta_scan;

/* The next state, given the state `kept`. */
static ab_t next_state(ab_ctx *c, const delta_scan *s, ab_t kept)
{
    ab_t v = s->in[V], decay = s->in[s->dplr ? DPLR_DECAY : DECAY], change = {0};
    if (s->dplr) change = t_matmul(c, s->in[A], t_matmul(c, s->in[B], kept, 0, 0), 1, 0);
    if (s->dplr) decay = t_transpose(c, decay, -1, -2);
    if (decay.id) kept = t_binary(c, OP_MUL, t_map(c, decay, AB_EXP), kept);
    if (!s->dplr && s->in[BETA].id)
        v = t_binary(c, OP_MUL, s->in[BETA], t_binary(c, OP_SUB, v, t_matmul(c, s->in[K], kept, 0, 0)));
    if (change.id) kept = t_binary(c, OP_ADD, kept, change);
    return t_binary(c, OP_ADD, kept, t_matmul(c, s->in[K], v, 1, 0));
}

/* Decodes one token: updates the state that each hypothesis's parent carried. */
static ab_t one_token(ab_ctx *c, const delta_scan *s, int64_t each)
{
    const int64_t *d = tape_at(c, s->in[K])->dim;
    if (d[2] != each)
        return tape_fail(c, "%s: keys and values must be of this step (ab_key_step, ab_value_step, ab_heads)", s->name);
    ab_t state = attn_carried(c, d[0], d[1], d[3], tape_at(c, s->in[V])->dim[3]);
    ab_t next = t_cache_reorder(c, state, c->attn->parents);
    for (int64_t i = 0; i < each; i++) {
        delta_scan one = *s;
        for (int k = K; k < s->n; k++)
            if (each > 1 && s->in[k].id) one.in[k] = t_slice(c, s->in[k], -2, i, 1);
        next = next_state(c, &one, next);
    }
    t_state_write(c, state, next);
    return t_matmul(c, s->in[Q], next, 0, 0);
}

/* Chooses the operation's chunk length. Products within chunks cost time proportional to the length; states between
 * chunks cost memory and time proportional to the width squared over the length. */
static int64_t chunk_of(ab_ctx *c, ab_t k)
{
    return tape_at(c, k)->dim[3] > DELTA_CHUNK / 2 ? DELTA_CHUNK : DELTA_CHUNK / 2;
}

static ab_t all_positions(ab_ctx *c, const delta_scan *s, int backwards)
{
    const backend *b = c->backend;
    const ab_t *x = s->in;
    bool one = !c->attn->generic && b && b->kernels[s->dplr ? OP_DPLR_SCAN : OP_DELTA_SCAN];
    if (s->dplr && one)
        return t_dplr_scan(c, x[Q], x[K], x[V], x[A], x[B], x[DPLR_DECAY], backwards, chunk_of(c, x[K]));
    if (s->dplr)
        return t_dplr_scan_composed(c, x[Q], x[K], x[V], x[A], x[B], x[DPLR_DECAY], backwards, DELTA_CHUNK / 2);
    if (one) return t_delta_scan(c, x[Q], x[K], x[V], x[BETA], x[DECAY], backwards, chunk_of(c, x[K]));
    return t_delta_scan_composed(c, x[Q], x[K], x[V], x[BETA], x[DECAY], backwards, DELTA_CHUNK);
}
/* Runs a recurrence with `each` positions per token. Only the position that it reaches last is read; the other
 * positions get queries of 0. */
static ab_t all_tokens(ab_ctx *c, delta_scan s, int64_t each, int backwards)
{
    if (each == 1) return all_positions(c, &s, backwards);
    int64_t d[4], width = tape_at(c, s.in[V])->dim[3];
    memcpy(d, tape_at(c, s.in[Q])->dim, sizeof d);
    ab_t q = s.in[Q], none = t_binary(c, OP_LESS_THAN, q, q);
    for (int64_t i = 1; i < each; i++) q = backwards ? t_concat(c, q, none, -1) : t_concat(c, none, q, -1);
    s.in[Q] = t_reshape(c, q, (int64_t[4]){d[0], d[1], d[2] * each, d[3]});
    ab_t y = t_reshape(c, all_positions(c, &s, backwards), (int64_t[4]){d[0], d[1], d[2], each * width});
    return t_slice(c, y, -1, backwards ? 0 : (each - 1) * width, width);
}

/* Broadcasts axes B and H of all inputs. Returns false after an error. */
static bool given(ab_ctx *c, delta_scan *s)
{
    int64_t most[2] = {1, 1};
    if (!s->in[Q].id || !s->in[K].id || !s->in[V].id || c->error.text[0]) return false;
    if (!attn_is_self(c)) {
        tape_fail(c, "%s: expected self-attention; in cross-attention a query has no position among the keys", s->name);
        return false;
    }
    for (int repeats = 0; repeats < 2; repeats++)
        for (int i = 0; i < s->n; i++) {
            if (!s->in[i].id) continue;
            const int64_t *d = tape_at(c, s->in[i])->dim;
            for (int k = 0; k < 2; k++) most[k] = d[k] > most[k] ? d[k] : most[k];
            if (repeats) s->in[i] = t_broadcast_to(c, s->in[i], (int64_t[4]){most[0], most[1], d[2], d[3]});
        }
    return !c->error.text[0];
}

static ab_t run(ab_ctx *c, delta_scan s)
{
    if (!given(c, &s)) return (ab_t){0};
    int64_t tokens = tape_at(c, s.in[Q])->dim[2], positions = tape_at(c, s.in[K])->dim[2];
    int64_t each = s.dplr || positions % tokens ? 1 : positions / tokens;
    if (attn_steps(c)) return one_token(c, &s, each);
    if (each == 1) attn_note_values(c, s.in[V]);
    ab_t y = all_tokens(c, s, each, 0);
    if (c->attn->info.role == AB_CAUSAL || !y.id) return y;
    /* the backward recurrence reads the padding first: padding must neither be stored nor decay the state */
    ab_t real = attn_has_key(c);
    if (each > 1) {
        int64_t batch = tape_at(c, real)->dim[0];
        real = t_broadcast_to(c, real, (int64_t[4]){batch, 1, tokens, each});
        real = t_reshape(c, real, (int64_t[4]){batch, 1, positions, 1});
    }
    int stores = !s.dplr && s.in[BETA].id ? BETA : V;
    s.in[stores] = t_binary(c, OP_MUL, s.in[stores], real);
    if (!s.dplr && s.in[DECAY].id) s.in[DECAY] = t_binary(c, OP_MUL, s.in[DECAY], real);
    return t_binary(c, OP_ADD, y, all_tokens(c, s, each, 1));
}

ab_t host_delta_scan(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t beta, ab_t decay)
{
    return run(c, (delta_scan){"ab_delta_scan", false, {q, k, v, beta, decay}, DELTA_IN});
}
ab_t host_dplr_scan(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t a, ab_t b, ab_t decay)
{
    if (!a.id || !b.id || !decay.id) return (ab_t){0};
    return run(c, (delta_scan){"ab_dplr_scan", true, {q, k, v, a, b, decay}, DPLR_IN});
}

/* ---- a matrix for each bucket of a Fenwick tree: Guo et al. 2025, sections 3.1 and 3.2 ----
 * Position t sees position j in level n, the number of bits of t ^ j: level n > 0 is a block of 2^(n-1) positions. */

enum { DECAYS = BETA, WEIGHTS, FENWICK_IN, NEAR = 64, NEAR_LEVELS = 7 };

static ab_t levels_in_chunk(ab_ctx *c, int64_t chunk, int64_t levels)
{
    int32_t id[NEAR * NEAR];
    for (int64_t i = 0; i < chunk * chunk; i++) {
        int32_t n = 0;
        for (int64_t k = i / chunk ^ i % chunk; k; k >>= 1) n++;
        id[i] = n < levels ? n : (int32_t)levels - 1;
    }
    return t_reshape(c, t_ids(c, chunk * chunk, id), (int64_t[4]){1, 1, chunk, chunk});
}

/* [N,2 n,..] -> [N n,1,..]: the first (0) or second (1) of each pair along an axis of `pairs` */
static ab_t of_pairs(ab_ctx *c, ab_t x, int64_t pairs, int64_t rows, int which)
{
    int64_t width = tape_at(c, x)->dim[3];
    return t_slice(c, t_reshape(c, x, (int64_t[4]){pairs, 2, rows, width}), -3, which, 1);
}

static ab_t levels_at_once(ab_ctx *c, const ab_t *in)
{
    const node d = *tape_at(c, in[V]);
    ab_t x[FENWICK_IN];
    int64_t levels = tape_at(c, in[WEIGHTS])->dim[3], time = d.dim[2], C = time < NEAR ? time : NEAR, n = 1, level;
    while (n * C < time) n *= 2;
    int64_t N = d.dim[0] * d.dim[1];
    for (int i = 0; i < FENWICK_IN; i++) {
        x[i] = t_place(c, in[i], -2, 0, n * C);
        if (i == DECAYS) x[i] = t_cumsum(c, x[i]);
        x[i] = t_reshape(c, x[i], (int64_t[4]){N, n, C, tape_at(c, in[i])->dim[3]});
    }
    ab_t b = x[DECAYS], seen = t_before(c, C, true); /* b: log of the decay since the start */
    ab_t apart = t_binary(c, OP_MUL, seen, t_binary(c, OP_SUB, b, t_transpose(c, b, -1, -2)));
    ab_t w = t_binary(c, OP_MUL, t_map(c, apart, AB_EXP), t_gather(c, x[WEIGHTS], levels_in_chunk(c, C, levels)));
    w = t_binary(c, OP_MUL, t_matmul(c, x[Q], x[K], 0, 1), t_binary(c, OP_MUL, w, seen));
    ab_t y = t_matmul(c, w, x[V], 0, 0), end = t_slice(c, b, -2, C - 1, 1);
    ab_t k = t_binary(c, OP_MUL, x[K], t_map(c, t_binary(c, OP_SUB, end, b), AB_EXP));
    ab_t state = t_matmul(c, k, x[V], 1, 0); /* each chunk's, at its end */
    int64_t d_k = tape_at(c, state)->dim[2];
    for (int64_t half = 1; half < n; half *= 2) { /* queries of a second half read the state at the end of the first */
        int64_t pairs = N * n / (2 * half), rows = half * C;
        for (level = NEAR_LEVELS; half >> (level - NEAR_LEVELS + 1); level++) continue;
        ab_t lambda = t_slice(c, x[WEIGHTS], -1, level < levels ? level : levels - 1, 1);
        ab_t first = of_pairs(c, state, pairs, d_k, 0), at = of_pairs(c, end, pairs, 1, 0);
        ab_t since = t_map(c, t_binary(c, OP_SUB, of_pairs(c, b, pairs, rows, 1), at), AB_EXP);
        ab_t q = t_binary(c, OP_MUL, of_pairs(c, lambda, pairs, rows, 1), since);
        q = t_binary(c, OP_MUL, of_pairs(c, x[Q], pairs, rows, 1), q);
        ab_t read = t_place(c, t_matmul(c, q, first, 0, 0), -3, 1, 2);
        y = t_binary(c, OP_ADD, y, t_reshape(c, read, tape_at(c, y)->dim));
        ab_t kept = t_map(c, t_binary(c, OP_SUB, of_pairs(c, end, pairs, 1, 1), at), AB_EXP);
        state = t_binary(c, OP_ADD, of_pairs(c, state, pairs, d_k, 1), t_binary(c, OP_MUL, kept, first));
        end = of_pairs(c, end, pairs, 1, 1);
    }
    y = t_reshape(c, y, (int64_t[4]){d.dim[0], d.dim[1], n * C, d.dim[3]});
    return n * C == time ? y : t_slice(c, y, -2, 0, time);
}

/* [1,1,1,levels]: 1 where 2^(l - behind) divides the position t. Level 0 with behind = 1: always */
static ab_t divides(ab_ctx *c, ab_t t, int64_t levels, int behind)
{
    double *by = xcalloc(2 * (size_t)levels, sizeof *by), *least = by + levels;
    for (int64_t l = 0; l < levels; l++) {
        by[l] = l < behind ? 0 : ldexp(1, behind - (int)l);
        least[l] = l < behind ? 1 : by[l] / 2;
    }
    const int64_t row[4] = {1, 1, 1, levels};
    ab_t x = t_binary(c, OP_MUL, t, t_const(c, row, by)), rest = t_binary(c, OP_SUB, x, t_map(c, x, AB_FLOOR));
    ab_t y = t_binary(c, OP_LESS_THAN, rest, t_const(c, row, least));
    free(by);
    return y;
}

/* Position t joins the levels up to the first whose block does not divide t in the next level; the top level stays. */
static ab_t levels_of_token(ab_ctx *c, const ab_t *in)
{
    const node k = *tape_at(c, in[K]);
    int64_t d_v = tape_at(c, in[V])->dim[3], levels = tape_at(c, in[WEIGHTS])->dim[3], width = k.dim[3] * d_v;
    if (k.dim[2] != 1)
        return tape_fail(c, "ab_fenwick_scan: keys and values must be of this step (ab_key_step, ab_value_step)");
    ab_t t = t_to_float(c, c->attn->qpos), full = divides(c, t, levels, 1), next = divides(c, t, levels, 0);
    next = t_place(c, t_slice(c, next, -1, 0, levels - 1), -1, 0, levels);
    ab_t joined = t_transpose(c, t_binary(c, OP_SUB, full, next), -1, -2), up_to = t_before(c, levels, true);
    ab_t kept = t_add_scalar(c, t_mul_scalar(c, t_transpose(c, full, -1, -2), -1), 1);
    kept = t_binary(c, OP_MUL, kept, t_binary(c, OP_SUB, up_to, t_before(c, levels, false)));
    ab_t state = attn_carried(c, k.dim[0], k.dim[1], levels, width);
    ab_t moved = t_binary(c, OP_ADD, t_binary(c, OP_MUL, joined, up_to), kept);
    moved = t_matmul(c, moved, t_cache_reorder(c, state, c->attn->parents), 0, 0);
    moved = t_binary(c, OP_MUL, t_map(c, in[DECAYS], AB_EXP), t_slice(c, moved, -2, 1, levels - 1));
    ab_t own = t_reshape(c, t_matmul(c, in[K], in[V], 1, 0), (int64_t[4]){k.dim[0], k.dim[1], 1, width});
    own = t_concat(c, own, moved, -2);
    t_state_write(c, state, own);
    ab_t seen = t_reshape(c, t_matmul(c, in[WEIGHTS], own, 0, 0), (int64_t[4]){k.dim[0], k.dim[1], k.dim[3], d_v});
    return t_matmul(c, in[Q], seen, 0, 0);
}

ab_t host_fenwick_scan(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t decay, ab_t weights)
{
    delta_scan s = {"ab_fenwick_scan", false, {q, k, v, decay, weights}, FENWICK_IN};
    if (!decay.id || !weights.id || !given(c, &s)) return (ab_t){0};
    int64_t levels = tape_at(c, weights)->dim[3], one = tape_at(c, decay)->dim[3];
    if (c->attn->info.role != AB_CAUSAL) return tape_fail(c, "ab_fenwick_scan: expected a decoder's self-attention");
    if (levels < 2 || one != 1)
        return tape_fail(c, "ab_fenwick_scan: log_decay has %lld columns and weights %lld, expected 1 and at least 2",
                         (long long)one, (long long)levels);
    if (attn_steps(c)) return levels_of_token(c, s.in);
    attn_note_values(c, s.in[V]);
    return levels_at_once(c, s.in);
}

ab_t host_solve_lower(ab_ctx *c, ab_t l, ab_t b)
{
    if (!l.id || !b.id) return (ab_t){0};
    const backend *k = c->backend;
    bool one = k && k->kernels[OP_SOLVE_LOWER] && !(c->attn && c->attn->generic);
    return one ? t_solve_lower(c, l, b, 0) : t_solve_lower_composed(c, l, b);
}
