/* ops_shape.c - axes, ids and tables, the moves between rows and heads, and decoding's states, on a GPU. */
#include "tensor/cuda/generic.h"
#include "tensor/cuda/ops.h"

/* ---- axes ---- */

int cuda_TRANSPOSE(const call *k, err *e)
{
    const view *x = &k->i.TRANSPOSE.x, *y = &k->o.TRANSPOSE.y;
    if (x->type != y->type || x->type == F64) return no_kernel(k, e);
    int a = 4 + (int)k->a.TRANSPOSE.axis1, b = 4 + (int)k->a.TRANSPOSE.axis2;
    int64_t step[4];
    strides_of(x, step);
    int64_t t = step[a];
    step[a] = step[b], step[b] = t;
    return launched(gpu_TRANSPOSE(y->data, x->data, y->dim, step, (int)dtype_size(x->type)), e);
}

/* Along one axis a tensor is `outer` pieces; a piece is n indices of the axis, `inner` bytes each. */
static int64_t outer_of(const view *v, int axis)
{
    int64_t n = 1;
    for (int i = 0; i < 4 + axis; i++) n *= v->dim[i];
    return n;
}
static int64_t inner_of(const view *v, int axis)
{
    int64_t n = (int64_t)dtype_size(v->type);
    for (int i = 5 + axis; i < 4; i++) n *= v->dim[i];
    return n;
}

static int move(const call *k, gpu_pieces *p, err *e)
{
    const view *y = &k->out[0];
    int axis = (int)k->a.CONCAT.axis;
    for (int i = 0; i < k->n_in; i++) {
        if (k->in[i].type != y->type || y->type == F64) return no_kernel(k, e);
        p->from[i] = inner_of(&k->in[i], axis) * k->in[i].dim[4 + axis];
    }
    p->y = y->data, p->outer = outer_of(y, axis), p->y_size = inner_of(y, axis) * y->dim[4 + axis];
    return launched(gpu_copy_pieces(p), e);
}

int cuda_SLICE(const call *k, err *e)
{
    int axis = (int)k->a.SLICE.axis;
    int64_t inner = inner_of(&k->i.SLICE.x, axis);
    const char *x = (const char *)k->i.SLICE.x.data + inner * k->a.SLICE.from;
    return move(k, &(gpu_pieces){.x = {x}, .size = {inner * k->o.SLICE.y.dim[4 + axis]}}, e);
}

int cuda_PAD(const call *k, err *e)
{
    int axis = (int)k->a.SLICE.axis;
    int64_t inner = inner_of(&k->i.PAD.x, axis);
    return move(k,
                &(gpu_pieces){.x = {k->i.PAD.x.data},
                              .size = {inner * k->i.PAD.x.dim[4 + axis]},
                              .at = {inner * k->a.SLICE.from}},
                e);
}

int cuda_CONCAT(const call *k, err *e)
{
    int axis = (int)k->a.CONCAT.axis;
    int64_t a = inner_of(&k->i.CONCAT.a, axis) * k->i.CONCAT.a.dim[4 + axis],
            b = inner_of(&k->i.CONCAT.b, axis) * k->i.CONCAT.b.dim[4 + axis];
    return move(k, &(gpu_pieces){.x = {k->i.CONCAT.a.data, k->i.CONCAT.b.data}, .size = {a, b}, .at = {0, a}}, e);
}

int cuda_ROTATE_HALF(const call *k, err *e)
{
    const view *x = &k->i.ROTATE_HALF.x, *y = &k->o.ROTATE_HALF.y;
    if (x->type != y->type || !is_row_type(y->type)) return no_kernel(k, e);
    return launched(gpu_ROTATE_HALF(y->data, x->data, (int)y->type, rows_of(y), width_of(y) / 2), e);
}

/* ---- rows of a table ---- */

/* y[i] = row ids[i] of x, which has `rows` rows. */
static int rows_by_id(const call *k, const view *x, const view *ids, int64_t rows, err *e)
{
    const view *y = &k->out[0];
    if (x->type != y->type || x->type == F64 || ids->type != I32) return no_kernel(k, e);
    if (!rows || !count_of(y)) return 0;
    int64_t bytes = count_of(x) / rows * (int64_t)dtype_size(x->type);
    return launched(gpu_rows(y->data, x->data, ids->data, count_of(ids), rows, bytes), e);
}
int cuda_EMBEDDING(const call *k, err *e)
{
    return rows_by_id(k, &k->i.EMBEDDING.table, &k->i.EMBEDDING.ids, rows_of(&k->i.EMBEDDING.table), e);
}

int cuda_CACHE_REORDER(const call *k, err *e)
{
    const view *state = &k->i.CACHE_REORDER.state, *parents = &k->i.CACHE_REORDER.parents, *y = &k->o.CACHE_REORDER.y;
    int64_t rows = count_of(parents); /* the first axis of the state that is not 1 */
    if (!rows || count_of(state) % rows || count_of(y) != count_of(state))
        return fail(e, "%lld parents for a state of %lld numbers", (long long)rows, (long long)count_of(state));
    return rows_by_id(k, state, parents, rows, e);
}

int cuda_EMBEDDING_BACK(const call *k, err *e)
{
    const view *dy = &k->i.EMBEDDING_BACK.dy, *ids = &k->i.EMBEDDING_BACK.ids, *y = &k->o.EMBEDDING_BACK.y;
    if (y->type != F32 || dy->type != F32 || ids->type != I32) return no_kernel(k, e);
    return launched(
        gpu_sum_rows_by_id(y->data, 0, dy->data, F32, ids->data, NULL, count_of(ids), rows_of(y), width_of(y), 1), e);
}

