/* shape.cu - operations that move numbers: TRANSPOSE SLICE PAD CONCAT ROTATE_HALF EMBEDDING CACHE_REORDER HEADS MERGE
 * KV_CACHE_APPEND.
 *
 * A thread moves units of 16, 4 or 2 bytes: the largest that all lengths, steps and addresses allow.
 */
#include "tensor/cuda/vec8.h"
#include "tensor/cuda/ops.h"
#include "tensor/cuda/threads.h"

namespace
{
struct alignas(16) bytes16 {
    unsigned w[4];
};

int unit_of(int64_t all_together) { return all_together & 3 ? 2 : all_together & 15 ? 4 : 16; }
int64_t bits_of(const void *p) { return (int64_t)(uintptr_t)p; }

/* kernel<unit, index> over n units. */
#define LAUNCH_UNITS(kernel, unit, n, ...)                                                                             \
    ((unit) == 16  ? LAUNCH_INDEX(kernel, bytes16, n, __VA_ARGS__)                                                     \
     : (unit) == 4 ? LAUNCH_INDEX(kernel, unsigned, n, __VA_ARGS__)                                                    \
                   : LAUNCH_INDEX(kernel, unsigned short, n, __VA_ARGS__))

/* ---- copies along axes ---- */

struct axes { /* lengths of y's axes, steps of x; both in units */
    int64_t dim[4], step[4];
};

template <class T, class Index> __global__ void transpose_axes(T *y, const T *x, axes a, int64_t n)
{
    for (int64_t i = my_thread(); i < n; i += all_threads()) {
        place<Index> p = place_of((Index)i, (Index)a.dim[1], (Index)a.dim[2], (Index)a.dim[3]);
        y[i] = x[offset_of(p, a.step)];
    }
}

/* Swaps y's last axis with `with`, which is contiguous in x, by squares of 32 x 32: reads and writes are contiguous. */
enum { SIDE = 32 };
struct exchange {
    /* lengths of `with` and of the last axis; stride of the last axis in x, and of `with` in y */
    int64_t n[2], x_step, y_step;
    int64_t other[2], x_other[2], y_other[2]; /* lengths and strides of the other axes */
};
template <class T> __global__ void transpose(T *y, const T *x, exchange e)
{
    __shared__ T square[SIDE][SIDE + 1];
    int64_t across = (e.n[1] + SIDE - 1) / SIDE, down = (e.n[0] + SIDE - 1) / SIDE, b = blockIdx.x;
    int64_t j0 = b % across * SIDE, i0 = b / across % down * SIDE, o = b / across / down;
    int64_t o0 = o / e.other[1], o1 = o % e.other[1];
    x += o0 * e.x_other[0] + o1 * e.x_other[1], y += o0 * e.y_other[0] + o1 * e.y_other[1];
    int lane = my_lane();
    for (int k = (int)threadIdx.x / 32; k < SIDE; k += WARPS)
        if (i0 + lane < e.n[0] && j0 + k < e.n[1]) square[k][lane] = x[i0 + lane + (j0 + k) * e.x_step];
    __syncthreads();
    for (int k = (int)threadIdx.x / 32; k < SIDE; k += WARPS)
        if (i0 + k < e.n[0] && j0 + lane < e.n[1]) y[(i0 + k) * e.y_step + j0 + lane] = square[lane][k];
}

int run_transpose(void *y, const void *x, const axes &a, int with, int64_t element_bytes)
{
    int64_t y_step[4] = {a.dim[1] * a.dim[2] * a.dim[3], a.dim[2] * a.dim[3], a.dim[3], 1};
    exchange e = {{a.dim[with], a.dim[3]}, a.step[3], y_step[with], {1, 1}, {0, 0}, {0, 0}};
    for (int i = 0, at = 0; i < 3; i++)
        if (i != with) e.other[at] = a.dim[i], e.x_other[at] = a.step[i], e.y_other[at++] = y_step[i];
    dim3 grid((unsigned)((e.n[0] + SIDE - 1) / SIDE * ((e.n[1] + SIDE - 1) / SIDE) * e.other[0] * e.other[1]));
    return element_bytes == 2
               ? LAUNCH(transpose<unsigned short>, grid, THREADS, 0, (unsigned short *)y, (const unsigned short *)x, e)
               : LAUNCH(transpose<unsigned>, grid, THREADS, 0, (unsigned *)y, (const unsigned *)x, e);
}

/* ---- pieces ---- */

/* y consists of pieces of y_size bytes. Bytes at[i] .. at[i] + size[i] of a piece are copied from x[i] + (piece) *
 * from[i], i < 2; other bytes are 0. Multiples of 2 bytes, in the kernel units. */
struct pieces {
    void *y;
    const void *x[2];
    int64_t y_size, at[2], size[2], from[2];
};
template <class T, class Index> __global__ void slice_pad_concat(pieces p, int64_t n)
{
    const T *a = (const T *)p.x[0], *b = (const T *)p.x[1];
    for (int64_t i = my_thread(); i < n; i += all_threads()) {
        Index o = (Index)i / (Index)p.y_size;
        int64_t at = (int64_t)((Index)i - o * (Index)p.y_size), in_a = at - p.at[0], in_b = at - p.at[1];
        T v = T();
        if (in_a >= 0 && in_a < p.size[0])
            v = a[(int64_t)o * p.from[0] + in_a];
        else if (in_b >= 0 && in_b < p.size[1])
            v = b[(int64_t)o * p.from[1] + in_b];
        ((T *)p.y)[i] = v;
    }
}

/* ---- ROTATE_HALF ---- */

DEVICE unsigned turned(unsigned x, unsigned sign) { return x ^ sign; }
DEVICE unsigned short turned(unsigned short x, unsigned sign) { return (unsigned short)(x ^ (sign & 0xffffu)); }
DEVICE bytes16 turned(bytes16 x, unsigned sign)
{
    UNROLL for (int j = 0; j < 4; j++) x.w[j] ^= sign;
    return x;
}
/* half: in units. sign: mask of the sign bits of the one or two numbers in a word. */
template <class T, class Index> __global__ void rotate_half(T *y, const T *x, int64_t half, unsigned sign, int64_t n)
{
    for (int64_t i = my_thread(); i < n; i += all_threads()) {
        Index row = (Index)i / (Index)(2 * half);
        bool first = (int64_t)((Index)i - row * (Index)(2 * half)) < half;
        y[i] = first ? turned(x[i + half], sign) : x[i - half];
    }
}

/* ---- rows by id ---- */

template <class T, class Index>
__global__ void embedding(T *y, const T *x, const int32_t *ids, int64_t n_rows, int64_t width, int64_t n)
{
    for (int64_t i = my_thread(); i < n; i += all_threads()) {
        Index r = (Index)i / (Index)width;
        int64_t j = (int64_t)((Index)i - r * (Index)width), id = ids[r];
        T none = T();
        y[i] = id >= 0 && id < n_rows ? x[id * width + j] : turned(none, 0xffffffffu);
    }
}

/* ---- HEADS, MERGE: V columns at a time ---- */

template <int V, class T, class F> DEVICE void move(T *to, const F *from)
{
    float x[V];
    load_lanes<V>(from, x);
    store_lanes<V>(to, x);
}
template <int V, class T> DEVICE void clear(T *to)
{
    const float zeros[V] = {};
    store_lanes<V>(to, zeros);
}

struct heads_call {
    void *rows, *heads; /* one is read, the other is written */
    const int32_t *offset;
    int64_t n_rows, cols, col, batch, n_heads, time, width;
};
template <class R, int V, class Index> __global__ void heads(heads_call h, int64_t n)
{
    for (int64_t i = my_thread(); i < n; i += all_threads()) {
        place<Index> p = place_of((Index)i, (Index)h.n_heads, (Index)h.time, (Index)(h.width / V));
        int64_t first = h.offset[p.i3], row = first + (int64_t)p.i1;
        float *y = (float *)h.heads + i * V;
        if (first >= 0 && row < h.offset[p.i3 + 1] && row < h.n_rows)
            move<V>(y, (const R *)h.rows + row * h.cols + h.col + (int64_t)p.i2 * h.width + (int64_t)p.i0 * V);
        else
            clear<V>(y);
    }
}

/* A warp writes a row. The row's sentence is the last one that begins at this row or before. */
template <class R, int V> __global__ void __launch_bounds__(THREADS, 8) merge(heads_call h)
{
    for (int64_t row = my_warp(); row < h.n_rows; row += all_warps()) {
        int64_t b = first_above(h.offset, 0, h.batch + 1, row) - 1; /* -1 or batch: in no sentence */
        bool has_token = b >= 0 && b < h.batch && row - h.offset[b] < h.time;
        const float *x =
            has_token ? (const float *)h.heads + (b * h.n_heads * h.time + row - h.offset[b]) * h.width : nullptr;
        int cols = (int)h.cols, col = (int)h.col, width = (int)h.width, end = col + (int)h.n_heads * width;
        for (int c = my_lane() * V; c < cols; c += 32 * V) {
            R *y = (R *)h.rows + row * h.cols + c;
            int head = (c - col) / width;
            if (x && c >= col && c < end)
                move<V>(y, x + head * h.time * h.width + (c - col - head * width));
            else
                clear<V>(y);
        }
    }
}

bool fours(const heads_call &h)
{
    return ((h.cols | h.col | h.width) & 3) == 0 && ((bits_of(h.heads) | bits_of(h.rows)) & 15) == 0;
}

/* ---- KV_CACHE_APPEND ---- */

struct cache_call {
    float *y;
    void *cache;
    const float *x;
    const int32_t *ancestors, *time;
    int64_t cached, cap, n_ancestors, heads, seen, width;
};
/* y[r,h,t]: cache[ancestors[r][t]][t] before `time` (NaN if there is no such ancestor), x at `time`, then 0. */
template <class C, class Index> __global__ void kv_cache_append(cache_call m, int64_t n)
{
    int64_t now = m.time[0], line = m.heads * m.width;
    C *cache = (C *)m.cache;
    for (int64_t i = my_thread(); i < n; i += all_threads()) {
        place<Index> p = place_of((Index)i, (Index)m.heads, (Index)m.seen, (Index)m.width);
        int64_t r = p.i3, t = p.i1, j = (int64_t)p.i2 * m.width + p.i0;
        float v = 0;
        if (t < now) {
            int64_t who = t < m.n_ancestors ? m.ancestors[r * m.n_ancestors + t] : -1;
            v = who >= 0 && who < m.cached ? load(cache + (who * m.cap + t) * line + j) : __uint_as_float(0x7fffffffu);
        } else if (t == now) { /* this call does not read position `time` from the cache */
            C *mine = cache + (r * m.cap + t) * line + j;
            store(mine, m.x[r * line + j]);
            v = load(mine);
        }
        m.y[i] = v;
    }
}
} // namespace

