/* shape.cu - numbers moved: TRANSPOSE SLICE PAD CONCAT ROTATE_HALF EMBEDDING CACHE_REORDER HEADS MERGE KV_CACHE_APPEND.
 *
 * Where only bytes move, a thread moves units of 16, 4 or 2 of them: the largest that all lengths, steps and addresses
 * allow.
 */
#include "tensor/cuda/vec8.h"
#include "tensor/cuda/generic.h"
#include "tensor/cuda/threads.h"

namespace
{
struct alignas(16) bytes16 {
    unsigned w[4];
};

int unit_of(int64_t all_together) { return all_together & 3 ? 2 : all_together & 15 ? 4 : 16; }
int64_t bits_of(const void *p) { return (int64_t)(uintptr_t)p; }

/* kernel<unit, index> over n units. */
#define LAUNCH_INDEX(kernel, T, n, ...)                                                                                \
    (COUNTS_IN_32(n) ? LAUNCH((kernel<T, unsigned>), blocks_for(n), THREADS, 0, __VA_ARGS__)                           \
                     : LAUNCH((kernel<T, uint64_t>), blocks_for(n), THREADS, 0, __VA_ARGS__))
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
        y[i] = x[(int64_t)p.i3 * a.step[0] + (int64_t)p.i2 * a.step[1] + (int64_t)p.i1 * a.step[2] +
                 (int64_t)p.i0 * a.step[3]];
    }
}

/* The last axis of y and axis `with` change places: along `with` x is contiguous. A block moves squares of 32 x 32, so
 * that both reads and writes are of neighbours. */
