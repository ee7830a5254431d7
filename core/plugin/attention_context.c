/* attention_context.c - the attention context: what makes a plugin's forward pass also its step-by-step decoder.
 *
 * Queries, keys and values come from one fused product where they come from the same rows. ab_attend becomes
 * one fused operation on packed rows where every head has its own queries, keys and values (rotated, normalised,
 * whatever was made of them) and no hook looks at the scores; otherwise the composed form on [B,H,T,d] runs.
 */
#include "plugin/attention_context.h"
#include "graph/score.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_causal(const ab_ctx *c) { return c->attn->info.role == AB_CAUSAL; }
static bool is_self(const ab_ctx *c) { return c->attn->x.id == c->attn->mem.id; }
static bool steps(const ab_ctx *c) { return c->attn->decode && is_causal(c); }
bool attn_steps(const ab_ctx *c) { return steps(c); }

/* ---- parameters and products ---- */

static const char *full_name(ab_ctx *c, const char *name)
{
    return arena_printf(&c->memory, "%s%s%s", c->scope, *c->scope ? "." : "", name);
}

ab_hook enter_hook(ab_ctx *c, ab_hook next)
{
    ab_hook before = c->hook;
    c->hook = next;
    return before;
}

ab_kind hook_owner(ab_hook h)
{
    switch (h) {
    case AB_IN_FORWARD:
    case AB_IN_STEP: return AB_ATTENTION;
    case AB_IN_FEED_FORWARD: return AB_FEED_FORWARD;
    case AB_IN_NORM:
    case AB_IN_ADD_NORM: return AB_NORM;
    case AB_IN_BLOCK:
    case AB_IN_FINISH: return AB_BLOCK;
    default: return h >= AB_IN_EMBED && h <= AB_IN_VALUES ? AB_POSITION : AB_NO_KIND;
    }
}

bool attn_claim(ab_ctx *c, const char *name)
{
#define KIND_NAME(NAME, name, doc) #name,
    static const char *const owners[AB_KIND_COUNT] = {"host", AB_KINDS(KIND_NAME)};
    const char *full = full_name(c, name);
    ab_kind now = hook_owner(c->hook);
    owned_name **at = &c->names;
    while (*at && !same((*at)->name, full)) at = &(*at)->next;
    if (*at && (*at)->by != now) {
        tape_fail(c, "two owners, the %s and the %s, name a parameter '%s': the plugin needs another name",
                  owners[(*at)->by], owners[now], full);
        return false;
    }
    if (*at) return true;
    *at = arena_alloc(&c->memory, sizeof **at);
    **at = (owned_name){full, now, NULL};
    return true;
}

ab_t attn_param(ab_ctx *c, const char *name, const int64_t dim[4], double scale, double fill)
{
    if (c->attn && !attn_claim(c, name)) return (ab_t){0};
    return t_param(c, full_name(c, name), dim, scale, fill);
}

attn_weights attn_linear_weights(ab_ctx *c, const char *name, int64_t n, int64_t width, int64_t wide, int bias)
{
    char *w_name = arena_printf(&c->memory, "%s.w", name), *b_name = arena_printf(&c->memory, "%s.b", name);
    ab_t w = attn_param(c, w_name, (int64_t[4]){1, 1, n, width}, sqrt(6.0 / (double)(n + wide)), 0);
    return (attn_weights){w, bias ? attn_param(c, b_name, (int64_t[4]){1, 1, 1, width}, 0, 0) : (ab_t){0}};
}

ab_t attn_linear(ab_ctx *c, ab_t x, const char *name, int64_t width, int64_t wide, int bias, int relu)
{
    if (!x.id) return x;
    attn_weights l = attn_linear_weights(c, name, tape_at(c, x)->dim[3], width, wide, bias);
    return t_linear(c, x, l.w, l.b, 0, relu);
}

/* A product of the context's own. */
static ab_t host_linear(ab_ctx *c, ab_t x, const char *name, int64_t width, int64_t wide)
{
    ab_hook before = enter_hook(c, AB_IN_HOST);
    ab_t y = attn_linear(c, x, name, width, wide, c->attn->bias, 0);
    c->hook = before;
    return y;
}