/* ---- axes ---- */

int cuda_TRANSPOSE(const call *k, err *e)
{
    const view *x = &k->i.TRANSPOSE.x, *y = &k->o.TRANSPOSE.y;
    if (x->type != y->type || x->type == F64) return no_kernel(k, e);
    int from = 4 + (int)k->a.TRANSPOSE.axis1, to = 4 + (int)k->a.TRANSPOSE.axis2;
    int64_t n = count_of(y), element_bytes = (int64_t)dtype_size(y->type), unit = element_bytes;
    axes a = {{y->dim[0], y->dim[1], y->dim[2], y->dim[3]}, {}};
    if (n <= 0) return launched(gpu_launched(), e);
    strides_of(x, a.step);
    int64_t step = a.step[from];
    a.step[from] = a.step[to], a.step[to] = step;
    int left = join_axes(a.dim, &a.step, 1);
    if (!left || (left == 1 && a.step[3] == 1)) {
        gpu_copy(y->data, x->data, bytes_of(y));
        return launched(gpu_launched(), e);
    }
    if (a.step[3] == 1) { /* whole lines */
        int64_t all = (a.dim[3] | a.step[0] | a.step[1] | a.step[2]) * element_bytes;
        unit = unit_of(all | bits_of(x->data) | bits_of(y->data));
        for (int i = 0; i < 3; i++) a.step[i] = a.step[i] * element_bytes / unit;
        a.dim[3] = a.dim[3] * element_bytes / unit;
    } else {
        enum { WORTH = 8 }; /* with a shorter side most squares would be nearly empty */
        for (int i = 0; i < 3; i++)
            if (a.step[i] == 1 && a.dim[i] >= WORTH && a.dim[3] >= WORTH)
                return launched(run_transpose(y->data, x->data, a, i, element_bytes), e);
    }
    n = n * element_bytes / unit;
    return launched(LAUNCH_UNITS(transpose_axes, unit, n, data_of(y), data_of(x), a, n), e);
}

