/* heads.c - HEADS, MERGE: packed rows and [B,H,T,d]; KV_CACHE_APPEND, CACHE_REORDER, STATE_WRITE; ASSIGN; CALL. */
#include "tensor/cpu/generic.h"
#include <string.h>

static int convert_or_fail(const call *k, const view *to, const view *from, convert_fn *f, err *e)
{
    *f = converter(to->type, from->type);
    return *f ? 0 : wrong_type(k, e);
}

/* ---- HEADS, MERGE ---- */

typedef struct {
    char *rows, *heads;           /* packed rows; [B,H,T,d]. One of the two is read, the other written */
    size_t rows_size, heads_size; /* bytes of a number in rows, in heads */
    const int32_t *offset;        /* [B+1] */
    int64_t n_rows, cols, col;    /* rows and columns of `rows`; the first column of head 0 */
    int64_t batch, n_heads, time, width;
    convert_fn f;
} moved;

static int fill_moved(const call *k, const view *rows, const view *heads, moved *m, err *e)
{
    const view *offset = &k->i.HEADS.offsets;
    if (offset->type != I32) return wrong_type(k, e);
    *m = (moved){.rows = rows->data,
                 .heads = heads->data,
                 .rows_size = dtype_size(rows->type),
                 .heads_size = dtype_size(heads->type),
                 .offset = offset->data,
                 .n_rows = rows_of(rows),
                 .cols = width_of(rows),
                 .col = k->a.HEADS.column,
                 .batch = count_of(offset) - 1,
                 .n_heads = heads->dim[1],
                 .time = heads->dim[2],
                 .width = heads->dim[3]};
    if (want_sentences(k, heads, e)) return -1;
    for (int64_t b = 0; b <= m->batch; b++) {
        int64_t least = b ? m->offset[b - 1] : 0;
        if (m->offset[b] < least || m->offset[b] > m->n_rows)
            return fail(e, "offset %lld is %d, expected %lld to %lld (the number of rows)", (long long)b,
                        (int)m->offset[b], (long long)least, (long long)m->n_rows);
    }
    return 0;
}

static inline char *row_at(const moved *m, int64_t row, int64_t col)
{
    return m->rows + (size_t)(row * m->cols + col) * m->rows_size;
}

static void heads_of_rows(const void *job, int64_t from, int64_t to) /* [from, to): (sentence, head) */
{
    const moved *m = job;
    size_t line = (size_t)m->width * m->heads_size;
    for (int64_t u = from; u < to; u++) {
        int64_t b = u / m->n_heads, h = u % m->n_heads, len = m->offset[b + 1] - m->offset[b];
        char *y = m->heads + (size_t)(u * m->time) * line;
        if (len > m->time) len = m->time;
        for (int64_t t = 0; t < len; t++)
            m->f(y + (size_t)t * line, row_at(m, m->offset[b] + t, m->col + h * m->width), m->width);
        memset(y + (size_t)len * line, 0, (size_t)(m->time - len) * line);
    }
}

int cpu_HEADS(const call *k, err *e)
{
    moved m;
    if (fill_moved(k, &k->i.HEADS.rows, &k->o.HEADS.y, &m, e) ||
        convert_or_fail(k, &k->o.HEADS.y, &k->i.HEADS.rows, &m.f, e))
        return -1;
    over_range(m.batch * m.n_heads, 1, count_of(&k->o.HEADS.y), heads_of_rows, &m);
    return 0;
}

static void rows_of_heads(const void *job, int64_t from,
                          int64_t to) /* [from, to): sentences; number `batch`: the rows behind the last sentence */
{
    const moved *m = job;
    size_t line = (size_t)m->width * m->heads_size, head = (size_t)m->time * line;
    int64_t end_col = m->col + m->n_heads * m->width;
    for (int64_t b = from; b < to; b++) {
        int64_t first = b < m->batch ? m->offset[b] : m->offset[m->batch],
                end = b < m->batch ? m->offset[b + 1] : m->n_rows;
        int64_t known = b < m->batch ? (end < first + m->time ? end : first + m->time) : first;
        for (int64_t r = first; r < known; r++) {
            const char *x = m->heads + (size_t)(b * m->n_heads) * head + (size_t)(r - first) * line;
            memset(row_at(m, r, 0), 0, (size_t)m->col * m->rows_size);
            for (int64_t h = 0; h < m->n_heads; h++)
                m->f(row_at(m, r, m->col + h * m->width), x + (size_t)h * head, m->width);
            memset(row_at(m, r, end_col), 0, (size_t)(m->cols - end_col) * m->rows_size);
        }
        memset(row_at(m, known, 0), 0, (size_t)((end - known) * m->cols) * m->rows_size);
    }
}

int cpu_MERGE(const call *k, err *e)
{
    moved m;
    if (fill_moved(k, &k->o.MERGE.y, &k->i.MERGE.x, &m, e) || convert_or_fail(k, &k->o.MERGE.y, &k->i.MERGE.x, &m.f, e))
        return -1;
    memset(m.rows, 0, (size_t)(m.offset[0] * m.cols) * m.rows_size);
    over_range(m.batch + 1, 1, count_of(&k->o.MERGE.y), rows_of_heads, &m);
    return 0;
}

/* ---- states of decoding ---- */

