/* attention_fused.c - attention as one operation on packed rows.
 *
 * ab_attend is fused if every head has its own queries, keys and values (rotated, normalised or otherwise transformed)
 * and no hook reads the scores. Otherwise the composed form on [B,H,T,d] runs, which attention_scores.c may fuse.
 */
#include "tensor/graph/score.h"
#include "network/plugin/attention_context.h"

/* The key or value before it was cached; x itself if it is not cached. */
static ab_t before_cache(const ab_ctx *c, ab_t x)
{
    return c->v[x.id].op == OP_KV_CACHE_APPEND ? (ab_t){c->v[x.id].i.KV_CACHE_APPEND.x} : x;
}

typedef struct {
    ab_t rows;
    int64_t col;
} columns; /* adjacent heads of packed rows, from column `col` on */

typedef struct {
    columns of;        /* the projection that is rotated; rows.id 0: x is no rotation */
    ab_t cosine, sine; /* [1,1,T,d] */
} rotation;

static bool is_table(const ab_ctx *c, int32_t x, int64_t time, int64_t width)
{
    const node *v = &c->v[x];
    return !v->needs && v->dim[0] * v->dim[1] == 1 && v->dim[2] == time && v->dim[3] == width;
}

/* Recognises x = h cos + rotate_half(h) sin, where h is a projection: rotary positions with any angles. */
static rotation rotation_of(const ab_ctx *c, ab_t x)
{
    const node *sum = &c->v[x.id], *a = &c->v[sum->i.ADD.a], *b = &c->v[sum->i.ADD.b];
    rotation none = {{{0}, 0}, {0}, {0}};
    if (sum->op == OP_SLICE && sum->a.SLICE.axis == -3) { /* x is a slice of the heads */
        rotation all = rotation_of(c, (ab_t){sum->i.SLICE.x});
        all.of.col += sum->a.SLICE.from * sum->dim[3];
        return all;
    }
    if (!c->backend->kernels[OP_ROTATE] || sum->op != OP_ADD || a->op != OP_MUL || b->op != OP_MUL) return none;
    const node *h = &c->v[a->i.MUL.a], *half = &c->v[b->i.MUL.a];
    if (h->op != OP_HEADS || half->op != OP_ROTATE_HALF || half->i.ROTATE_HALF.x != a->i.MUL.a) return none;
    if (!is_table(c, a->i.MUL.b, h->dim[2], h->dim[3]) || !is_table(c, b->i.MUL.b, h->dim[2], h->dim[3])) return none;
    return (rotation){{{h->i.HEADS.rows}, h->a.HEADS.column}, {a->i.MUL.b}, {b->i.MUL.b}};
}

static bool overlap(columns a, int64_t width, columns b, int64_t b_width)
{
    return a.rows.id == b.rows.id && a.col < b.col + b_width && b.col < a.col + width;
}

/* Do b's columns follow a's, which are `width` wide? */
static bool beside(columns a, int64_t width, columns b) { return a.rows.id == b.rows.id && b.col == a.col + width; }

/* The common rotation of all maps, if their columns, `width` each, are adjacent. */
static rotation rotation_of_maps(const ab_ctx *c, const ab_t *x, int64_t maps, int64_t width)
{
    rotation all = rotation_of(c, x[0]);
    for (int64_t m = 1; m < maps && all.of.rows.id; m++) {
        rotation next = rotation_of(c, x[m]);
        if (!beside(all.of, m * width, next.of) || next.cosine.id != all.cosine.id || next.sine.id != all.sine.id)
            all.of.rows.id = 0;
    }
    return all;
}

/* `rows`, in which these heads are rotated. */
static ab_t turned(ab_ctx *c, ab_t rows, const rotation *r, int64_t heads)
{
    return t_rotate(c, t_cast(c, rows, c->compute), r->cosine, r->sine, c->attn->q_off, r->of.col, heads);
}

/* Finds x as columns of rows: columns of a projection, or else x's heads merged into new rows. In a bf16 run
 * activations of a projection are fp32 and are cast, because kernels read rows of one type. */
