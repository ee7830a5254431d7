/* norm.h - a row of NORM, for norm.cu and norm_product.cu.
 *
 * A warp has a row in its registers: lane l holds columns 8 (l + 32 i) .. + 7 for i < PER. WHOLE: rows have exactly 256
 * PER columns, so no column is compared with the width. fmaf gives squares the same bits in all kernels: nvcc would
 * contract the product in some and not in others.
 */
#ifndef ABLATE_CUDA_NORM_H
#define ABLATE_CUDA_NORM_H
#include "tensor/cuda/ops.h"
#include "tensor/cuda/vec8.h"

template <class T> struct norm_call {
    int64_t rows, width;
    const T *x, *s, *dy; /* in the backward pass x points to z */
    const float *gain, *bias;
    T *y, *z; /* dz, ds in the backward pass */
    float *stats, *sums;
    float *total[3]; /* sums over rows: of d gain, d bias and ds (or NULL); in COLUMN_SUM only of x */
    unsigned *tickets;
    float eps;
    gpu_dropping drop;
    const gpu_counter *counter;
};

/* v = x + dropout(t); also writes v to z unless z is NULL. `at`: first element in the tensors, n: columns left. */
template <bool VECTOR, class T>
DEVICE void add_dropped(const norm_call<T> &a, T *z, int64_t at, int64_t n, float v[8], float t[8])
{
    drop8(t, (uint64_t)at, a.drop, a.counter);
    UNROLL for (int j = 0; j < 8; j++) v[j] += t[j];
    if (z) put8<VECTOR>(z + at, n, v);
}

template <bool VECTOR, class T>
DEVICE void write_normal(const norm_call<T> &a, int64_t at, int64_t column, int64_t n, float v[8], float mean,
                         float scale)
{
    float g[8], b[8];
    get8<VECTOR>(a.gain + column, n, g);
    get8<VECTOR>(a.bias + column, n, b);
    UNROLL for (int j = 0; j < 8; j++) v[j] = (v[j] - mean) * scale * g[j] + b[j];
    put8<VECTOR>(a.y + at, n, v);
}

/* Computes a row of NORM. s: the row of s, in any memory, or NULL. By a whole warp. */
template <int PER, bool VECTOR, bool WHOLE, class T>
DEVICE void norm_row(const norm_call<T> &a, int64_t row, const T *s)
{
    int lane = (int)threadIdx.x % 32;
    int64_t width = WHOLE ? 256 * PER : a.width, at = row * width;
    float v[PER][8], t[PER][8];
    UNROLL for (int i = 0; i < PER; i++)
    {
        int64_t column = 8 * (lane + 32 * i), n = WHOLE ? 8 : width - column;
        get8<VECTOR>(a.x + at + column, n, v[i]);
        if (s) get8<VECTOR>(s + column, n, t[i]);
    }
    float sum = 0, squares = 0;
    UNROLL for (int i = 0; i < PER; i++)
    {
        int64_t column = 8 * (lane + 32 * i), n = WHOLE ? 8 : width - column;
        if (s && n > 0) add_dropped<VECTOR>(a, a.z, at + column, n, v[i], t[i]);
        UNROLL for (int j = 0; j < 8; j++) sum += j < n ? v[i][j] : 0.f;
    }
    float mean = warp_sum(sum) / (float)width;
    UNROLL for (int i = 0; i < PER; i++) UNROLL for (int j = 0; j < 8; j++)
    {
        float x = v[i][j] - mean;
        if (WHOLE || 8 * (lane + 32 * i) + j < width) squares = fmaf(x, x, squares);
    }
    float scale = 1 / sqrtf(warp_sum(squares) / (float)width + a.eps);
    if (!lane) a.stats[2 * row] = mean, a.stats[2 * row + 1] = scale;
    UNROLL for (int i = 0; i < PER; i++)
    {
        int64_t column = 8 * (lane + 32 * i), n = WHOLE ? 8 : width - column;
        if (n > 0) write_normal<VECTOR>(a, at + column, column, n, v[i], mean, scale);
    }
}

template <class T> static norm_call<T> norm_call_of(const void *x, int64_t rows, int64_t width, gpu_dropping drop)
{
    norm_call<T> a = norm_call<T>();
    a.rows = rows, a.width = width, a.x = (const T *)x, a.drop = drop, a.counter = gpu_counters(),
    a.tickets = gpu_tickets();
    return a;
}
template <class T> static norm_call<T> norm_of_call(const call *k)
{
    const view *x = &k->i.NORM.x;
    norm_call<T> a = norm_call_of<T>(x->data, rows_of(x), width_of(x), dropping_of(k, k->a.NORM.p, k->a.NORM.place));
    a.s = data_of(&k->i.NORM.s), a.y = data_of(&k->o.NORM.y), a.z = a.s ? (T *)k->o.NORM.z.data : nullptr;
    a.gain = data_of(&k->i.NORM.gain), a.bias = data_of(&k->i.NORM.bias);
    a.stats = data_of(&k->o.NORM.stats), a.eps = (float)k->a.NORM.eps;
    return a;
}

/* NORM with the LINEAR of call.product (norm_product.cu). Returns 0; 1 if the kernel cannot do both; -1 and e. */
int norm_of_product(const call *k, err *e);
#endif
