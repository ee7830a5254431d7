/* attend.c - ATTEND and ATTEND_BACK: distributes the work over threads by sentence and head. */
#include "tensor/cpu/attend.h"
#include "tensor/cpu/tiles.h"
#include "tensor/cpu/generic.h"
#include "tensor/cpu/vectors.h"

#define OF_EACH_REAL "tensor/cpu/attend.inc"
#include "tensor/cpu/each_real.h"

/* ---- sharing out work: contiguous ranges of (sentence, head) of about equal cost ---- */

static attend_item item_of(const attend_args *a, int64_t b, int64_t h)
{
    return (attend_item){.sentence = b,
                         .head = h,
                         .q0 = a->q_off[b],
                         .nq = a->q_off[b + 1] - a->q_off[b],
                         .k0 = a->k_off[b],
                         .nk = a->k_off[b + 1] - a->k_off[b]};
}
static double cost_of(const attend_args *a, int64_t b)
{
    enum { SETUP = 16 }; /* fixed cost of a row, counted in keys */
    attend_item it = item_of(a, b, 0);
    double nq = (double)it.nq, nk = (double)it.nk;
    return nq * (nk + SETUP) + nk * SETUP;
}

/* Prefetches the next item's rows: one head's rows lie too far apart for the processor's prefetcher. */
static void prefetch(const columns *x, int64_t first, int64_t rows, int64_t h, int64_t width, size_t one)
{
    enum { LINE = 64, MOST_ROWS = 128 };
    if (!x->data || rows > MOST_ROWS) return;
    const char *p = (const char *)x->data + (size_t)(first * x->stride + h * width) * one;
    size_t bytes = (size_t)width * one, skip = (size_t)x->stride * one;
    for (int64_t r = 0; r < rows; r++, p += skip)
        for (size_t i = 0; i < bytes; i += LINE) __builtin_prefetch(p + i);
}
static void prefetch_next(const attend_args *a, const attend_item *it, size_t one)
{
    int64_t b = it->sentence, h = it->head + 1;
    if (h == a->heads) b++, h = 0;
    if (b == a->n_sentences) return;
    attend_item next = item_of(a, b, h);
    prefetch(&a->k, next.k0, next.nk, h, a->d_k, one);
    prefetch(&a->v, next.k0, next.nk, h, a->d_v, one);
    prefetch(&a->q, next.q0, next.nq, h, a->d_k, one);
    prefetch(&a->dy, next.q0, next.nq, h, a->d_v, one);
}

typedef void (*attend_work)(const attend_args *a, const attend_item *it);

static void for_each_item(const attend_args *a, attend_work work)
{
    double total = 0;
    bool tiles = work == attend_tiles || work == attend_tiles_back;
    for (int64_t b = 0; b < a->n_sentences; b++) total += cost_of(a, b);
    total *= (double)a->heads;
#pragma omp parallel
    {
        if (tiles) tiles_begin();
        double before = 0, from = total * omp_get_thread_num() / omp_get_num_threads();
        double to = total * (omp_get_thread_num() + 1) / omp_get_num_threads();
        for (int64_t b = 0; b < a->n_sentences; b++) {
            attend_item it = item_of(a, b, 0);
            double cost = cost_of(a, b);
            for (; it.head < a->heads; it.head++, before += cost) {
                double middle = before + cost / 2;
                if (it.nq + it.nk == 0 || middle < from || middle >= to) continue;
                if (tiles) prefetch_next(a, &it, sizeof(uint16_t));
                work(a, &it);
            }
        }
        if (tiles) tiles_end();
    }
}

/* Calls `work` for every unit (chunk of sentences, head). One thread computes a unit, so its sums have one order. */
static void for_each_unit(const attend_args *a, attend_work work)
{
    int64_t chunks = a->score->chunks;
#pragma omp parallel for schedule(dynamic)
    for (int64_t u = 0; u < chunks * a->heads; u++)
        for (int64_t b = 0; b < a->n_sentences; b++) {
            attend_item it = item_of(a, b, u % a->heads);
            if (chunk_of(a->score, b, a->n_sentences) == u / a->heads && it.nq + it.nk) work(a, &it);
        }
}

static void zero_rows(void *data, int64_t from, int64_t rows, int64_t width, dtype type)
{
    size_t one = (size_t)width * dtype_size(type);
    if (rows > from) memset((char *)data + (size_t)from * one, 0, (size_t)(rows - from) * one);
}

static columns columns_of(const view *v, int64_t first)
{
    return (columns){(char *)v->data + (size_t)first * dtype_size(v->type), width_of(v)};
}

