/* ids.c - EMBEDDING EMBEDDING_BACK TO_FLOAT RELATIVE_POSITION CLIPPED_RELATIVE_POSITION GATHER SCATTER_ADD MASK:
 * operations that read ids or positions. */
#include "tensor/cpu/generic.h"
#include "tensor/cpu/vectors.h"

typedef struct {
    void *y;
    const void *x;
    const int32_t *ids;
    int64_t n_ids, width,
        n; /* EMBEDDING: ids, width of a row, rows. GATHER, SCATTER_ADD: queries, keys, number of different ids */
    /* GATHER, SCATTER_ADD: length of x's axis 1; rows of ids from one index of axis 0, and of axis 1, to the next */
    int64_t heads, step[2];
} by_id;
/* The ids of row r of x. */
static inline const int32_t *ids_of_row(const by_id *b, int64_t r)
{
    int64_t plane = r / b->n_ids, row = r % b->n_ids + plane / b->heads * b->step[0] + plane % b->heads * b->step[1];
    return b->ids + row * b->width;
}
typedef struct {
    void *y;
    const int32_t *q, *k;
    int64_t n_k;
    int32_t clip;
} pairs;
typedef struct {
    void *y;
    const void *s;
    const int32_t *q, *k, *k_len; /* positions [n_q], [n_k]; visible keys of each sentence [B] */
    int64_t heads, n_q, n_k;
    bool causal;
} mask;

#define OF_EACH_REAL "tensor/cpu/ids_rows.h"
#include "tensor/cpu/each_real.h"

int check_ids(const view *ids, int64_t n, err *e)
{
    const int32_t *id = ids->data;
    int64_t all = count_of(ids);
    uint32_t largest = 0; /* a negative id counts as very large */
    for (int64_t i = 0; i < all; i++) largest = (uint32_t)id[i] > largest ? (uint32_t)id[i] : largest;
    if (!all || (int64_t)largest < n) return 0;
    int64_t i = 0;
    while ((int64_t)(uint32_t)id[i] < n) i++;
    return fail(e, "id %d at index %lld, expected 0 to %lld", (int)id[i], (long long)i, (long long)n - 1);
}

/* ---- rows of a table ---- */

typedef struct {
    char *y;
    const char *x;
    const int32_t *ids;
    size_t size;
} row_copy;

static void copy_rows(const void *job, int64_t from, int64_t to)
{
    const row_copy *r = job;
    for (int64_t i = from; i < to; i++) memcpy(r->y + (size_t)i * r->size, r->x + (size_t)r->ids[i] * r->size, r->size);
}

int rows_by_id(const call *k, const view *x, const view *ids, int64_t rows, const view *y, err *e)
{
    if (x->type != y->type || ids->type != I32) return wrong_type(k, e);
    if (check_ids(ids, rows, e)) return -1;
    if (!count_of(y)) return 0;
    row_copy r = {y->data, x->data, ids->data, bytes_of(x) / (size_t)rows};
    over_range(count_of(ids), 1, count_of(y), copy_rows, &r);
    return 0;
}

int cpu_EMBEDDING(const call *k, err *e)
{
    return rows_by_id(k, &k->i.EMBEDDING.table, &k->i.EMBEDDING.ids, rows_of(&k->i.EMBEDDING.table), &k->o.EMBEDDING.y,
                      e);
}

int cpu_EMBEDDING_BACK(const call *k, err *e)
{
    const view *dy = &k->i.EMBEDDING_BACK.dy, *ids = &k->i.EMBEDDING_BACK.ids, *y = &k->o.EMBEDDING_BACK.y;
    if (!is_real(y) || dy->type != y->type || ids->type != I32) return wrong_type(k, e);
    if (check_ids(ids, rows_of(y), e)) return -1;
    by_id b = {
        .y = y->data, .x = dy->data, .ids = ids->data, .n_ids = count_of(ids), .width = width_of(y), .n = rows_of(y)};
    over_range(b.width, lanes_f32, count_of(dy), OF_TYPE(y, rows_back), &b);
    return 0;
}

/* ---- ids as numbers ---- */

