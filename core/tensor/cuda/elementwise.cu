/* elementwise.cu - ADD .. MAP_BACK with broadcasting, CAST, DROPOUT.
 *
 * All are bound by memory: a thread moves 16 bytes at a time where the last axis and the addresses allow it.
 */
#include "tensor/cuda/vec8.h"
#include "tensor/cuda/functions.h"
#include "tensor/cuda/threads.h"

namespace
{
/* V numbers that lie side by side. */
template <class T, int V> struct alignas(sizeof(T) * V) pack {
    T v[V];
};

/* V numbers at p, or one V times when `step` is 0. */
template <class T, int V> __device__ __forceinline__ void read(const T *p, int64_t step, float out[V])
{
    if (V > 1 && step) {
        pack<T, V> x = *(const pack<T, V> *)p;
        UNROLL for (int j = 0; j < V; j++) out[j] = load(&x.v[j]);
        return;
    }
    float one = load(p);
    UNROLL for (int j = 0; j < V; j++) out[j] = one;
}
template <class T, int V> __device__ __forceinline__ void write(T *p, const float v[V])
{
    pack<T, V> x;
    UNROLL for (int j = 0; j < V; j++) store(&x.v[j], v[j]);
    *(pack<T, V> *)p = x;
}

/* ---- arithmetic ---- */

template <class T, int V>
__device__ __forceinline__ void combine(const gpu_elementwise &e, T *y, const T *a, const T *b, int64_t a_step,
                                        int64_t b_step)
{
    float u[V], v[V];
    read<T, V>(a, a_step, u);
    if (e.n_in > 1)
        read<T, V>(b, b_step, v);
    else
        UNROLL for (int j = 0; j < V; j++) v[j] = e.by;
    UNROLL for (int j = 0; j < V; j++) u[j] = arithmetic(e.what, u[j], v[j]);
    write<T, V>(y, u);
}

/* One line of n numbers; what is left after groups of V is done one by one. */
template <class T, int V> __global__ void flat(gpu_elementwise e, int64_t n)
{
    T *y = (T *)e.y;
    const T *a = (const T *)e.x[0], *b = (const T *)e.x[1];
    int64_t sa = e.step[0][3], sb = e.step[1][3], whole = n / V, rest = whole * V + my_thread();
    for (int64_t i = my_thread(); i < whole; i += all_threads()) {
        int64_t at = i * V;
        combine<T, V>(e, y + at, a + at * sa, b + at * sb, sa, sb);
    }
    if (V > 1 && rest < n) combine<T, 1>(e, y + rest, a + rest * sa, b + rest * sb, sa, sb);
}

/* Several axes, the last a multiple of V. */
template <class T, int V, class Index> __global__ void along_axes(gpu_elementwise e, int64_t n)
{
    Index d1 = (Index)e.dim[1], d2 = (Index)e.dim[2], d3 = (Index)(e.dim[3] / V);
    const int64_t *s = e.step[0], *t = e.step[1];
    for (int64_t i = my_thread(); i < n / V; i += all_threads()) {
        place<Index> p = place_of((Index)i, d1, d2, d3);
        int64_t i3 = p.i3, i2 = p.i2, i1 = p.i1, i0 = (int64_t)p.i0 * V;
        const T *a = (const T *)e.x[0] + (i3 * s[0] + i2 * s[1] + i1 * s[2] + i0 * s[3]);
        const T *b = (const T *)e.x[1] + (i3 * t[0] + i2 * t[1] + i1 * t[2] + i0 * t[3]);
        combine<T, V>(e, (T *)e.y + i * V, a, b, s[3], t[3]);
    }
}

/* ---- functions ---- */

template <int V> __device__ __forceinline__ void apply(const gpu_elementwise &e, int64_t at)
{
    const float *x = (const float *)e.x[0], *y = (const float *)e.x[1], *d = (const float *)e.x[2];
    float u[V], v[V], w[V];
    read<float, V>(x + at, 1, u);
    if (e.what == GPU_MAP) {
        UNROLL for (int j = 0; j < V; j++) u[j] = function_of(e.function, u[j]);
    } else {
        read<float, V>(y + at, 1, v);
        read<float, V>(d + at, 1, w);
        UNROLL for (int j = 0; j < V; j++) u[j] = gradient_of(e.function, u[j], v[j], w[j]);
    }
    write<float, V>((float *)e.y + at, u);
}
template <int V> __global__ void functions(gpu_elementwise e, int64_t n)
{
    int64_t whole = n / V, rest = whole * V + my_thread();
    for (int64_t i = my_thread(); i < whole; i += all_threads()) apply<V>(e, i * V);
    if (V > 1 && rest < n) apply<1>(e, rest);
}

/* Three inputs of any strides. */
template <class Index> __global__ void where(gpu_elementwise e, int64_t n)
{
    Index d1 = (Index)e.dim[1], d2 = (Index)e.dim[2], d3 = (Index)e.dim[3];
    for (int64_t i = my_thread(); i < n; i += all_threads()) {
        place<Index> p = place_of((Index)i, d1, d2, d3);
        float x[3];
        UNROLL for (int k = 0; k < 3; k++)
        {
            const int64_t *s = e.step[k];
            x[k] =
                ((const float *)
                     e.x[k])[(int64_t)p.i3 * s[0] + (int64_t)p.i2 * s[1] + (int64_t)p.i1 * s[2] + (int64_t)p.i0 * s[3]];
        }
        ((float *)e.y)[i] = gradient_of(GPU_WHERE, x[0], x[1], x[2]);
    }
}

/* ---- which kernel ---- */

template <class T, int V> int run(const gpu_elementwise &e, int64_t n)
{
    bool one_line = e.dim[0] * e.dim[1] * e.dim[2] == 1, wide = aligned16(e.y);
    for (int i = 0; i < e.n_in; i++) wide = wide && (e.step[i][3] == 0 || (e.step[i][3] == 1 && aligned16(e.x[i])));
    if (one_line && wide && n >= V) return LAUNCH((flat<T, V>), blocks_for(n / V), THREADS, 0, e, n);
    if (one_line) return LAUNCH((flat<T, 1>), blocks_for(n), THREADS, 0, e, n);
    bool small = COUNTS_IN_32(n);
    if (wide && e.dim[3] % V == 0)
        return small ? LAUNCH((along_axes<T, V, unsigned>), blocks_for(n / V), THREADS, 0, e, n)
                     : LAUNCH((along_axes<T, V, uint64_t>), blocks_for(n / V), THREADS, 0, e, n);
    return small ? LAUNCH((along_axes<T, 1, unsigned>), blocks_for(n), THREADS, 0, e, n)
                 : LAUNCH((along_axes<T, 1, uint64_t>), blocks_for(n), THREADS, 0, e, n);
}

/* ---- CAST, DROPOUT: eight at a time ---- */

template <bool VECTOR, class To, class From> __global__ void cast(To *y, const From *x, int64_t n)
{
    for (int64_t i = 8 * my_thread(); i < n; i += 8 * all_threads()) {
        float v[8];
        if (VECTOR && i + 8 <= n) {
            load8(x + i, v);
            store8(y + i, v);
        } else {
            get8<false>(x + i, n - i, v);
            put8<false>(y + i, n - i, v);
        }
    }
}
template <class To, class From> int run_cast(void *y, const void *x, int64_t n)
{
    dim3 grid = blocks_for((n + 7) / 8);
    return aligned16(x, y) ? LAUNCH((cast<true, To, From>), grid, THREADS, 0, (To *)y, (const From *)x, n)
                           : LAUNCH((cast<false, To, From>), grid, THREADS, 0, (To *)y, (const From *)x, n);
}

template <bool VECTOR, class T>
__global__ void dropout(T *y, const T *x, int64_t n, unsigned place, unsigned least, float scale,
                        const gpu_counter *counter)
{
    philox_key key = key_of(counter, place);
    for (int64_t i = 8 * my_thread(); i < n; i += 8 * all_threads()) {
        bool whole = VECTOR && i + 8 <= n;
        float v[8];
        if (whole)
            load8(x + i, v);
        else
            get8<false>(x + i, n - i, v);
        unsigned keep = keep_words((uint64_t)i / 8, key, least);
        UNROLL for (int j = 0; j < 8; j++) v[j] = keep >> j & 1 ? v[j] * scale : 0.f;
        if (whole)
            store8(y + i, v);
        else
            put8<false>(y + i, n - i, v);
    }
}
template <class T> int run_dropout(void *y, const void *x, int64_t n, unsigned place, unsigned least, float scale)
{
    dim3 grid = blocks_for((n + 7) / 8);
    return aligned16(x, y) ? LAUNCH((dropout<true, T>), grid, THREADS, 0, (T *)y, (const T *)x, n, place, least, scale,
                                    gpu_counters())
                           : LAUNCH((dropout<false, T>), grid, THREADS, 0, (T *)y, (const T *)x, n, place, least, scale,
                                    gpu_counters());
}
} // namespace

