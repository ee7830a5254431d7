/* attention_context.c - the functions of attention. A plugin's forward pass calls them and so also runs as its
 * step-by-step decoder.
 *
 * This file has learned values and projections (one fused product computes queries, keys and values of the same rows),
 * scores, masks and weighted sums. attention_fused.c: attention as one operation. attention_scan.c: recurrences, rows
 * and padded sentences.
 */
#include "network/plugin/attention_context.h"
#include "network/plugin/plugin.h"
#include <math.h>

bool attn_is_causal(const ab_ctx *c) { return c->attn->info.role == AB_CAUSAL; }
bool attn_is_self(const ab_ctx *c) { return c->attn->x.id == c->attn->mem.id; }
bool attn_steps(const ab_ctx *c) { return c->attn->decode && attn_is_causal(c); }

/* ---- parameters and products ---- */

const char *attn_full_name(ab_ctx *c, const char *name)
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
#define OWNER(NAME, owner, doc) AB_##owner,
    static const ab_kind owners[AB_HOOK_COUNT] = {AB_NO_KIND, AB_HOOKS(OWNER)};
    return owners[h];
}

bool attn_claim(ab_ctx *c, const char *name)
{
    const char *full = attn_full_name(c, name);
    ab_kind now = hook_owner(c->hook);
    owned_name **at = &c->names;
    while (*at && !same((*at)->name, full)) at = &(*at)->next;
    if (*at && (*at)->by != now) {
        tape_fail(c, "two owners, the %s and the %s, name a parameter '%s'; rename it in the plugin",
                  plugin_kind_name((*at)->by), plugin_kind_name(now), full);
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
    return t_param(c, attn_full_name(c, name), dim, scale, fill);
}

attn_weights attn_linear_weights(ab_ctx *c, const char *name, int64_t n, int64_t width, int64_t wide, int bias)
{
    char *w_name = arena_printf(&c->memory, "%s.w", name), *b_name = arena_printf(&c->memory, "%s.b", name);
    ab_t w = attn_param(c, w_name, (int64_t[4]){1, 1, n, width}, sqrt(6.0 / (double)(n + wide)), 0);
    if (w.id) c->params->p[tape_at(c, w)->param].fan_in = n;
    return (attn_weights){w, bias ? attn_param(c, b_name, (int64_t[4]){1, 1, 1, width}, 0, 0) : (ab_t){0}};
}

ab_t attn_linear(ab_ctx *c, ab_t x, const char *name, int64_t width, int64_t wide, int bias, int relu)
{
    if (!x.id) return x;
    attn_weights l = attn_linear_weights(c, name, tape_at(c, x)->dim[3], width, wide, bias);
    return t_linear(c, x, l.w, l.b, 0, relu);
}

/* A projection whose learned value belongs to the host, not to the plugin. */
static ab_t linear_of_host(ab_ctx *c, ab_t x, const char *name, int64_t width, int64_t wide)
{
    ab_hook before = enter_hook(c, AB_IN_HOST);
    ab_t y = attn_linear(c, x, name, width, wide, c->attn->bias, 0);
    c->hook = before;
    return y;
}

/* ---- projections ---- */

ab_t attn_offsets(ab_ctx *c, bool query_side) { return query_side ? c->attn->q_off : c->attn->k_off; }

/* One product for all projections of the rows of mem: q, k, v in self-attention, k and v in cross-attention. */
static ab_t joined_product(ab_ctx *c, bool self)
{
    attn_context *k = c->attn;
    if (k->joined.id) return k->joined;
    int64_t K = k->info.heads * k->info.d_k, U = k->info.heads * k->info.d_v;
    int64_t width = self ? 2 * K + U : K + U;
    k->joined = linear_of_host(c, k->mem, self ? "qkv" : "kv", width, k->separate_init ? K : width);
    param *w = params_find(c->params, attn_full_name(c, self ? "qkv.w" : "kv.w"));
    if (w) w->heads = k->info.heads, w->n_parts = 2 + self, w->part[0] = w->part[1] = K, w->part[1 + self] = U;
    return k->joined;
}

/* Appends this step's x to the cache named `of` and returns all steps so far. */
static ab_t cached(ab_ctx *c, ab_t x, const char *of)
{
    attn_context *k = c->attn;
    node v = *tape_at(c, x);
    const char *name = attn_full_name(c, of);
    ab_t cache = t_state(c, name, v.type, 1, k->cache_rows, k->capacity, v.dim[1] * v.dim[3]);
    return t_kv_cache_append(c, x, cache, k->ancestors, k->time, k->seen);
}

ab_t host_heads(ab_ctx *c, ab_t rows, int64_t heads)
{
    attn_sentences s;
    char shape[64];
    if (!rows.id || !attn_sentences_of(c, rows, &s)) return (ab_t){0};
    const int64_t *d = tape_at(c, rows)->dim;
    if (d[0] != 1 || d[1] != 1 || d[2] != s.rows || heads < 1 || d[3] % heads)
        return tape_fail(c, "ab_heads: %s with %lld heads, expected rows [%lld, heads d]", shape_text(d, shape),
                         (long long)heads, (long long)s.rows);
    const node *v = tape_at(c, rows);
    if (v->op == OP_LINEAR && c->v[v->i.LINEAR.w].op == OP_PARAM) c->params->p[c->v[v->i.LINEAR.w].param].heads = heads;
    return t_heads(c, rows, s.offset, 0, heads, d[3] / heads, s.time);
}

/* Applies the position's rotation; works only in self-attention, where queries and keys have the same positions. */
ab_t host_rotate(ab_ctx *c, ab_t x)
{
    const attn_context *k = c->attn;
    if (!x.id || !k->pos || !(k->pos->rotate || k->pos->rotate_by)) return x;
    ab_hook before = enter_hook(c, AB_IN_ROTATE);
    x = k->pos->rotate_by ? k->pos->rotate_by(c, k->pos_cfg, x, k->qpos, k->x)
                          : k->pos->rotate(c, k->pos_cfg, x, k->qpos);
    x = tape_given(c, x, "position", "rotate");
    c->hook = before;
    return x;
}

ab_t host_remember(ab_ctx *c, ab_t x)
{
    attn_context *k = c->attn;
    if (!x.id || !attn_steps(c)) return x;
    const int64_t *d = tape_at(c, x)->dim;
    char shape[64];
    if (d[0] != k->batch || d[2] != 1)
        return tape_fail(c, "ab_remember: %s, expected [%lld,n,1,d], computed from this step only",
                         shape_text(d, shape), (long long)k->batch);
    return cached(c, x, arena_printf(&c->memory, "cache.%lld", (long long)k->n_remembered++));
}

/* Merges the heads of y into rows. If y was split from rows, returns those rows. */
static ab_t merged(ab_ctx *c, ab_t y)
{
    const attn_context *t = c->attn;
    node v = *tape_at(c, y);
    int64_t width = v.dim[1] * v.dim[3];
    bool packed = v.op == OP_HEADS && v.a.HEADS.column == 0 && v.i.HEADS.offsets == t->q_off.id &&
                  c->v[v.i.HEADS.rows].dim[3] == width;
    return packed ? (ab_t){v.i.HEADS.rows} : t_merge(c, y, t->q_off, t->q_rows, 0, width);
}

ab_t host_merge(ab_ctx *c, ab_t y)
{
    const attn_context *k = c->attn;
    char shape[64];
    if (!y.id) return y;
    const int64_t *d = tape_at(c, y)->dim;
    if (d[0] != k->batch || d[2] != k->q_time)
        return tape_fail(c, "ab_merge: %s, expected [%lld,n,%lld,d]", shape_text(d, shape), (long long)k->batch,
                         (long long)k->q_time);
    return merged(c, y);
}

ab_t host_project(ab_ctx *c, ab_t x, ab_projection what)
{
    attn_context *k = c->attn;
    if (!x.id) return x;
    bool query = what == AB_QUERY, value = what == AB_VALUE || what == AB_VALUE_STEP,
         this_step = what == AB_KEY_STEP || what == AB_VALUE_STEP;
    bool self = attn_is_self(c);
    int64_t K = k->info.heads * k->info.d_k, width = value ? k->info.d_v : k->info.d_k;
    if (x.id != k->x.id && x.id != k->mem.id)
        return tape_fail(c, "ab_query, ab_key and ab_value need the rows x or mem passed by the host");
    if (query && x.id != k->x.id) return tape_fail(c, "ab_query needs x, not mem");
    if (!query && x.id != k->mem.id) return tape_fail(c, "ab_key and ab_value need mem, not x");
    ab_t rows;
    int64_t col = 0;
    if (query && !self) {
        rows = linear_of_host(c, x, "q", K, K);
    } else {
        rows = joined_product(c, self);
        col = query ? 0 : (self ? K : 0) + (value ? K : 0);
    }
    bool queries_rows = query || self;
    ab_t y = t_heads(c, rows, attn_offsets(c, queries_rows), col, k->info.heads, width,
                     queries_rows ? k->q_time : k->k_time);
    if (query && k->query_factor) y = t_mul_scalar(c, y, k->query_factor);
    k->queried |= query;
    if (!value) y = host_rotate(c, y);
    if (value) k->value_rows = y;
    return attn_steps(c) && !query && !this_step ? cached(c, y, value ? "v.cache" : "k.cache") : y;
}

/* ---- scores, masks, mixing ---- */

ab_t host_position(ab_ctx *c, ab_t s, ab_t q, ab_t k)
{
    const attn_context *t = c->attn;
    ab_hook before = enter_hook(c, AB_IN_BIAS);
    if (t->pos && t->pos->bias)
        s = t_binary(c, OP_ADD, s, tape_given(c, t->pos->bias(c, t->pos_cfg, t->qpos, t->kpos), "position", "bias"));
    enter_hook(c, AB_IN_SCORES);
    if (t->pos && t->pos->scores)
        s = tape_given(c, t->pos->scores(c, t->pos_cfg, s, q, k, t->qpos, t->kpos), "position", "scores");
    c->hook = before;
    return s;
}

/* Fails if the parametrization scales queries but the plugin computes its own: their scores would ignore d_k. */
bool attn_scales_queries(ab_ctx *c)
{
    const attn_context *t = c->attn;
    if (!t->query_factor || t->queried) return true;
    tape_fail(c,
              "parametrization = mup: base_d_k does not fit attention '%s': only projected queries are scaled, and "
              "this attention makes its own queries",
              t->plugin);
    return false;
}

ab_t host_mask(ab_ctx *c, ab_t s)
{
    if (!attn_scales_queries(c)) return (ab_t){0};
    return t_mask(c, s, c->attn->qpos, c->attn->kpos, c->attn->klen, attn_is_causal(c));
}

ab_t host_scores(ab_ctx *c, ab_t q, ab_t k, double scale)
{
    return host_mask(c, host_position(c, t_mul_scalar(c, t_matmul(c, q, k, 0, 1), scale), q, k));
}

void attn_note_values(ab_ctx *c, ab_t v)
{
    attn_context *t = c->attn;
    t->several_values = t->several_values || (t->values.id && t->values.id != v.id);
    t->values = v;
}

ab_t host_weighted_sum(ab_ctx *c, ab_t p, ab_t v)
{
    attn_context *t = c->attn;
    attn_note_values(c, v);
    ab_t y = attn_fused_sum(c, p, v);
    t->weights = y.id ? p : (ab_t){0};
    if (!y.id) y = t_matmul(c, p, v, 0, 0);
    ab_hook before = enter_hook(c, AB_IN_VALUES);
    if (t->pos && t->pos->values)
        y = attn_fused_values(
            c, y, tape_given(c, t->pos->values(c, t->pos_cfg, y, p, t->qpos, t->kpos), "position", "values"));
    c->hook = before;
    return y;
}

ab_t host_output(ab_ctx *c, ab_t y)
{
    const attn_context *t = c->attn;
    if (!y.id) return y;
    node v = *tape_at(c, y);
    char shape[64];
    bool rows = v.dim[0] == 1 && v.dim[1] == 1 && v.dim[2] == t->q_rows;
    if (!rows && (v.dim[0] != t->batch || v.dim[1] != t->info.heads || v.dim[2] != t->q_time))
        return tape_fail(c, "ab_output: %s, expected [%lld,%lld,%lld,d_v] or rows [%lld,n]", shape_text(v.dim, shape),
                         (long long)t->batch, (long long)t->info.heads, (long long)t->q_time, (long long)t->q_rows);
    return linear_of_host(c, rows ? y : merged(c, y), "o", t->info.d_model, t->info.d_model);
}
