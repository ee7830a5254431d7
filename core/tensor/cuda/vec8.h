/* vec8.h - eight numbers of a row at a time (16 bytes of bf16, 32 of F32), and their dropout decisions. For kernels. */
#ifndef ABLATE_CUDA_EIGHT_H
#define ABLATE_CUDA_EIGHT_H
#include "tensor/cuda/gpu.h"

/* V numbers, read and written at once. */
template <class T, int V> struct alignas(sizeof(T) * V) lanes {
    T v[V];
};
template <int V, class T> DEVICE void load_lanes(const T *p, float v[V])
{
    lanes<T, V> x = *(const lanes<T, V> *)p;
    UNROLL for (int j = 0; j < V; j++) v[j] = load(&x.v[j]);
}
template <int V, class T> DEVICE void store_lanes(T *p, const float v[V])
{
    lanes<T, V> x;
    UNROLL for (int j = 0; j < V; j++) store(&x.v[j], v[j]);
    *(lanes<T, V> *)p = x;
}

/* Eight numbers at p, aligned to 16 bytes. */
DEVICE void load8(const float *p, float v[8])
{
    float4 a = ((const float4 *)p)[0], b = ((const float4 *)p)[1];
    v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w, v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
}
DEVICE void load8(const bf16 *p, float v[8]) { load_lanes<8>(p, v); }
DEVICE void store8(float *p, const float v[8])
{
    ((float4 *)p)[0] = make_float4(v[0], v[1], v[2], v[3]);
    ((float4 *)p)[1] = make_float4(v[4], v[5], v[6], v[7]);
}
DEVICE void store8(bf16 *p, const float v[8]) { store_lanes<8>(p, v); }
/* Stores four or eight numbers in as few stores as possible; p is in device memory. */
DEVICE void store4_device(float *p, const float v[4])
{
    unsigned w[4] = {__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]), __float_as_uint(v[3])};
    store_words(p, w);
}
DEVICE void store4_device(bf16 *p, const float v[4])
{
    unsigned w[2] = {bf16_pair(v[0], v[1]), bf16_pair(v[2], v[3])};
    store_words(p, w);
}
DEVICE void store8_device(float *p, const float v[8])
{
    store4_device(p, v);
    store4_device(p + 4, v + 4);
}
DEVICE void store8_device(bf16 *p, const float v[8])
{
    unsigned w[4];
    UNROLL for (int j = 0; j < 4; j++) w[j] = bf16_pair(v[2 * j], v[2 * j + 1]);
    store_words(p, w);
}

/* Loads the first n of eight (any n), zeros for the rest. VECTOR: p aligned to 16 bytes, n a multiple of 8. */
template <bool VECTOR, class T> DEVICE void get8(const T *p, int64_t n, float v[8])
{
    if (VECTOR && n > 0)
        load8(p, v);
    else
        UNROLL for (int j = 0; j < 8; j++) v[j] = !VECTOR && j < n ? load(p + j) : 0.f;
}
template <bool VECTOR, class T> DEVICE void put8(T *p, int64_t n, const float v[8])
{
    if (!VECTOR) UNROLL for (int j = 0; j < 8; j++)
        {
            if (j < n) store(p + j, v[j]);
        }
    else if (n > 0)
        store8_device(p, v);
}

/* Like get8, but the tensor's last group may be shorter than eight even with VECTOR. */
template <bool VECTOR, class T> DEVICE void get_some8(const T *p, int64_t n, float v[8])
{
    if (VECTOR && n >= 8)
        load8(p, v);
    else
        get8<false>(p, n, v);
}
template <bool VECTOR, class T> DEVICE void put_some8(T *p, int64_t n, const float v[8])
{
    if (VECTOR && n >= 8)
        store8_device(p, v);
    else
        put8<false>(p, n, v);
}

DEVICE unsigned keep_words(uint64_t counter, philox_key k, unsigned least)
{
    unsigned words[4], bits = 0;
    philox(counter, k, words);
    UNROLL for (int j = 0; j < 8; j++) bits |= (unsigned)(word_of(words, j) >= least) << j;
    return bits;
}
/* Bit j: element first + j of the tensor is kept, for j < 8. */
DEVICE unsigned keep8(uint64_t first, philox_key k, unsigned least)
{
    unsigned skip = (unsigned)(first % 8), bits = keep_words(first / 8, k, least);
    if (skip) bits = (bits | keep_words(first / 8 + 1, k, least) << 8) >> skip;
    return bits;
}

/* Eight elements of a tensor from `first` on, dropped or scaled. */
DEVICE void drop8(float v[8], uint64_t first, gpu_dropping d, const gpu_counter *c)
{
    if (!d.least) return;
    unsigned keep = keep8(first, key_of(c, d.place), d.least);
    UNROLL for (int j = 0; j < 8; j++) v[j] = keep >> j & 1 ? v[j] * d.scale : 0.f;
}

/* Are all these addresses aligned to 16 bytes (NULL counts as yes)? On the host. */
static inline bool aligned16(const void *a, const void *b = nullptr, const void *c = nullptr, const void *d = nullptr,
                             const void *e = nullptr, const void *f = nullptr)
{
    return (((uintptr_t)a | (uintptr_t)b | (uintptr_t)c | (uintptr_t)d | (uintptr_t)e | (uintptr_t)f) & 15) == 0;
}

/* Stores lanes to device memory. */
DEVICE void put_lanes(float *p, const lanes<float, 1> &x) { *p = x.v[0]; }
DEVICE void put_lanes(float *p, const lanes<float, 4> &x) { store4_device(p, x.v); }
#endif