extern "C" int gpu_run_elementwise(const gpu_elementwise *given)
{
    gpu_elementwise e = *given;
    int64_t n = e.dim[0] * e.dim[1] * e.dim[2] * e.dim[3];
    if (n <= 0) return gpu_launched();
    if (e.what == GPU_MAP_BACK && e.function == GPU_WHERE)
        return COUNTS_IN_32(n) ? LAUNCH(where<unsigned>, blocks_for(n), THREADS, 0, e, n)
                               : LAUNCH(where<uint64_t>, blocks_for(n), THREADS, 0, e, n);
    if (e.what == GPU_MAP || e.what == GPU_MAP_BACK) {
        bool wide = n >= 4 && (e.what == GPU_MAP ? aligned16(e.y, e.x[0]) : aligned16(e.y, e.x[0], e.x[1], e.x[2]));
        return wide ? LAUNCH(functions<4>, blocks_for(n / 4), THREADS, 0, e, n)
                    : LAUNCH(functions<1>, blocks_for(n), THREADS, 0, e, n);
    }
    return e.type == 2 ? run<bf16, 8>(e, n) : run<float, 4>(e, n);
}

extern "C" int gpu_CAST(void *y, int y_type, const void *x, int x_type, int64_t n)
{
    if (n <= 0 || (x == y && x_type == y_type)) return gpu_launched();
    if (x_type == y_type) {
        gpu_copy(y, x, (size_t)n * (y_type == 2 ? 2 : 4));
        return gpu_launched();
    }
    return y_type == 2 ? run_cast<bf16, float>(y, x, n) : run_cast<float, bf16>(y, x, n);
}

extern "C" int gpu_DROPOUT(void *y, const void *x, int type, int64_t n, unsigned place, unsigned least, float scale)
{
    if (n <= 0) return gpu_launched();
    return type == 2 ? run_dropout<bf16>(y, x, n, place, least, scale)
                     : run_dropout<float>(y, x, n, place, least, scale);
}