enum { SIDE = 32 };
struct exchange {
    /* lengths of `with` and the last axis; from one to the next index: of the last axis in x, of `with` in y */
    int64_t n[2], x_step, y_step;
    int64_t other[2], x_other[2], y_other[2]; /* lengths and steps of the axes left */
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

/* Axes that continue each other in x become one. Returns how many remain, at the end of a. */
int join(axes *a)
{
    axes j = {{1, 1, 1, 1}, {0, 0, 0, 0}};
    int at = 4;
    for (int i = 3; i >= 0; i--) {
        if (a->dim[i] == 1) continue;
        if (at < 4 && a->step[i] == j.step[at] * j.dim[at])
            j.dim[at] *= a->dim[i];
        else
            at--, j.dim[at] = a->dim[i], j.step[at] = a->step[i];
    }
    *a = j;
    return 4 - at;
}

int run_transpose(void *y, const void *x, const axes &a, int with, int element_bytes)
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

template <class T, class Index> __global__ void pieces(gpu_pieces p, int64_t n) /* p in units */
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

__device__ __forceinline__ unsigned turned(unsigned x, unsigned sign) { return x ^ sign; }
__device__ __forceinline__ unsigned short turned(unsigned short x, unsigned sign)
{
    return (unsigned short)(x ^ (sign & 0xffffu));
}
__device__ __forceinline__ bytes16 turned(bytes16 x, unsigned sign)
{
    UNROLL for (int j = 0; j < 4; j++) x.w[j] ^= sign;
    return x;
}
/* half: in units; sign: the sign bits of the one or two numbers of a word. */
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
__global__ void rows(T *y, const T *x, const int32_t *ids, int64_t n_rows, int64_t width, int64_t n)
{
    for (int64_t i = my_thread(); i < n; i += all_threads()) {
        Index r = (Index)i / (Index)width;
        int64_t j = (int64_t)((Index)i - r * (Index)width), id = ids[r];
        T none = T();
        y[i] = id >= 0 && id < n_rows ? x[id * width + j] : turned(none, 0xffffffffu);
    }
}

/* ---- HEADS, MERGE: V columns at a time ---- */

template <int V, class T> __device__ __forceinline__ void move(T *to, const float *from)
{
    struct alignas(sizeof(T) * V) out {
        T v[V];
    } y;
    struct alignas(sizeof(float) * V) in {
        float v[V];
    } x = *(const in *)from;
    UNROLL for (int j = 0; j < V; j++) store(&y.v[j], x.v[j]);
    *(out *)to = y;
}
template <int V> __device__ __forceinline__ void move(float *to, const bf16 *from)
{
    struct alignas(sizeof(float) * V) out {
        float v[V];
    } y;
    struct alignas(sizeof(bf16) * V) in {
        bf16 v[V];
    } x = *(const in *)from;
    UNROLL for (int j = 0; j < V; j++) y.v[j] = to_float(x.v[j]);
    *(out *)to = y;
}
template <int V, class T> __device__ __forceinline__ void clear(T *to)
{
    struct alignas(sizeof(T) * V) out {
        T v[V];
    } y;
    UNROLL for (int j = 0; j < V; j++) store(&y.v[j], 0.f);
    *(out *)to = y;
}

template <class R, int V, class Index> __global__ void heads(gpu_heads h, int64_t n)
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

/* A warp writes a row: the sentence it is in is the last that begins at it or before. */
template <class R, int V> __global__ void merge(gpu_heads h)
{
    for (int64_t row = my_warp(); row < h.n_rows; row += all_warps()) {
        /* offset[low] <= row < offset[high], were there -infinity and infinity at the ends */
        int64_t low = -1, high = h.batch;
        if (row >= h.offset[h.batch]) low = h.batch;
        while (low < h.batch && high - low > 1) {
            int64_t middle = (low + high) / 2;
            if (h.offset[middle] <= row)
                low = middle;
            else
                high = middle;
        }
        bool has_token = low >= 0 && low < h.batch && row - h.offset[low] < h.time;
        const float *x =
            has_token ? (const float *)h.heads + (low * h.n_heads * h.time + row - h.offset[low]) * h.width : nullptr;
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

bool fours(const gpu_heads *h)
{
    return ((h->cols | h->col | h->width) & 3) == 0 && ((bits_of(h->heads) | bits_of(h->rows)) & 15) == 0;
}
template <class R, int V> int run_heads(const gpu_heads &h)
{
    int64_t n = h.batch * h.n_heads * h.time * h.width / V;
    return COUNTS_IN_32(n) ? LAUNCH((heads<R, V, unsigned>), blocks_for(n), THREADS, 0, h, n)
                           : LAUNCH((heads<R, V, uint64_t>), blocks_for(n), THREADS, 0, h, n);
}

/* ---- KV_CACHE_APPEND ---- */

template <class C, class Index> __global__ void kv_cache_append(gpu_memory m, int64_t n)
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
        } else if (t == now) { /* this call does not read this time from the cache */
            C *mine = cache + (r * m.cap + t) * line + j;
            store(mine, m.x[r * line + j]);
            v = load(mine);
        }
        m.y[i] = v;
    }
}
} // namespace

extern "C" int gpu_TRANSPOSE(void *y, const void *x, const int64_t dim[4], const int64_t step[4], int element_bytes)
{
    axes a = {{dim[0], dim[1], dim[2], dim[3]}, {step[0], step[1], step[2], step[3]}};
    int64_t n = dim[0] * dim[1] * dim[2] * dim[3];
    if (n <= 0) return gpu_launched();
    int left = join(&a);
    if (!left || (left == 1 && a.step[3] == 1)) {
        gpu_copy(y, x, (size_t)(n * element_bytes));
        return gpu_launched();
    }
    int unit = element_bytes;
    if (a.step[3] == 1) { /* whole lines */
        int64_t all = (a.dim[3] | a.step[0] | a.step[1] | a.step[2]) * element_bytes;
        unit = unit_of(all | bits_of(x) | bits_of(y));
        for (int i = 0; i < 3; i++) a.step[i] = a.step[i] * element_bytes / unit;
        a.dim[3] = a.dim[3] * element_bytes / unit;
    } else {
        enum { WORTH = 8 }; /* a shorter side leaves most of the squares empty */
        for (int i = 0; i < 3; i++)
            if (a.step[i] == 1 && a.dim[i] >= WORTH && a.dim[3] >= WORTH)
                return run_transpose(y, x, a, i, element_bytes);
    }
    n = n * element_bytes / unit;
    if (unit == 16) return LAUNCH_INDEX(transpose_axes, bytes16, n, (bytes16 *)y, (const bytes16 *)x, a, n);
    if (unit == 4) return LAUNCH_INDEX(transpose_axes, unsigned, n, (unsigned *)y, (const unsigned *)x, a, n);
    return LAUNCH_INDEX(transpose_axes, unsigned short, n, (unsigned short *)y, (const unsigned short *)x, a, n);
}