/* Bytes of one index of `axis` (-1 .. -4). */
static int64_t inner_of(const view *v, int axis)
{
    int64_t n = (int64_t)dtype_size(v->type);
    for (int i = 5 + axis; i < 4; i++) n *= v->dim[i];
    return n;
}
/* Copies the inputs, one after the other along the axis, from index `from` on to the output's index `at` on. */
static int copy_along(const call *k, int axis, int64_t from, int64_t at, err *e)
{
    const view *y = &k->out[0];
    if (y->type == F64) return no_kernel(k, e);
    int64_t inner = inner_of(y, axis);
    pieces p = {y->data, {}, inner * y->dim[4 + axis], {}, {}, {}};
    int64_t all = p.y_size | bits_of(p.y), next = inner * at;
    for (int i = 0; i < k->n_in; i++) {
        const view *x = &k->in[i];
        if (x->type != y->type) return no_kernel(k, e);
        p.x[i] = (const char *)x->data + inner * from;
        p.from[i] = inner * x->dim[4 + axis], p.at[i] = next;
        p.size[i] = p.from[i] < p.y_size ? p.from[i] : p.y_size;
        next += p.size[i];
        if (p.size[i]) all |= p.at[i] | p.size[i] | p.from[i] | bits_of(p.x[i]);
    }
    int unit = unit_of(all);
    p.y_size /= unit;
    for (int i = 0; i < 2; i++) p.at[i] /= unit, p.size[i] /= unit, p.from[i] /= unit;
    int64_t n = (int64_t)bytes_of(y) / unit;
    return launched(LAUNCH_UNITS(slice_pad_concat, unit, n, p, n), e);
}
int cuda_SLICE(const call *k, err *e) { return copy_along(k, (int)k->a.SLICE.axis, k->a.SLICE.from, 0, e); }
int cuda_PAD(const call *k, err *e) { return copy_along(k, (int)k->a.SLICE.axis, 0, k->a.SLICE.from, e); }
int cuda_CONCAT(const call *k, err *e) { return copy_along(k, (int)k->a.CONCAT.axis, 0, 0, e); }