int cpu_TO_FLOAT(const call *k, err *e)
{
    const view *y = &k->o.TO_FLOAT.y;
    if (!is_real(y) || k->i.TO_FLOAT.ids.type != I32) return wrong_type(k, e);
    over_range(count_of(y), 64, count_of(y), OF_TYPE(y, numbers),
               &(by_id){.y = y->data, .ids = k->i.TO_FLOAT.ids.data});
    return 0;
}

static void distances(const void *job, int64_t from, int64_t to)
{
    const pairs *p = job;
    for (int64_t q = from; q < to; q++) {
        int32_t *y = (int32_t *)p->y + q * p->n_k, clip = p->clip;
        for (int64_t i = 0; i < p->n_k; i++) {
            int32_t d = p->k[i] - p->q[q];
            d = d < -clip ? -clip : d;
            y[i] = (d > clip ? clip : d) + clip;
        }
    }
}

static int by_pair(const call *k, range_fn f, err *e)
{
    if (k->i.RELATIVE_POSITION.q.type != I32 || k->i.RELATIVE_POSITION.k.type != I32) return wrong_type(k, e);
    pairs p = {k->o.RELATIVE_POSITION.y.data, k->i.RELATIVE_POSITION.q.data, k->i.RELATIVE_POSITION.k.data,
               count_of(&k->i.RELATIVE_POSITION.k), (int32_t)k->a.CLIPPED_RELATIVE_POSITION.clip};
    over_range(count_of(&k->i.RELATIVE_POSITION.q), 1, count_of(&k->o.RELATIVE_POSITION.y), f, &p);
    return 0;
}
int cpu_RELATIVE_POSITION(const call *k, err *e)
{
    return is_real(&k->o.RELATIVE_POSITION.y) ? by_pair(k, OF_TYPE(&k->o.RELATIVE_POSITION.y, gaps), e)
                                              : wrong_type(k, e);
}
int cpu_CLIPPED_RELATIVE_POSITION(const call *k, err *e)
{
    return k->o.CLIPPED_RELATIVE_POSITION.y.type == I32 ? by_pair(k, distances, e) : wrong_type(k, e);
}

/* ---- numbers chosen by ids ---- */

static int choose(const call *k, int64_t n, range_fn f, err *e)
{
    const view *x = &k->i.GATHER.x, *ids = &k->i.GATHER.ids, *y = &k->o.GATHER.y;
    if (!is_real(y) || x->type != y->type || ids->type != I32) return wrong_type(k, e);
    if (check_ids(ids, n, e)) return -1;
    int64_t step[4];
    strides_of(ids, step);
    by_id b = {.y = y->data,
               .x = x->data,
               .ids = ids->data,
               .n_ids = ids->dim[2],
               .width = ids->dim[3],
               .n = n,
               .heads = y->dim[1]};
    for (int i = 0; i < 2; i++) b.step[i] = step[i] / (b.width ? b.width : 1);
    over_range(rows_of(y), 1, rows_of(y) * (n + b.width), f, &b);
    return 0;
}
int cpu_GATHER(const call *k, err *e) { return choose(k, width_of(&k->i.GATHER.x), OF_TYPE(&k->o.GATHER.y, pick), e); }
int cpu_SCATTER_ADD(const call *k, err *e)
{
    return choose(k, width_of(&k->o.SCATTER_ADD.y), OF_TYPE(&k->o.SCATTER_ADD.y, bucket), e);
}

int cpu_MASK(const call *k, err *e)
{
    const view *s = &k->i.MASK.s, *y = &k->o.MASK.y;
    if (!is_real(y) || s->type != y->type || k->i.MASK.q_positions.type != I32 || k->i.MASK.k_positions.type != I32 ||
        k->i.MASK.k_lengths.type != I32)
        return wrong_type(k, e);
    mask m = {.y = y->data,
              .s = s->data,
              .q = k->i.MASK.q_positions.data,
              .k = k->i.MASK.k_positions.data,
              .k_len = k->i.MASK.k_lengths.data,
              .heads = y->dim[1],
              .n_q = y->dim[2],
              .n_k = y->dim[3],
              .causal = k->a.MASK.causal != 0};
    over_range(rows_of(y), 1, count_of(y), OF_TYPE(y, mask), &m);
    return 0;
}
