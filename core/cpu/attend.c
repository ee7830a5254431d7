/* attend.c - ATTEND and ATTEND_BACK: the work shared out among threads, sentence by sentence and head by
 * head. */
#include "cpu/attend.h"
#include "cpu/tiles.h"
#include "cpu/vectors.h"

#define S f32
#include "cpu/attend.inc"
#undef S
#define S f64
#include "cpu/attend.inc"
#undef S
#define S bf16
#include "cpu/attend.inc"
#undef S

/* ---- who does what: contiguous ranges of (sentence, head) of about the same cost ---- */

static double cost_of(const attend_args *a, int64_t b)
{
    enum { SETUP = 16 }; /* keys' worth of work to get at a row */
    double nq = a->q_off[b + 1] - a->q_off[b], nk = a->k_off[b + 1] - a->k_off[b];
    return nq * (nk + SETUP) + nk * SETUP;
}

/* Rows of one head lie far apart, where the machine does not see the pattern: ask for the next item's while
 * this one is worked on. */
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
    int64_t nq = a->q_off[b + 1] - a->q_off[b], nk = a->k_off[b + 1] - a->k_off[b];
    prefetch(&a->k, a->k_off[b], nk, h, a->d_k, one);
    prefetch(&a->v, a->k_off[b], nk, h, a->d_v, one);
    prefetch(&a->q, a->q_off[b], nq, h, a->d_k, one);
    prefetch(&a->dy, a->q_off[b], nq, h, a->d_v, one);
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
            attend_item it = {.sentence = b,
                              .q0 = a->q_off[b],
                              .nq = a->q_off[b + 1] - a->q_off[b],
                              .k0 = a->k_off[b],
                              .nk = a->k_off[b + 1] - a->k_off[b]};
            double cost = cost_of(a, b);
            for (it.head = 0; it.head < a->heads; it.head++, before += cost) {
                double middle = before + cost / 2;
                if (it.nq + it.nk == 0 || middle < from || middle >= to) continue;
                if (tiles) prefetch_next(a, &it, sizeof(uint16_t));
                work(a, &it);
            }
        }
        if (tiles) tiles_end();
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
    return (attend_args){.n_sentences = k->in[3].dim[3] - 1,
                         .heads = t->i[3],
                         .d_k = t->i[4],
                         .d_v = t->i[5],
                         .q_off = k->in[3].data,
                         .k_off = k->in[4].data,
                         .q = columns_of(&k->in[0], t->i[0]),
                         .k = columns_of(&k->in[1], t->i[1]),
                         .v = columns_of(&k->in[2], t->i[2]),
                         .causal = t->i[6] != 0,
                         .scale = t->f[1],
                         .drop = dropout_of(k, (int64_t)t->f[2])};
}

static int check_offsets(const call *k, const attend_args *a, err *e)
{
    int64_t b = a->n_sentences;
    for (int64_t i = 0; i < b; i++) {
        if (a->q_off[i] <= a->q_off[i + 1] && a->k_off[i] <= a->k_off[i + 1]) continue;
        return fail(e, "attention: offsets of sentence %lld go backwards", (long long)i);
    }
    if (a->q_off[b] > rows_of(&k->in[0]) || a->k_off[b] > rows_of(&k->in[1]))
        return fail(e, "attention: offsets end at rows %d and %d, there are %lld and %lld", a->q_off[b],
                    a->k_off[b], (long long)rows_of(&k->in[0]), (long long)rows_of(&k->in[1]));
    return 0;
}

int cpu_ATTEND(const call *k, err *e)
{
    attend_args a = args_of(k);
    dtype type = k->in[0].type;
    if (check_offsets(k, &a, e)) return -1;
    a.y = columns_of(&k->out[0], 0);
    a.lse = k->out[1].data;
    attend_work work = type == F64      ? attend_f64
                       : type == F32    ? attend_f32
                       : tiles_usable() ? attend_tiles
                                        : attend_bf16;
    for_each_item(&a, work);
    zero_rows(k->out[0].data, a.q_off[a.n_sentences], rows_of(&k->out[0]), width_of(&k->out[0]), type);
    zero_rows(a.lse, a.q_off[a.n_sentences], rows_of(&k->out[0]), a.heads, k->out[1].type);
    return 0;
}

int cpu_ATTEND_BACK(const call *k, err *e)
{
    attend_args a = args_of(k);
    dtype type = k->in[0].type;
    if (check_offsets(k, &a, e)) return -1;
    const view *q = &k->out[0], *kv = k->out[1].data ? &k->out[1] : q;
    a.y = columns_of(&k->in[5], 0);
    a.lse = k->in[6].data;
    a.dy = columns_of(&k->in[7], 0);
    a.dq = columns_of(q, k->a.i[0]);
    a.dk = columns_of(kv, k->a.i[1]);
    a.dv = columns_of(kv, k->a.i[2]);
    int64_t q_columns = a.heads * a.d_k, kv_columns = a.heads * (a.d_k + a.d_v);
    if (kv == q) q_columns += kv_columns;
    bool q_whole = q_columns == width_of(q), kv_whole = kv == q || kv_columns == width_of(kv);
    int64_t used_q = a.q_off[a.n_sentences], used_k = a.k_off[a.n_sentences];
    zero_rows(q->data, q_whole ? used_q : 0, rows_of(q), width_of(q), type);
    if (kv != q) zero_rows(kv->data, kv_whole ? used_k : 0, rows_of(kv), width_of(kv), type);
    attend_work work = type == F64      ? attend_back_f64
                       : type == F32    ? attend_back_f32
                       : tiles_usable() ? attend_tiles_back
                                        : attend_back_bf16;
    for_each_item(&a, work);
    return 0;
}