/* ---- projections ---- */

static ab_t offsets(ab_ctx *c, bool query_side) { return query_side ? c->attn->q_off : c->attn->k_off; }

/* All that comes from the rows of mem in one product: q, k, v in self attention, k and v in cross attention.
 */
static ab_t joined_product(ab_ctx *c, bool self)
{
    attn_context *k = c->attn;
    if (k->joined.id) return k->joined;
    int64_t K = k->info.heads * k->info.d_k, U = k->info.heads * k->info.d_v;
    int64_t width = self ? 2 * K + U : K + U;
    k->joined = host_linear(c, k->mem, self ? "qkv" : "kv", width, k->separate_init ? K : width);
    param *w = params_find(c->params, full_name(c, self ? "qkv.w" : "kv.w"));
    if (w) w->n_parts = 2 + self, w->part[0] = w->part[1] = K, w->part[1 + self] = U;
    return k->joined;
}

/* x of this step behind those of the steps before, kept under this name. */
static ab_t cached(ab_ctx *c, ab_t x, const char *of)
{
    attn_context *k = c->attn;
    node v = *tape_at(c, x);
    const char *name = full_name(c, of);
    ab_t cache = t_state(c, name, v.type, 1, v.dim[0], k->capacity, v.dim[1] * v.dim[3]);
    return t_kv_cache_append(c, x, cache, k->ancestors, k->time, k->seen);
}

ab_t attn_heads(ab_ctx *c, ab_t rows, int64_t heads)
{
    attn_sentences s;
    char shape[64];
    if (!rows.id || !attn_sentences_of(c, rows, &s)) return (ab_t){0};
    const int64_t *d = tape_at(c, rows)->dim;
    if (d[0] != 1 || d[1] != 1 || d[2] != s.rows || heads < 1 || d[3] % heads)
        return tape_fail(c, "ab_heads: %s in %lld heads, expected rows [%lld, heads d]", shape_text(d, shape), (long long)heads,
                         (long long)s.rows);
    return t_heads(c, rows, s.offset, 0, heads, d[3] / heads, s.time);
}

/* Only self attention has rotations: the position of a query is that of its key. */
ab_t attn_rotate(ab_ctx *c, ab_t x)
{
    const attn_context *k = c->attn;
    if (!x.id || !k->pos || !k->pos->rotate) return x;
    ab_hook before = enter_hook(c, AB_IN_ROTATE);
    x = tape_given(c, k->pos->rotate(c, k->pos_cfg, x, k->qpos), "position", "rotate");
    c->hook = before;
    return x;
}

ab_t attn_remember(ab_ctx *c, ab_t x)
{
    attn_context *k = c->attn;
    if (!x.id || !steps(c)) return x;
    const int64_t *d = tape_at(c, x)->dim;
    char shape[64];
    if (d[0] != k->batch || d[2] != 1)
        return tape_fail(c, "ab_remember: %s, expected [%lld,n,1,d]: what is made of this step alone", shape_text(d, shape), (long long)k->batch);
    return cached(c, x, arena_printf(&c->memory, "cache.%lld", (long long)k->n_remembered++));
}

ab_t attn_merge(ab_ctx *c, ab_t y)
{
    const attn_context *k = c->attn;
    char shape[64];
    if (!y.id) return y;
    const int64_t *d = tape_at(c, y)->dim;
    if (d[0] != k->batch || d[2] != k->q_time)
        return tape_fail(c, "ab_merge: %s, expected [%lld,n,%lld,d]", shape_text(d, shape), (long long)k->batch, (long long)k->q_time);
    return t_merge(c, y, k->q_off, k->q_rows, 0, d[1] * d[3]);
}