static columns columns_of(ab_ctx *c, ab_t x, bool query_side)
{
    node v = *tape_at(c, x), of = v.op == OP_SLICE && v.a.SLICE.axis == -3 ? c->v[v.i.SLICE.x] : v;
    int64_t first = v.op == OP_SLICE ? v.a.SLICE.from : 0;
    if (of.op == OP_HEADS) {
        ab_t rows = t_cast(c, (ab_t){of.i.HEADS.rows}, c->compute);
        return (columns){rows, of.a.HEADS.column + first * of.dim[3]};
    }
    int64_t rows = query_side ? c->attn->q_rows : c->attn->k_rows;
    return (columns){t_merge(c, x, attn_offsets(c, query_side), rows, 0, v.dim[1] * v.dim[3]), 0};
}

static ab_t alone(ab_ctx *c, columns x, int64_t width)
{
    if (!x.rows.id || tape_at(c, x.rows)->dim[3] == width) return x.rows;
    return t_slice(c, x.rows, -1, x.col, width);
}

/* The columns of all maps, `width` each, concatenated if they are not adjacent. */
static columns columns_of_maps(ab_ctx *c, const ab_t *x, int64_t maps, bool query_side, int64_t width)
{
    columns all = columns_of(c, x[0], query_side);
    for (int64_t m = 1; m < maps; m++) {
        columns next = columns_of(c, x[m], query_side);
        if (!beside(all, m * width, next))
            all = (columns){t_concat(c, alone(c, all, m * width), alone(c, next, width), -1), 0};
    }
    return all;
}

/* The decoding cache for these keys and values. Each pair of keys and values in a call has its own cache. */
static ab_t cache_of(ab_ctx *c, ab_t k, ab_t v, int64_t width)
{
    key_value **at = &c->attn->attended;
    int64_t n = 0;
    for (; *at && ((*at)->k != k.id || (*at)->v != v.id); n++) at = &(*at)->next;
    if (!*at) {
        *at = arena_alloc(&c->memory, sizeof **at);
        **at = (key_value){k.id, v.id, NULL};
    }
    const char *name = n ? arena_printf(&c->memory, "kv.cache.%lld", (long long)n) : "kv.cache";
    return t_state(c, attn_full_name(c, name), c->compute, 1, c->attn->cache_rows, c->attn->capacity, width);
}

static bool softmax_only(const score_program *f) { return !f->n_steps && f->weights == WEIGHTS_SOFTMAX && f->sink < 0; }