static attend_args args_of(const call *k)
{
    const attr *t = &k->a;
    return (attend_args){.n_sentences = k->i.ATTEND.q_offsets.dim[3] - 1,
                         .heads = t->ATTEND.heads,
                         .maps = t->ATTEND.maps > 1 ? t->ATTEND.maps : 1,
                         .d_k = t->ATTEND.d_k,
                         .d_v = t->ATTEND.d_v,
                         .q_off = k->i.ATTEND.q_offsets.data,
                         .k_off = k->i.ATTEND.k_offsets.data,
                         .rows = rows_as(k->i.ATTEND.q.type),
                         .q = columns_of(&k->i.ATTEND.q, t->ATTEND.q_column),
                         .k = columns_of(&k->i.ATTEND.k, t->ATTEND.k_column),
                         .v = columns_of(&k->i.ATTEND.v, t->ATTEND.v_column),
                         .causal = t->ATTEND.causal != 0,
                         .scale = t->ATTEND.scale,
                         .drop = dropout_of(k, t->ATTEND.p, t->ATTEND.place)};
}

static int check_offsets(const call *k, const attend_args *a, err *e)
{
    int64_t b = a->n_sentences;
    for (int64_t i = 0; i < b; i++) {
        if (a->q_off[i] <= a->q_off[i + 1] && a->k_off[i] <= a->k_off[i + 1]) continue;
        return fail(e, "attention: offsets of sentence %lld go backwards", (long long)i);
    }
    if (a->q_off[b] > rows_of(&k->i.ATTEND.q) || a->k_off[b] > rows_of(&k->i.ATTEND.k))
        return fail(e, "attention: offsets end at rows %d and %d, but there are %lld and %lld rows", a->q_off[b],
                    a->k_off[b], (long long)rows_of(&k->i.ATTEND.q), (long long)rows_of(&k->i.ATTEND.k));
    return 0;
}

static int forward(const call *k, attend_args a, err *e)
{
    dtype type = k->o.ATTEND.y.type;
    if (k->i.ATTEND.q.type != type || k->i.ATTEND.k.type != type || k->i.ATTEND.v.type != type) return wrong_type(k, e);
    if (check_offsets(k, &a, e)) return -1;
    a.y = columns_of(&k->o.ATTEND.y, 0);
    a.lse = k->o.ATTEND.lse.data;
    attend_work work = type == F64                                  ? attend_f64
                       : type == BF16 && tiles_usable() && !a.score ? attend_tiles
                                                                    : attend_f32;
    for_each_item(&a, work);
    zero_rows(k->o.ATTEND.y.data, a.q_off[a.n_sentences], rows_of(&k->o.ATTEND.y), width_of(&k->o.ATTEND.y), type);
    zero_rows(a.lse, a.q_off[a.n_sentences], rows_of(&k->o.ATTEND.y), a.maps * a.heads, k->o.ATTEND.lse.type);
    return 0;
}

/* Zeroes the whole gradient if some of its columns are not computed, else only the rows without a token. */
static void zero_gradient(const view *d, int64_t columns, int64_t used)
{
    zero_rows(d->data, columns == width_of(d) ? used : 0, rows_of(d), width_of(d), d->type);
}

/* lse, dy: views of these inputs. dv: a view of v's gradient if v is a tensor of its own, else a view without data. */
static int backward(const call *k, attend_args a, const view *lse, const view *dy, const view *dv, err *e)
{
    dtype type = k->i.ATTEND_BACK.q.type;
    if (check_offsets(k, &a, e)) return -1;
    const view *q = &k->o.ATTEND_BACK.dq, *kv = k->o.ATTEND_BACK.dkv.data ? &k->o.ATTEND_BACK.dkv : q;
    a.lse = lse->data;
    a.dy = columns_of(dy, 0);
    a.dq = columns_of(q, k->a.ATTEND.q_column);
    a.dk = columns_of(kv, k->a.ATTEND.k_column);
    a.dv = columns_of(dv->data ? dv : kv, k->a.ATTEND.v_column);
    int64_t q_columns = a.maps * a.heads * a.d_k, v_columns = a.heads * a.d_v,
            kv_columns = q_columns + (dv->data ? 0 : v_columns);
    int64_t used_q = a.q_off[a.n_sentences], used_k = a.k_off[a.n_sentences];
    zero_gradient(q, q_columns + (kv == q ? kv_columns : 0), used_q);
    if (kv != q) zero_gradient(kv, kv_columns, used_k);
    if (dv->data) zero_gradient(dv, v_columns, used_k);
    attend_work work = type == F64                                  ? attend_back_f64
                       : type == BF16 && tiles_usable() && !a.score ? attend_tiles_back
                                                                    : attend_back_f32;
    if (a.score && a.score->sums)
        for_each_unit(&a, work);
    else
        for_each_item(&a, work);
    return 0;
}