ab_t attn_project(ab_ctx *c, ab_t x, ab_projection what)
{
    attn_context *k = c->attn;
    if (!x.id) return x;
    bool query = what == AB_QUERY, value = what == AB_VALUE || what == AB_VALUE_STEP, this_step = what == AB_KEY_STEP || what == AB_VALUE_STEP;
    bool self = is_self(c);
    int64_t K = k->info.heads * k->info.d_k, width = value ? k->info.d_v : k->info.d_k;
    if (x.id != k->x.id && x.id != k->mem.id)
        return tape_fail(c, "query, key and value are taken from the rows x or mem that the host gave");
    if (query && x.id != k->x.id) return tape_fail(c, "queries come from x, not from mem");
    if (!query && x.id != k->mem.id) return tape_fail(c, "keys and values come from mem, not from x");
    ab_t rows;
    int64_t col = 0;
    if (query && !self) {
        rows = host_linear(c, x, "q", K, K);
    } else {
        rows = joined_product(c, self);
        col = query ? 0 : (self ? K : 0) + (value ? K : 0);
    }
    bool queries_rows = query || self;
    ab_t y = t_heads(c, rows, offsets(c, queries_rows), col, k->info.heads, width,
                     queries_rows ? k->q_time : k->k_time);
    if (!value) y = attn_rotate(c, y);
    return steps(c) && !query && !this_step ? cached(c, y, value ? "v.cache" : "k.cache") : y;
}

/* ---- scores, masks, mixing ---- */

ab_t attn_position(ab_ctx *c, ab_t s, ab_t q, ab_t k)
{
    const attn_context *t = c->attn;
    ab_hook before = enter_hook(c, AB_IN_BIAS);
    if (t->pos && t->pos->bias) s = t_binary(c, OP_ADD, s, tape_given(c, t->pos->bias(c, t->pos_cfg, t->qpos, t->kpos), "position", "bias"));
    enter_hook(c, AB_IN_SCORES);
    if (t->pos && t->pos->scores) s = tape_given(c, t->pos->scores(c, t->pos_cfg, s, q, k, t->qpos, t->kpos), "position", "scores");
    c->hook = before;
    return s;
}

ab_t attn_mask(ab_ctx *c, ab_t s)
{
    return t_mask(c, s, c->attn->qpos, c->attn->kpos, c->attn->klen, is_causal(c));
}

ab_t attn_scores(ab_ctx *c, ab_t q, ab_t k, double scale)
{
    return attn_mask(c, attn_position(c, t_mul_scalar(c, t_matmul(c, q, k, 0, 1), scale), q, k));
}

ab_t attn_softmax(ab_ctx *c, ab_t s)
{
    const attn_context *t = c->attn;
    ab_t p = t_softmax(c, s);
    if (!p.id || !t || !t->keep_weights) return p;
    const int64_t *d = tape_at(c, p)->dim;
    if (d[0] == t->batch && d[1] == t->info.heads && d[2] == t->q_time && d[3] == t->k_time)
        t_keep(c, p, full_name(c, "weights"));
    return p;
}

ab_t attn_weighted_sum(ab_ctx *c, ab_t p, ab_t v)
{
    attn_context *t = c->attn;
    ab_t y = attn_fused_sum(c, p, v);
    t->weights = y.id ? p : (ab_t){0};
    if (!y.id) y = t_matmul(c, p, v, 0, 0);
    ab_hook before = enter_hook(c, AB_IN_VALUES);
    if (t->pos && t->pos->values) y = tape_given(c, t->pos->values(c, t->pos_cfg, y, p, t->qpos, t->kpos), "position", "values");
    c->hook = before;
    return y;
}

/* ---- fused attention ---- */

/* What was cached behind a key or value, or the value itself. */
static ab_t before_cache(const ab_ctx *c, ab_t x)
{
    return c->v[x.id].op == OP_KV_CACHE_APPEND ? (ab_t){c->v[x.id].in[0]} : x;
}

typedef struct {
    ab_t rows;
    int64_t col;
} columns; /* of packed rows: the heads of a query, key or value side by side */

/* A projection's own columns, or what has been made of them since, brought back into rows. */
static columns columns_of(ab_ctx *c, ab_t x, bool query_side)
{
    node v = *tape_at(c, x);
    if (v.op == OP_HEADS) return (columns){{v.in[0]}, v.a.i[0]};
    int64_t rows = query_side ? c->attn->q_rows : c->attn->k_rows;
    return (columns){t_merge(c, x, offsets(c, query_side), rows, 0, v.dim[1] * v.dim[3]), 0};
}

