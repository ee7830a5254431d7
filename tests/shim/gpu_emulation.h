/* gpu_emulation.h - the parts of CUDA that kernels use, on the CPU; only gpu.h includes it. */
#ifndef ABLATE_CUDA_SHIM_H
#define ABLATE_CUDA_SHIM_H
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#define __global__ static
#define __device__ static inline
#define __host__
#define GPU_MEMBER inline
#define GPU_CALLED inline
#define __grid_constant__
#ifdef GPU_INLINE /* keeps calls of functions apart, so that cost.cc can print the callers' lines */
#define __forceinline__ __attribute__((always_inline, unused))
#else
#define __forceinline__ __attribute__((unused))
#endif
#define __restrict__ __restrict
#define __launch_bounds__(...)
#ifdef __SANITIZE_ADDRESS__ /* the address sanitizer guards static variables, but not thread-local ones */
#define __shared__ static
#else
#define __shared__ static thread_local /* gpu_shared.cc finds such variables in the symbol table */
#endif
#define __align__(n) alignas(n)
#define __constant__ static

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
struct gpu_index {
    unsigned x, y, z;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(16) int4 {
    int x, y, z, w;
};
static inline float4 make_float4(float x, float y, float z, float w) { return float4{x, y, z, w}; }
static inline float2 make_float2(float x, float y) { return float2{x, y}; }
static inline uint2 make_uint2(unsigned x, unsigned y) { return uint2{x, y}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return uint4{x, y, z, w}; }

extern gpu_index threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
extern unsigned char *gpu_dynamic; /* dynamic shared memory of the block under way */

void gpu_barrier();                   /* waits for all live threads of the block */
void gpu_warp_barrier(unsigned mask); /* waits for the live threads of the warp */
/* from: the lane whose value is copied to `out`; below 0: no value is copied */
void gpu_exchange(unsigned mask, const void *mine, int from, void *out, size_t bytes);
void gpu_launch(const char *name, const void *kernel, dim3 grid, dim3 block, size_t smem, std::function<void()> body);
void gpu_mma(float d[4], const unsigned a[4], const unsigned b[2]);
unsigned gpu_vote(unsigned mask, int yes);
void gpu_fence();
/* ends the test with an error about the kernel if p is not in device memory */
void gpu_in_device_memory(const void *p);
unsigned gpu_atomic_inc(unsigned *p, unsigned most);

static inline void __syncthreads() { gpu_barrier(); }
static inline void __syncwarp(unsigned mask = 0xffffffffu) { gpu_warp_barrier(mask); }
static inline int gpu_lane()
{
    return (int)((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32);
}
template <class T> static inline T __shfl_sync(unsigned mask, T v, int from)
{
    T r;
    gpu_exchange(mask, &v, from & 31, &r, sizeof v);
    return r;
}
template <class T> static inline T __shfl_xor_sync(unsigned mask, T v, int x)
{
    T r;
    gpu_exchange(mask, &v, gpu_lane() ^ x, &r, sizeof v);
    return r;
}
template <class T> static inline T __shfl_down_sync(unsigned mask, T v, int by)
{
    T r;
    int from = gpu_lane() + by;
    gpu_exchange(mask, &v, from < 32 ? from : gpu_lane(), &r, sizeof v);
    return r;
}
static inline unsigned __ballot_sync(unsigned mask, int yes) { return gpu_vote(mask, yes); }
static inline int __any_sync(unsigned mask, int yes) { return gpu_vote(mask, yes) != 0; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float rsqrtf(float x) { return 1.f / sqrtf(x); }
#define __expf expf /* because the C library has functions of these names */
#define __logf logf
#define UNROLL
#define UNROLL_BY(n)
#define FRESH(x) (void)(x)
static inline float __fdividef(float a, float b) { return a / b; }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __ffs(unsigned x) { return __builtin_ffs((int)x); }
static inline long long __double_as_longlong(double x)
{
    long long u;
    memcpy(&u, &x, 8);
    return u;
}
static inline unsigned __float_as_uint(float x)
{
    unsigned u;
    memcpy(&u, &x, 4);
    return u;
}
static inline float __uint_as_float(unsigned u)
{
    float x;
    memcpy(&x, &u, 4);
    return x;
}
template <class T> static inline T __ldg(const T *p) { return *p; }
template <class T> static inline T __ldcg(const T *p) { return *p; }
static inline void __threadfence() { gpu_fence(); }
static inline unsigned atomicInc(unsigned *p, unsigned most) { return gpu_atomic_inc(p, most); }
template <class T> static inline T min(T a, T b) { return b < a ? b : a; }
template <class T> static inline T max(T a, T b) { return a < b ? b : a; }

struct alignas(2) bf16 {
    uint16_t bits;
};
static inline float to_float(bf16 x) { return __uint_as_float((unsigned)x.bits << 16); }
static inline bf16 to_bf16(float x)
{
    unsigned u = __float_as_uint(x);
    if ((u & 0x7fffffffu) > 0x7f800000u) return bf16{0x7fff}; /* NaN stays NaN */
    return bf16{(uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16)};
}
static inline unsigned bf16_pair(float low, float high)
{
    return (unsigned)to_bf16(low).bits | (unsigned)to_bf16(high).bits << 16;
}
static inline void store_words(void *p, const unsigned (&w)[2])
{
    gpu_in_device_memory(p);
    *(uint2 *)p = make_uint2(w[0], w[1]);
}
static inline void store_words(void *p, const unsigned (&w)[4])
{
    gpu_in_device_memory(p);
    *(uint4 *)p = make_uint4(w[0], w[1], w[2], w[3]);
}
static inline void mma_16816(float d[4], const unsigned a[4], const unsigned b[2]) { gpu_mma(d, a, b); }

/* Copies the arguments when launched, as CUDA does. */
template <class... P, class... A>
static inline int gpu_call(const char *name, void (*kernel)(P...), dim3 grid, dim3 block, size_t smem, A... a)
{
    gpu_launch(name, (const void *)kernel, grid, block, smem, [=] { kernel(a...); });
    return gpu_launched();
}
#define LAUNCH(kernel, grid, block, smem, ...) gpu_call(#kernel, (kernel), (grid), (block), (smem), __VA_ARGS__)
#define DYN_SMEM(T, name)                      T *name = (T *)gpu_dynamic
#endif