int cuda_ROTATE_HALF(const call *k, err *e)
{
    const view *x = &k->i.ROTATE_HALF.x, *y = &k->o.ROTATE_HALF.y;
    if (x->type != y->type || !is_row_type(y->type)) return no_kernel(k, e);
    int64_t half = width_of(y) / 2 * (int64_t)dtype_size(y->type), n = rows_of(y) * 2 * half;
    int unit = unit_of(half | bits_of(x->data) | bits_of(y->data));
    unsigned sign = y->type == BF16 ? 0x80008000u : 0x80000000u;
    n /= unit, half /= unit;
    return launched(LAUNCH_UNITS(rotate_half, unit, n, data_of(y), data_of(x), half, sign, n), e);
}

/* ---- rows of a table ---- */

/* y[i] = row ids[i] of x, which has `rows` rows; NaN (all bits set) for an id that is not in 0 .. rows - 1. */
static int rows_by_id(const call *k, const view *x, const view *ids, int64_t rows, err *e)
{
    const view *y = &k->out[0];
    if (x->type != y->type || x->type == F64 || ids->type != I32) return no_kernel(k, e);
    if (!rows) return launched(gpu_launched(), e);
    int64_t bytes = (int64_t)bytes_of(x) / rows;
    int unit = unit_of(bytes | bits_of(x->data) | bits_of(y->data));
    int64_t width = bytes / unit, n = count_of(ids) * width;
    return launched(LAUNCH_UNITS(embedding, unit, n, data_of(y), data_of(x), data_of(ids), rows, width, n), e);
}
int cuda_EMBEDDING(const call *k, err *e)
{
    return rows_by_id(k, &k->i.EMBEDDING.table, &k->i.EMBEDDING.ids, rows_of(&k->i.EMBEDDING.table), e);
}