static ab_t alone(ab_ctx *c, columns x, int64_t width)
{
    if (!x.rows.id || tape_at(c, x.rows)->dim[3] == width) return x.rows;
    return t_slice(c, x.rows, -1, x.col, width);
}

/* b behind a, which is `width` columns wide? */
static bool beside(columns a, int64_t width, columns b) { return a.rows.id == b.rows.id && b.col == a.col + width; }

/* What decoding keeps of these keys and values. Other ones of the same call have a cache of their own. */
static ab_t cache_of(ab_ctx *c, ab_t k, ab_t v, int64_t rows, int64_t width)
{
    key_value **at = &c->attn->attended;
    int64_t n = 0;
    for (; *at && ((*at)->k != k.id || (*at)->v != v.id); n++) at = &(*at)->next;
    if (!*at) {
        *at = arena_alloc(&c->memory, sizeof **at);
        **at = (key_value){k.id, v.id, NULL};
    }
    const char *name = n ? arena_printf(&c->memory, "kv.cache.%lld", (long long)n) : "kv.cache";
    return t_state(c, full_name(c, name), c->compute, 1, rows, c->attn->capacity, width);
}

/* f: NULL, or what is done to the scores. */
static ab_t fused_attend(ab_ctx *c, ab_t q, ab_t k, ab_t v, double scale, const attn_program *f)
{
    attn_context *t = c->attn;
    bool self = is_self(c);
    int64_t K = t->info.heads * t->info.d_k, U = t->info.heads * t->info.d_v;
    columns at_q = columns_of(c, q, true), at_k = columns_of(c, k, self), at_v = columns_of(c, v, self);
    /* As they are projected, columns stand side by side. All others are copied so, for shared ones would also share a gradient. */
    if (!beside(at_k, K, at_v)) {
        at_k = (columns){t_concat(c, alone(c, at_k, K), alone(c, at_v, U), -1), 0};
        at_v = (columns){at_k.rows, K};
    }
    if (!beside(at_q, K, at_k)) {
        if (steps(c)) { /* one tensor is wanted */
            at_k = (columns){t_concat(c, alone(c, at_q, K), alone(c, at_k, K + U), -1), K};
            at_v = (columns){at_k.rows, 2 * K};
            at_q = (columns){at_k.rows, 0};
        } else if (at_q.rows.id == at_k.rows.id) {
            at_q = (columns){alone(c, at_q, K), 0};
        }
    }
    attend_spec s = {{at_q.col, at_k.col, at_v.col},
                     t->info.heads,
                     t->info.d_k,
                     t->info.d_v,
                     scale,
                     f ? f->dropout : t->info.dropout,
                     f ? f->causal : is_causal(c),
                     t->k_time,
                     t->q_time};
    ab_t y;
    if (steps(c)) {
        if (!at_q.rows.id) return (ab_t){0};
        ab_t cache = cache_of(c, k, v, tape_at(c, at_q.rows)->dim[2], K + U);
        y = f && f->f->n_steps ? t->summed = t_attend_program_step(c, at_q.rows, cache, t->ancestors, t->time, &s, f->f, f->ids, f->leaf)
                               : t_attend_step(c, at_q.rows, cache, t->ancestors, t->time, &s);
    } else if (f && f->f->n_steps) {
        y = t->summed = t_attend_program(c, at_q.rows, at_k.rows, at_v.rows, t->q_off, t->k_off, &s, f->place, f->f, f->ids, f->leaf);
    } else {
        y = t_attend(c, at_q.rows, at_k.rows, at_v.rows, t->q_off, t->k_off, &s);
    }
    return t_heads(c, y, t->q_off, 0, t->info.heads, t->info.d_v, t->q_time);
}

static bool has_shape(const ab_ctx *c, ab_t x, int64_t time, int64_t width)
{
    const attn_context *t = c->attn;
    const int64_t *d = c->v[x.id].dim;
    return d[0] == t->batch && d[1] == t->info.heads && d[2] == time && d[3] == width;
}