extern "C" int gpu_copy_pieces(const gpu_pieces *given)
{
    gpu_pieces p = *given;
    int64_t all = p.y_size | bits_of(p.y);
    if (p.outer <= 0 || p.y_size <= 0) return gpu_launched();
    for (int i = 0; i < 2; i++)
        if (p.size[i]) all |= p.at[i] | p.size[i] | p.from[i] | bits_of(p.x[i]);
    int unit = unit_of(all);
    p.y_size /= unit;
    for (int i = 0; i < 2; i++) p.at[i] /= unit, p.size[i] /= unit, p.from[i] /= unit;
    int64_t n = p.outer * p.y_size;
    return LAUNCH_UNITS(pieces, unit, n, p, n);
}

extern "C" int gpu_ROTATE_HALF(void *y, const void *x, int type, int64_t n_rows, int64_t half)
{
    int64_t size = type == 2 ? 2 : 4, n = 2 * half * n_rows * size;
    if (n <= 0) return gpu_launched();
    int unit = unit_of(half * size | bits_of(x) | bits_of(y));
    unsigned sign = type == 2 ? 0x80008000u : 0x80000000u;
    n /= unit, half = half * size / unit;
    if (unit == 16) return LAUNCH_INDEX(rotate_half, bytes16, n, (bytes16 *)y, (const bytes16 *)x, half, sign, n);
    if (unit == 4) return LAUNCH_INDEX(rotate_half, unsigned, n, (unsigned *)y, (const unsigned *)x, half, sign, n);
    return LAUNCH_INDEX(rotate_half, unsigned short, n, (unsigned short *)y, (const unsigned short *)x, half, sign, n);
}

extern "C" int gpu_rows(void *y, const void *x, const int32_t *ids, int64_t n_ids, int64_t n_rows, int64_t bytes)
{
    int unit = unit_of(bytes | bits_of(x) | bits_of(y));
    int64_t width = bytes / unit, n = n_ids * width;
    if (n <= 0) return gpu_launched();
    if (unit == 16) return LAUNCH_INDEX(rows, bytes16, n, (bytes16 *)y, (const bytes16 *)x, ids, n_rows, width, n);
    if (unit == 4) return LAUNCH_INDEX(rows, unsigned, n, (unsigned *)y, (const unsigned *)x, ids, n_rows, width, n);
    return LAUNCH_INDEX(rows, unsigned short, n, (unsigned short *)y, (const unsigned short *)x, ids, n_rows, width, n);
}

extern "C" int gpu_HEADS(const gpu_heads *h)
{
    if (h->batch * h->n_heads * h->time * h->width <= 0) return gpu_launched();
    if (h->row_type == 2) return fours(h) ? run_heads<bf16, 4>(*h) : run_heads<bf16, 1>(*h);
    return fours(h) ? run_heads<float, 4>(*h) : run_heads<float, 1>(*h);
}

extern "C" int gpu_MERGE(const gpu_heads *h)
{
    if (h->n_rows * h->cols <= 0) return gpu_launched();
    dim3 grid = blocks_for_warps(h->n_rows);
    if (h->row_type == 2)
        return fours(h) ? LAUNCH((merge<bf16, 4>), grid, THREADS, 0, *h)
                        : LAUNCH((merge<bf16, 1>), grid, THREADS, 0, *h);
    return fours(h) ? LAUNCH((merge<float, 4>), grid, THREADS, 0, *h) : LAUNCH((merge<float, 1>), grid, THREADS, 0, *h);
}

extern "C" int gpu_KV_CACHE_APPEND(const gpu_memory *m)
{
    int64_t n = m->rows * m->heads * m->seen * m->width;
    if (n <= 0) return gpu_launched();
    return m->cache_type == 2 ? LAUNCH_INDEX(kv_cache_append, bf16, n, *m, n)
                              : LAUNCH_INDEX(kv_cache_append, float, n, *m, n);
}