/* Attends with fused operations. f: score program for one or several maps; NULL: no program. */
static ab_t fused_attend(ab_ctx *c, const ab_t *qs, const ab_t *ks, ab_t v, double scale, const attn_program *f)
{
    attn_context *t = c->attn;
    bool self = attn_is_self(c);
    ab_t q = qs[0], k = ks[0];
    int64_t maps = f && f->f->maps ? f->f->maps : 1, d_k = tape_at(c, q)->dim[3], d_v = tape_at(c, v)->dim[3],
            K = maps * t->info.heads * d_k, U = t->info.heads * d_v;
    columns at_q, at_k, at_v = columns_of(c, v, self);
    rotation turn_q = rotation_of_maps(c, qs, maps, K / maps), turn_k = rotation_of_maps(c, ks, maps, K / maps);
    bool same_rows = turn_q.of.rows.id == turn_k.of.rows.id;
    if (turn_q.of.rows.id && turn_k.of.rows.id && !(same_rows && overlap(turn_q.of, K, turn_k.of, K))) {
        ab_t rows = turned(c, turn_q.of.rows, &turn_q, maps * t->info.heads),
             keys = turned(c, same_rows ? rows : turn_k.of.rows, &turn_k, maps * t->info.heads);
        bool values = overlap(turn_q.of, K, at_v, U) || overlap(turn_k.of, K, at_v, U); /* v in these columns? */
        if (at_v.rows.id == turn_k.of.rows.id && !values) at_v.rows = keys;
        at_q = (columns){same_rows ? keys : rows, turn_q.of.col}, at_k = (columns){keys, turn_k.of.col};
    } else {
        at_q = columns_of_maps(c, qs, maps, true, K / maps);
        at_k = columns_of_maps(c, ks, maps, self, K / maps);
    }
    bool program = f && !(maps == 1 && softmax_only(f->f) && f->f->window < 0 && !f->f->block);
    /* The kernel reads adjacent columns. Other columns are copied, because shared columns would share a gradient. A
     * program may read values from another tensor. */
    bool apart = program && !attn_steps(c) && c->backend->takes_weights && at_v.rows.id != at_k.rows.id &&
                 at_v.rows.id != at_q.rows.id;
    if (!apart && !beside(at_k, K, at_v)) {
        at_k = (columns){t_concat(c, alone(c, at_k, K), alone(c, at_v, U), -1), 0};
        at_v = (columns){at_k.rows, K};
    }
    if (!beside(at_q, K, at_k)) {
        if (attn_steps(c)) { /* in a decoding step, all columns come from a single tensor */
            at_k = (columns){t_concat(c, alone(c, at_q, K), alone(c, at_k, K + U), -1), K};
            at_v = (columns){at_k.rows, 2 * K};
            at_q = (columns){at_k.rows, 0};
        } else if (at_q.rows.id == at_k.rows.id) {
            at_q = (columns){alone(c, at_q, K), 0};
        }
    }
    attend_spec s = {
        {at_q.col, at_k.col, at_v.col},    t->info.heads, d_k,      d_v, scale, f ? f->dropout : t->info.dropout,
        f ? f->causal : attn_is_causal(c), t->k_time,     t->q_time};
    ab_t y;
    if (attn_steps(c)) {
        if (!at_q.rows.id) return (ab_t){0};
        ab_t cache = cache_of(c, k, v, K + U);
        y = f && !softmax_only(f->f) ? t->summed = t_attend_program_step(c, at_q.rows, cache, t->ancestors, t->time, &s,
                                                                         f->f, f->ids, f->leaf)
                                     : t_attend_step(c, at_q.rows, cache, t->ancestors, t->time, &s);
    } else if (program) {
        y = t->summed = t_attend_program(c, at_q.rows, at_k.rows, at_v.rows, t->q_off, t->k_off, &s, f->place, f->f,
                                         f->ids, f->leaf);
    } else {
        y = t_attend(c, at_q.rows, at_k.rows, at_v.rows, t->q_off, t->k_off, &s);
    }
    return t_heads(c, y, t->q_off, 0, t->info.heads, d_v, t->q_time);
}

static bool has_shape(const ab_ctx *c, ab_t x, int64_t time, int64_t width)
{
    const attn_context *t = c->attn;
    const int64_t *d = c->v[x.id].dim;
    return d[0] == t->batch && d[1] == t->info.heads && d[2] == time && d[3] == width;
}

/* Has every head its own queries, keys and values, one per row (in decoding: cached as they are)? */
static bool fusable(const ab_ctx *c, ab_t q, ab_t k, ab_t v)
{
    const attn_context *t = c->attn;
    if (t->generic || (t->pos && (t->pos->bias || t->pos->scores || t->pos->values))) return false;
    ab_t k0 = before_cache(c, k), v0 = before_cache(c, v);
    int64_t time = attn_is_self(c) ? t->q_time : t->k_time;
    return (k0.id != k.id) == attn_steps(c) && (v0.id != v.id) == attn_steps(c) &&
           has_shape(c, q, t->q_time, t->info.d_k) && has_shape(c, k0, time, t->info.d_k) &&
           has_shape(c, v0, time, t->info.d_v);
}

ab_t attn_attend_program(ab_ctx *c, const ab_t *q, const ab_t *k, ab_t v, const attn_program *f)
{
    ab_t keys[SCORE_MAPS];
    for (int m = 0; m == 0 || m < f->f->maps; m++) keys[m] = before_cache(c, k[m]);
    return fused_attend(c, q, keys, before_cache(c, v), f->scale, f);
}

ab_t host_attend(ab_ctx *c, ab_t q, ab_t k, ab_t v, double scale)
{
    if (!q.id || !k.id || !v.id || !attn_scales_queries(c)) return (ab_t){0};
    ab_t key = before_cache(c, k);
    if (fusable(c, q, k, v)) return fused_attend(c, &q, &key, before_cache(c, v), scale, NULL);
    return host_weighted_sum(c, t_dropout(c, host_softmax(c, host_scores(c, q, k, scale)), c->attn->info.dropout), v);
}