typedef struct {
    char *cache, *y;          /* [R',cap,H d], [R,H,T,d] */
    const char *x;            /* [R,H,1,d] */
    const int32_t *ancestors; /* [R,cap]: the row whose cache holds hypothesis r's past at each time */
    int64_t cap, n_ancestors, heads, time, seen, width; /* time: the present step; seen: T */
    size_t size, cache_size;                            /* bytes of a number of x and y, and of the cache */
    convert_fn put, get;
} memory;

static void write_present(const void *job, int64_t from, int64_t to)
{
    const memory *m = job;
    int64_t n = m->heads * m->width;
    for (int64_t r = from; r < to; r++)
        m->put(m->cache + (size_t)((r * m->cap + m->time) * n) * m->cache_size, m->x + (size_t)(r * n) * m->size, n);
}

static void read_past(const void *job, int64_t from, int64_t to)
{
    const memory *m = job;
    int64_t n = m->heads * m->width;
    for (int64_t r = from; r < to; r++)
        for (int64_t h = 0; h < m->heads; h++) {
            char *y = m->y + (size_t)((r * m->heads + h) * m->seen * m->width) * m->size;
            for (int64_t t = 0; t <= m->time; t++) {
                int64_t who = t < m->time ? m->ancestors[r * m->n_ancestors + t] : r;
                const char *c = m->cache + (size_t)((who * m->cap + t) * n + h * m->width) * m->cache_size;
                m->get(y + (size_t)(t * m->width) * m->size, c, m->width);
            }
            int64_t known = (m->time + 1) * m->width;
            memset(y + (size_t)known * m->size, 0, (size_t)(m->seen * m->width - known) * m->size);
        }
}

static int check_ancestors(const memory *m, int64_t rows, int64_t cached, err *e)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t t = 0; t < m->time; t++) {
            int32_t who = m->ancestors[r * m->n_ancestors + t];
            if (who < 0 || who >= cached)
                return fail(e, "KV_CACHE_APPEND: the ancestor of row %lld at time %lld is %d, expected 0 to %lld",
                            (long long)r, (long long)t, (int)who, (long long)cached - 1);
        }
    return 0;
}

int cpu_KV_CACHE_APPEND(const call *k, err *e)
{
    const view *x = &k->i.KV_CACHE_APPEND.x, *cache = &k->i.KV_CACHE_APPEND.cache,
               *ancestors = &k->i.KV_CACHE_APPEND.ancestors, *y = &k->o.KV_CACHE_APPEND.y;
    if (ancestors->type != I32 || k->i.KV_CACHE_APPEND.time.type != I32 || x->type != y->type) return wrong_type(k, e);
    if (want_cache(k, e)) return -1;
    memory m = {.cache = cache->data,
                .y = y->data,
                .x = x->data,
                .ancestors = ancestors->data,
                .cap = cache->dim[2],
                .n_ancestors = width_of(ancestors),
                .heads = y->dim[1],
                .time = *(const int32_t *)k->i.KV_CACHE_APPEND.time.data,
                .seen = y->dim[2],
                .width = y->dim[3],
                .size = dtype_size(y->type),
                .cache_size = dtype_size(cache->type)};
    int64_t rows = y->dim[0], cached = rows_of(cache) / m.cap;
    if (convert_or_fail(k, cache, x, &m.put, e) || convert_or_fail(k, y, cache, &m.get, e)) return -1;
    if (m.time < 0 || m.time >= m.cap || m.time >= m.seen || m.time > m.n_ancestors)
        return fail(e, "KV_CACHE_APPEND: time %lld, but the cache has %lld steps and %lld are read", (long long)m.time,
                    (long long)m.cap, (long long)m.seen);
    if (check_ancestors(&m, rows, cached, e)) return -1;
    over_range(rows, 1, count_of(x), write_present, &m);
    over_range(rows, 1, count_of(y), read_past, &m);
    return 0;
}

int cpu_CACHE_REORDER(const call *k, err *e)
{
    const view *state = &k->i.CACHE_REORDER.state, *parents = &k->i.CACHE_REORDER.parents, *y = &k->o.CACHE_REORDER.y;
    int64_t rows = count_of(parents); /* the state's first axis longer than 1 */
    if (want_state(k, e)) return -1;
    return rows_by_id(k, state, parents, rows, y, e);
}

/* ---- STATE_WRITE, ASSIGN: copy the second input into the storage of the first ---- */

static int overwrite(const call *k, err *e)
{
    const view *to = &k->i.ASSIGN.to, *value = &k->i.ASSIGN.value;
    convert_fn f;
    if (convert_or_fail(k, to, value, &f, e) || want_count_of(k, to, value, e)) return -1;
    copy_flat(to->data, value->data, count_of(to), f, dtype_size(to->type), dtype_size(value->type));
    return 0;
}
int cpu_STATE_WRITE(const call *k, err *e) { return overwrite(k, e); }
int cpu_ASSIGN(const call *k, err *e) { return overwrite(k, e); }

/* ---- CALL ---- */

int cpu_CALL(const call *k, err *e)
{
    ab_view in[MAX_IN];
    for (int i = 0; i < k->n_in; i++) in[i] = plugin_view(&k->in[i]);
    ab_run r = {.in = in, .n_in = k->n_in, .out = plugin_view(&k->o.CALL.y), .attr = k->call_attr};
    return k->call->cpu(&r) ? call_reference(k, &cpu_backend, e) : 0;
}