/* Every head has its own queries, keys and values, one each for every row; in decoding the past is cached as it is. */
static bool fusable(const ab_ctx *c, ab_t q, ab_t k, ab_t v)
{
    const attn_context *t = c->attn;
    if (t->generic || (t->pos && (t->pos->bias || t->pos->scores || t->pos->values))) return false;
    ab_t k0 = before_cache(c, k), v0 = before_cache(c, v);
    int64_t time = is_self(c) ? t->q_time : t->k_time;
    return (k0.id != k.id) == steps(c) && (v0.id != v.id) == steps(c) && has_shape(c, q, t->q_time, t->info.d_k) &&
           has_shape(c, k0, time, t->info.d_k) && has_shape(c, v0, time, t->info.d_v);
}

ab_t attn_attend_program(ab_ctx *c, ab_t q, ab_t k, ab_t v, const attn_program *f)
{
    return fused_attend(c, q, before_cache(c, k), before_cache(c, v), f->scale, f);
}

ab_t attn_attend(ab_ctx *c, ab_t q, ab_t k, ab_t v, double scale)
{
    if (!q.id || !k.id || !v.id) return (ab_t){0};
    if (fusable(c, q, k, v)) return fused_attend(c, q, before_cache(c, k), before_cache(c, v), scale, NULL);
    return attn_weighted_sum(c, t_dropout(c, attn_softmax(c, attn_scores(c, q, k, scale)), c->attn->info.dropout), v);
}

ab_t attn_output(ab_ctx *c, ab_t y)
{
    const attn_context *t = c->attn;
    if (!y.id) return y;
    node v = *tape_at(c, y);
    char shape[64];
    if (v.dim[0] != t->batch || v.dim[1] != t->info.heads || v.dim[2] != t->q_time)
        return tape_fail(c, "ab_output: %s, expected [%lld,%lld,%lld,d_v]", shape_text(v.dim, shape),
                         (long long)t->batch, (long long)t->info.heads, (long long)t->q_time);
    bool packed = v.op == OP_HEADS && v.a.i[0] == 0 && v.in[1] == t->q_off.id &&
                  c->v[v.in[0]].dim[3] == v.dim[1] * v.dim[3];
    ab_t rows = packed ? (ab_t){v.in[0]} : t_merge(c, y, t->q_off, t->q_rows, 0, v.dim[1] * v.dim[3]);
    return host_linear(c, rows, "o", t->info.d_model, t->info.d_model);
}

/* ---- running sums and scans ---- */

static ab_t zeros(ab_ctx *c, int64_t a, int64_t b)
{
    double *v = xcalloc((size_t)(a * b), sizeof *v);
    ab_t z = t_const(c, (int64_t[4]){1, 1, a, b}, v);
    free(v);
    return z;
}

ab_t attn_carried(ab_ctx *c, int64_t a, int64_t b, int64_t d, int64_t e)
{
    const char *name = arena_printf(&c->memory, "carried.%lld", (long long)c->attn->n_carried++);
    return t_state(c, full_name(c, name), c->compute == F64 ? F64 : F32, a, b, d, e);
}

/* ---- the side that rows, and what was made of them, belong to ---- */

enum { FROM_X = 1, FROM_MEM = 2 };