int cuda_CACHE_REORDER(const call *k, err *e)
{
    const view *state = &k->i.CACHE_REORDER.state, *parents = &k->i.CACHE_REORDER.parents;
    int64_t rows = count_of(parents); /* the first axis of the state that is not 1 */
    return want_state(k, e) ? -1 : rows_by_id(k, state, parents, rows, e);
}

/* ---- HEADS, MERGE ---- */

static int heads_of(const call *k, const view *rows, const view *heads, const view *offset, heads_call *h, err *e)
{
    if (offset->type != I32 || heads->type != F32 || !is_row_type(rows->type)) return no_kernel(k, e);
    *h = {rows->data,        heads->data,          data_of(offset), rows_of(rows), width_of(rows),
          k->a.HEADS.column, count_of(offset) - 1, heads->dim[1],   heads->dim[2], heads->dim[3]};
    if (want_sentences(k, heads, e)) return -1;
    if (h->col < 0 || h->col + h->n_heads * h->width > h->cols)
        return fail(e, "found columns %lld to %lld, but rows have %lld columns", (long long)h->col,
                    (long long)(h->col + h->n_heads * h->width), (long long)h->cols);
    return 0;
}

int cuda_HEADS(const call *k, err *e)
{
    const view *rows = &k->i.HEADS.rows, *y = &k->o.HEADS.y;
    heads_call h;
    if (heads_of(k, rows, y, &k->i.HEADS.offsets, &h, e)) return -1;
    int64_t n = count_of(y) / (fours(h) ? 4 : 1);
    return launched(rows->type == BF16 ? fours(h) ? LAUNCH_INDEX(heads, bf16 WITH 4, n, h, n)
                                                  : LAUNCH_INDEX(heads, bf16 WITH 1, n, h, n)
                    : fours(h) ? LAUNCH_INDEX(heads, float WITH 4, n, h, n)
                                       : LAUNCH_INDEX(heads, float WITH 1, n, h, n),
                    e);
}

int cuda_MERGE(const call *k, err *e)
{
    const view *rows = &k->o.MERGE.y;
    heads_call h;
    if (heads_of(k, rows, &k->i.MERGE.x, &k->i.MERGE.offsets, &h, e)) return -1;
    if (!count_of(rows)) return launched(gpu_launched(), e);
    dim3 grid = blocks_for_warps(h.n_rows);
    return launched(rows->type == BF16 ? fours(h) ? LAUNCH((merge<bf16, 4>), grid, THREADS, 0, h)
                                                  : LAUNCH((merge<bf16, 1>), grid, THREADS, 0, h)
                    : fours(h) ? LAUNCH((merge<float, 4>), grid, THREADS, 0, h)
                                       : LAUNCH((merge<float, 1>), grid, THREADS, 0, h),
                    e);
}

/* ---- decoding ---- */

int cuda_KV_CACHE_APPEND(const call *k, err *e)
{
    const view *x = &k->i.KV_CACHE_APPEND.x, *cache = &k->i.KV_CACHE_APPEND.cache,
               *ancestors = &k->i.KV_CACHE_APPEND.ancestors, *time = &k->i.KV_CACHE_APPEND.time,
               *y = &k->o.KV_CACHE_APPEND.y;
    if (ancestors->type != I32 || time->type != I32 || x->type != F32 || y->type != F32 || !is_row_type(cache->type))
        return no_kernel(k, e);
    if (want_cache(k, e)) return -1;
    int64_t cap = cache->dim[2], n = count_of(y);
    cache_call m = {};
    m.y = data_of(y), m.cache = cache->data, m.x = data_of(x), m.ancestors = data_of(ancestors), m.time = data_of(time);
    m.cap = cap, m.cached = cap ? rows_of(cache) / cap : 0, m.n_ancestors = width_of(ancestors);
    m.heads = y->dim[1], m.seen = y->dim[2], m.width = y->dim[3];
    if (m.seen > cap) return fail(e, "%lld steps are read, but the cache has %lld", (long long)m.seen, (long long)cap);
    return launched(cache->type == BF16 ? LAUNCH_INDEX(kv_cache_append, bf16, n, m, n)
                                        : LAUNCH_INDEX(kv_cache_append, float, n, m, n),
                    e);
}