int cpu_ATTEND(const call *k, err *e) { return forward(k, args_of(k), e); }
int cpu_ATTEND_BACK(const call *k, err *e)
{
    static const view none;
    return backward(k, args_of(k), &k->i.ATTEND_BACK.lse, &k->i.ATTEND_BACK.dy, &none, e);
}

/* ---- with a score program ---- */

static int score_of(const call *k, score_args *s, err *e)
{
    *s = (score_args){.program = k->call_attr,
                      .ids = k->i.ATTEND_PROGRAM_BACK.ids.data,
                      .times = {k->a.ATTEND.most_queries, k->a.ATTEND.most_keys}};
    memcpy(s->leaf, k->i.ATTEND_PROGRAM_BACK.leaf, sizeof s->leaf);
    for (int i = 0; i < s->program->n_leaves; i++) {
        bool table = i == s->program->keys || i == s->program->values;
        if ((table || s->program->gathered[i]) &&
            check_ids(&k->i.ATTEND_PROGRAM_BACK.ids, s->leaf[i].dim[table ? 2 : 3], e))
            return -1;
    }
    return 0;
}

/* Copies the tables of vectors into the layout that the kernel multiplies. */
static void open_tables(dtype type, score_args *s)
{
    const int leaf[] = {s->program->keys, s->program->values};
    for (int i = 0; i < 2; i++) {
        if (leaf[i] < 0) continue;
        const view *v = &s->leaf[leaf[i]];
        int64_t n = v->dim[2], d = v->dim[3], ids = whole_line(n), line = whole_line(d);
        size_t one = type == F64 ? sizeof(double) : sizeof(float);
        void *rows = cpu_backend.alloc((size_t)(n * line) * one), *turned = cpu_backend.alloc((size_t)(d * ids) * one);
        memset(rows, 0, (size_t)(n * line) * one);
        memset(turned, 0, (size_t)(d * ids) * one);
        s->table[i] = (typeof(s->table[i])){rows, turned, n, d, ids, line};
        BY_REAL(type, fill_table, v, i == TABLE_KEYS ? s->program->keys_scale : 1, ids, line, rows, turned);
    }
}

static void close_score(score_args *s)
{
    if (s->window) cpu_backend.release(s->window);
    for (int i = 0; i < 2; i++) {
        if (!s->table[i].rows) continue;
        cpu_backend.release(s->table[i].rows);
        cpu_backend.release(s->table[i].turned);
    }
}

/* Reads the program's windows, cut to the keys that each query may see. The caller releases them. */
static int open_windows(const attend_args *a, score_args *s, err *e)
{
    const score_program *f = s->program;
    if (f->window < 0) return 0;
    const view *w = &s->leaf[f->window];
    if (w->dim[1] != 1 || w->dim[2] != s->times[0] || w->dim[3] != 2 || (w->dim[0] != 1 && w->dim[0] != a->n_sentences))
        return fail(e, "windows [%lld,%lld,%lld,%lld], expected [1 or %lld,1,%lld,2]", (long long)w->dim[0],
                    (long long)w->dim[1], (long long)w->dim[2], (long long)w->dim[3], (long long)a->n_sentences,
                    (long long)s->times[0]);
    s->window = cpu_backend.alloc((size_t)(a->n_sentences * s->times[0]) * sizeof *s->window);
    for (int64_t b = 0; b < a->n_sentences; b++)
        for (int64_t i = 0; i < a->q_off[b + 1] - a->q_off[b] && i < s->times[0]; i++) {
            int64_t seen = visible(a, i, a->k_off[b + 1] - a->k_off[b]);
            window_bounds x = window_of_query(w, b, i, seen);
            s->window[b * s->times[0] + i] =
                x.from < x.to ? (key_range){(int32_t)x.from, (int32_t)x.to} : (key_range){0, (int32_t)seen};
        }
    return 0;
}

