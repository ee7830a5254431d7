/* attention_delta.c - ab_delta_scan, ab_dplr_scan: recurrences whose state is a matrix for each sentence and head.
 *
 * Runs as one operation if the backend has it; otherwise, and with `generic`, runs composed (graph/ops_delta.c). A
 * decoding step updates each hypothesis's carried state once, or once per position of its token. */
#include "network/plugin/attention_context.h"
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

ab_t host_solve_lower(ab_ctx *c, ab_t l, ab_t b)
{
    if (!l.id || !b.id) return (ab_t){0};
    const backend *k = c->backend;
    bool one = k && k->kernels[OP_SOLVE_LOWER] && !(c->attn && c->attn->generic);
    return one ? t_solve_lower(c, l, b, 0) : t_solve_lower_composed(c, l, b);
}