/* Looks at all below y, down to the rows x and mem (which may itself lie below x) and to what was laid out by a side's offsets. */
static int sides_of(const ab_ctx *c, ab_t y)
{
    const attn_context *t = c->attn;
    bool *below = xcalloc((size_t)y.id + 1, sizeof *below);
    int found = 0;
    below[y.id] = true;
    for (int32_t i = y.id; i > 0; i--) {
        const node *v = &c->v[i];
        int32_t laid_out = v->op == OP_MERGE ? v->in[1] : v->op == OP_ATTEND || v->op == OP_ATTEND_PROGRAM ? v->in[3] : 0;
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

/* One time step; where a sentence has ended already, the state passes on unchanged. */
static ab_t scan_step(ab_ctx *c, scan *s, ab_t x_t, int64_t t)
{
    ab_t at = t_const(c, (int64_t[4]){1, 1, 1, 1}, (double[]){(double)t});
    ab_t alive = t_binary(c, OP_LESS_THAN, at, s->len), next = call_step(c, s->f, s->cfg, x_t, s->h);
    if (!next.id) return next;
    char shape[64];
    if (tape_at(c, next)->dim[3] != s->d || tape_at(c, next)->dim[2] != tape_at(c, s->h)->dim[2])
        return tape_fail(c, "ab_scan: a step gave %s, expected [%lld,%lld]",
                         shape_text(tape_at(c, next)->dim, shape), (long long)tape_at(c, s->h)->dim[2],
                         (long long)s->d);
    s->h = t_binary(c, OP_ADD, s->h, t_binary(c, OP_MUL, alive, t_binary(c, OP_SUB, next, s->h)));
    return s->h;
}

/* Halving keeps the copies of slices and joins, and of their gradients, at T log T. x: [1,B,n,w] -> [1,B,n,d]
 */
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
    if (is_causal(c) && backwards)
        tape_fail(c, "ab_scan: a decoder cannot run backwards over the future");
    else if (!is_self(c) && sides_of(c, x) & FROM_X)
        tape_fail(c, "ab_scan: cross attention scans over what comes from mem; of x there is one place a step in decoding");
    else
        return true;
    return false;
}

ab_t attn_scan(ab_ctx *c, ab_step f, const void *cfg, ab_t x, int64_t d, int backwards)
{
    if (!x.id) return x;
    const attn_context *t = c->attn;
    int64_t *dim = tape_at(c, x)->dim, batch = dim[1], time = dim[2], width = dim[3];
    if (!attn_may_scan(c, x, backwards)) return (ab_t){0};
    if (steps(c)) {
        ab_t state = attn_carried(c, batch, 1, 1, d);
        ab_t h = t_reshape(c, t_cache_reorder(c, state, t->parents), (int64_t[4]){1, 1, batch, d});
        h = call_step(c, f, cfg, t_reshape(c, x, (int64_t[4]){1, 1, batch, width}), h);
        if (!h.id) return h;
        t_state_write(c, state, t_reshape(c, h, (int64_t[4]){batch, 1, 1, d}));
        return t_reshape(c, h, (int64_t[4]){1, batch, 1, d});
    }
    ab_t len = t_reshape(c, t_to_float(c, t->klen), (int64_t[4]){1, 1, batch, 1});
    scan s = {f, cfg, d, backwards, len, zeros(c, batch, d)};
    return scan_range(c, &s, x, 0, time);
}

/* ---- rows and padded sentences ---- */

bool attn_sentences_of(ab_ctx *c, ab_t rows, attn_sentences *s)
{
    const attn_context *t = c->attn;
    int sides = is_self(c) ? FROM_X : sides_of(c, rows);
    if (sides != FROM_X && sides != FROM_MEM) {
        tape_fail(c, "ab_pad: rows that come from %s: their sentences are not known",
                  sides ? "both x and mem" : "neither x nor mem");
        return false;
    }
    *s = sides == FROM_X ? (attn_sentences){t->q_off, t->q_rows, t->q_time}
                         : (attn_sentences){t->k_off, t->k_rows, t->k_time};
    return true;
}

ab_t attn_pad(ab_ctx *c, ab_t rows)
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

ab_t attn_pack(ab_ctx *c, ab_t x)
{
    if (!x.id) return x;
    const attn_context *t = c->attn;
    node v = *tape_at(c, x);
    char shape[64];
    if (v.dim[0] != 1 || v.dim[1] != t->batch || v.dim[2] != t->q_time)
        return tape_fail(c, "ab_pack: %s, expected [1,%lld,%lld,n]", shape_text(v.dim, shape),
                         (long long)t->batch, (long long)t->q_time);
    return attn_pack_as(c, x, &(attn_sentences){t->q_off, t->q_rows, t->q_time});
}

ab_t attn_klen(ab_ctx *c)
{
    const attn_context *t = c->attn;
    return t_reshape(c, t_to_float(c, t->klen), (int64_t[4]){t->batch, 1, 1, 1});
}