static int check_blocks(const attend_args *a, const score_args *s, err *e)
{
    const score_program *f = s->program;
    if (!f->block) return 0;
    const int64_t *d = s->leaf[f->blocks].dim, n = (s->times[1] - 1) / f->block + 1;
    if ((d[0] == 1 || d[0] == a->n_sentences) && (d[1] == 1 || d[1] == a->heads) &&
        (d[2] == 1 || d[2] == s->times[0]) && d[3] == n && f->weights != WEIGHTS_PLAIN)
        return 0;
    return fail(e,
                "chosen blocks [%lld,%lld,%lld,%lld], expected [1 or %lld,1 or %lld,1 or %lld,%lld], for a softmax "
                "or entmax",
                (long long)d[0], (long long)d[1], (long long)d[2], (long long)d[3], (long long)a->n_sentences,
                (long long)a->heads, (long long)s->times[0], (long long)n);
}

/* Prepares the score program of either pass. The caller calls close_score. */
static int open_score(const call *k, attend_args *a, score_args *s, const view *counts, err *e)
{
    *a = args_of(k);
    if (score_of(k, s, e)) return -1;
    a->score = s;
    s->counts = *counts;
    if (check_offsets(k, a, e) || check_blocks(a, s, e) || open_windows(a, s, e)) return -1;
    open_tables(k->i.ATTEND_PROGRAM.q.type, s);
    return 0;
}

int cpu_ATTEND_PROGRAM(const call *k, err *e)
{
    attend_args a;
    score_args s;
    const view *z = &k->o.ATTEND_PROGRAM.z;
    if (z->data && check_ids(&k->i.ATTEND_PROGRAM.ids, z->dim[3], e)) return -1;
    if (open_score(k, &a, &s, z, e)) return -1;
    if (s.counts.data) memset(s.counts.data, 0, bytes_of(&s.counts));
    int bad = forward(k, a, e);
    close_score(&s);
    return bad;
}

/* Allocates the gradients of leaves: a sum per (sentence, head), or per (chunk of sentences, head) if shared. */
static void open_sums(const call *k, const attend_args *a, score_args *s)
{
    enum { MOST_CHUNKS = 16, MOST_NUMBERS = 1 << 24 };
    int64_t padded = (s->times[0] + 15) / 16 * 16, largest = 1; /* whole vectors of queries */
    for (int i = 0; i < s->program->n_leaves; i++) {
        const view *v = &s->leaf[i];
        s->sum[i].row = padded;
        bool table = i == s->program->keys || i == s->program->values;
        s->sum[i].line = table ? whole_line(v->dim[3]) : v->dim[3];
        s->sum[i].size = table                     ? v->dim[2] * s->sum[i].line
                         : s->program->gathered[i] ? v->dim[2] * v->dim[3]
                                                   : (v->dim[2] > 1 ? padded : 1) * v->dim[3];
        if (k->o.ATTEND_PROGRAM_BACK.d_leaf[i].data && s->sum[i].size > largest) largest = s->sum[i].size;
    }
    s->chunks = MOST_NUMBERS / (largest * a->heads);
    s->chunks = s->chunks < 1 ? 1 : s->chunks > MOST_CHUNKS ? MOST_CHUNKS : s->chunks;
    for (int i = 0; i < s->program->n_leaves; i++) {
        if (!k->o.ATTEND_PROGRAM_BACK.d_leaf[i].data) continue;
        int64_t parts = s->leaf[i].dim[0] > 1 ? a->n_sentences : s->chunks;
        size_t bytes = (size_t)(parts * a->heads * s->sum[i].size) * dtype_size(s->leaf[i].type);
        s->sum[i].data = cpu_backend.alloc(bytes);
        memset(s->sum[i].data, 0, bytes);
        s->sums = true;
    }
}

int cpu_ATTEND_PROGRAM_BACK(const call *k, err *e)
{
    attend_args a;
    score_args s;
    if (open_score(k, &a, &s, &k->i.ATTEND_PROGRAM_BACK.dz, e)) return -1;
    open_sums(k, &a, &s);
    int bad =
        backward(k, a, &k->i.ATTEND_PROGRAM_BACK.lse, &k->i.ATTEND_PROGRAM_BACK.dy, &k->o.ATTEND_PROGRAM_BACK.dv, e);
    close_score(&s);
    for (int i = 0; i < s.program->n_leaves; i++) {
        const view *d = &k->o.ATTEND_PROGRAM_BACK.d_leaf[i];
        if (!d->data) continue;
        BY_REAL(k->i.ATTEND_PROGRAM_BACK.q.type, finish_leaf, &s, i, a.n_sentences, a.heads, d);
        cpu_backend.release(s.sum[i].data);
    }
    return bad;
}