/* ---- numbers by ids ---- */

/* How the rows of k's first input find their ids; n: what an id may be. */
static gpu_chosen chosen_by(const call *k, int64_t n)
{
    const view *ids = &k->i.GATHER.ids;
    gpu_chosen by = {.ids = ids->data, .n_q = ids->dim[2], .n_k = ids->dim[3], .heads = k->i.GATHER.x.dim[1], .n = n};
    int64_t step[4];
    strides_of(ids, step);
    for (int i = 0; i < 2; i++) by.step[i] = by.n_k ? step[i] / by.n_k : 0;
    return by;
}

int cuda_GATHER(const call *k, err *e)
{
    const view *x = &k->i.GATHER.x, *ids = &k->i.GATHER.ids, *y = &k->o.GATHER.y;
    if (y->type != F32 || x->type != F32 || ids->type != I32) return no_kernel(k, e);
    return launched(gpu_GATHER(y->data, x->data, rows_of(y), chosen_by(k, width_of(x))), e);
}
int cuda_SCATTER_ADD(const call *k, err *e)
{
    const view *p = &k->i.SCATTER_ADD.p, *ids = &k->i.SCATTER_ADD.ids, *y = &k->o.SCATTER_ADD.y;
    if (y->type != F32 || p->type != F32 || ids->type != I32) return no_kernel(k, e);
    return launched(gpu_SCATTER_ADD(y->data, p->data, rows_of(y), chosen_by(k, width_of(y))), e);
}

int cuda_MASK(const call *k, err *e)
{
    const view *s = &k->i.MASK.s, *y = &k->o.MASK.y;
    if (y->type != F32 || s->type != F32 || k->i.MASK.q_positions.type != I32 || k->i.MASK.k_positions.type != I32 ||
        k->i.MASK.k_lengths.type != I32)
        return no_kernel(k, e);
    return launched(gpu_MASK(y->data, s->data, k->i.MASK.q_positions.data, k->i.MASK.k_positions.data,
                             k->i.MASK.k_lengths.data, y->dim[0], y->dim[1], y->dim[2], y->dim[3],
                             k->a.MASK.causal != 0),
                    e);
}

/* ---- HEADS, MERGE ---- */

static int between_rows_and_heads(const call *k, const view *rows, const view *heads, int (*launch)(const gpu_heads *),
                                  err *e)
{
    const view *offset = &k->i.HEADS.offsets;
    if (offset->type != I32 || heads->type != F32 || !is_row_type(rows->type)) return no_kernel(k, e);
    gpu_heads h = {.rows = rows->data,
                   .heads = heads->data,
                   .offset = offset->data,
                   .n_rows = rows_of(rows),
                   .cols = width_of(rows),
                   .col = k->a.HEADS.column,
                   .batch = count_of(offset) - 1,
                   .n_heads = heads->dim[1],
                   .time = heads->dim[2],
                   .width = heads->dim[3],
                   .row_type = (int)rows->type};
    if (h.batch != heads->dim[0])
        return fail(e, "offsets of %lld sentences in a batch of %lld", (long long)h.batch, (long long)heads->dim[0]);
    if (h.col < 0 || h.col + h.n_heads * h.width > h.cols)
        return fail(e, "columns %lld to %lld of rows with %lld columns", (long long)h.col,
                    (long long)(h.col + h.n_heads * h.width), (long long)h.cols);
    return launched(launch(&h), e);
}
int cuda_HEADS(const call *k, err *e)
{
    return between_rows_and_heads(k, &k->i.HEADS.rows, &k->o.HEADS.y, gpu_HEADS, e);
}
int cuda_MERGE(const call *k, err *e) { return between_rows_and_heads(k, &k->o.MERGE.y, &k->i.MERGE.x, gpu_MERGE, e); }

/* ---- decoding ---- */

int cuda_KV_CACHE_APPEND(const call *k, err *e)
{
    const view *x = &k->i.KV_CACHE_APPEND.x, *cache = &k->i.KV_CACHE_APPEND.cache,
               *ancestors = &k->i.KV_CACHE_APPEND.ancestors, *y = &k->o.KV_CACHE_APPEND.y;
    if (ancestors->type != I32 || k->i.KV_CACHE_APPEND.time.type != I32 || x->type != F32 || y->type != F32 ||
        !is_row_type(cache->type))
        return no_kernel(k, e);
    gpu_memory m = {.y = y->data,
                    .cache = cache->data,
                    .x = x->data,
                    .ancestors = ancestors->data,
                    .time = k->i.KV_CACHE_APPEND.time.data,
                    .rows = y->dim[0],
                    .cap = cache->dim[2],
                    .n_ancestors = width_of(ancestors),
                    .heads = y->dim[1],
                    .seen = y->dim[2],
                    .width = y->dim[3],
                    .cache_type = (int)cache->type};
    m.cached = m.cap ? rows_of(cache) / m.cap : 0;
    if (width_of(cache) != m.heads * m.width || m.cached < m.rows || rows_of(ancestors) < m.rows)
        return fail(e, "%lld rows of %lld x %lld numbers do not fit a cache of %lld rows of %lld", (long long)m.rows,
                    (long long)m.heads, (long long)m.width, (long long)m.cached, (long long)width_of(cache));
    if (m.seen > m.cap)
        return fail(e, "%lld steps are read, but the cache has %lld", (long long)m.seen, (long long)m.cap);
    return launched(gpu_KV_CACHE_APPEND(&m), e);
}
