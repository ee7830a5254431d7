/* gpu.h - kernels from one source for two compilers: nvcc for a GPU, any C++ compiler (GPU_ON_CPU) for tests without
 * one. NVRTC, which has no headers, compiles programs generated at run time (compiled.c).
 *
 * On the CPU a block's threads are fibers that switch at barriers and warp exchanges; blocks run one after another.
 * Dynamic shared memory has exactly the requested size and is filled with NaNs, memory of gpu_alloc is inaccessible
 * between launches (runtime.h), and gpu_reversed reverses the order of the fibers, which must not change results. This
 * finds wrong indices, missing barriers and reads of unwritten memory, but not slow code.
 *
 * Rules for kernels. Launch only through LAUNCH, with arguments by value. Shared memory: __shared__ for fixed sizes,
 * DYN_SMEM once per kernel. PTX only here and in hopper.h. Every live thread of a block reaches every __syncthreads,
 * all 32 of a warp every shuffle. No atomics except those of parts.h, which count blocks; none sums numbers. Blocks
 * have a multiple of 32 threads.
 */
#ifndef ABLATE_GPU_H
#define ABLATE_GPU_H
#include "tensor/cuda/runtime.h"
#include <stdint.h>

#define DEVICE __device__ __forceinline__ /* a function of kernels */
#ifdef GPU_ON_CPU
#include "gpu_emulation.h"
#else
#ifdef __CUDACC_RTC__
struct alignas(2) bf16 {
    unsigned short bits;
};
DEVICE float to_float(bf16 x) { return __uint_as_float((unsigned)x.bits << 16); }
DEVICE bf16 to_bf16(float x)
{
    bf16 y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
}
/* Two numbers as a word, the first in the lower half. */
DEVICE unsigned bf16_pair(float low, float high)
{
    return (unsigned)to_bf16(low).bits | (unsigned)to_bf16(high).bits << 16;
}
#else
#include <cuda_bf16.h>
#include <cuda_runtime.h>

typedef __nv_bfloat16 bf16;
DEVICE float to_float(bf16 x) { return __bfloat162float(x); }
DEVICE bf16 to_bf16(float x) { return __float2bfloat16_rn(x); }
DEVICE unsigned bf16_pair(float low, float high)
{
    __nv_bfloat162 p = __floats2bfloat162_rn(low, high);
    return *(unsigned *)&p;
}
#endif

/* d [16,8] += a [16,16] b [16,8], the fragments of one warp: m16n8k16, bf16 in, fp32 sums (PTX ISA, "mma.m16n8k16").
 * Lane l, g = l / 4, t = l % 4: a[i] has row g + 8 (i % 2), columns 2 t + 8 (i / 2) and the next; b[i] rows 2 t + 8 i
 * and the next of column g; d[i] row g + 8 (i / 2), column 2 t + i % 2. The lower half of a word is the lower index. */
DEVICE void mma_16816(float d[4], const unsigned a[4], const unsigned b[2])
{
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
/* Stores 2 or 4 words at p in device memory, aligned to 8 or 16 bytes, in one instruction. nvcc 13.0 splits the store
 * of a struct into several of 2 or 4 bytes if its members were computed one by one (tests/cuda/model.sh). */
DEVICE void store_words(void *p, const unsigned (&w)[2])
{
    asm volatile("st.global.v2.u32 [%0], {%1,%2};" ::"l"(__cvta_generic_to_global(p)), "r"(w[0]), "r"(w[1]) : "memory");
}
DEVICE void store_words(void *p, const unsigned (&w)[4])
{
    asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(__cvta_generic_to_global(p)), "r"(w[0]), "r"(w[1]),
                 "r"(w[2]), "r"(w[3])
                 : "memory");
}
#define UNROLL           _Pragma("unroll")
#define PRAGMA_OF(words) _Pragma(#words)
#define UNROLL_BY(n)     PRAGMA_OF(unroll n) /* unrolls n times; 1: does not unroll */
/* In a loop: values derived from x are recomputed in each iteration. Otherwise the compiler keeps all addresses of a
 * tile and the keys of all philox rounds in registers and spills others. */
#define FRESH(x)         asm volatile("" : "+r"(x))
#define GPU_MEMBER       DEVICE /* a function of a struct */
#define GPU_CALLED       __device__ __noinline__ /* a function of a struct that is not inlined */
/* clang-format does not know <<< */
// clang-format off
#define LAUNCH(kernel, grid, block, smem, ...)                                                                         \
    (gpu_shared_memory((const void *)(kernel), (smem)),                                                                \
     (kernel)<<<(grid), (block), (smem), (cudaStream_t)gpu_stream()>>>(__VA_ARGS__), gpu_launched())
// clang-format on
#define DYN_SMEM(T, name)                                                                                              \
    extern __shared__ __align__(16) unsigned char gpu_dynamic[];                                                       \
    T *name = (T *)gpu_dynamic
#endif

/* ---- for both ---- */

#define WITH , /* in an argument of a macro */

/* 8 random words of 16 bits for elements 8 i .. 8 i + 7 of a tensor: Philox 4x32 (Salmon et al. 2011), the counter and
 * key of op.h and the rounds of base/random.c, so that the CPU drops the same elements. Word j: words[j / 2] >> 16 (j %
 * 2) & 0xffff. */
struct philox_key {
    unsigned place, step, seed_low, seed_high;
};
DEVICE void philox(uint64_t i, philox_key k, unsigned words[4])
{
    unsigned c0 = (unsigned)i, c1 = (unsigned)(i >> 32), c2 = k.place, c3 = k.step, k0 = k.seed_low, k1 = k.seed_high;
    UNROLL for (int round = 0; round < GPU_PHILOX_ROUNDS; round++)
    {
        unsigned h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0;
        unsigned h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
        c0 = h1 ^ c1 ^ k0, c1 = l1, c2 = h0 ^ c3 ^ k1, c3 = l0;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    words[0] = c0, words[1] = c1, words[2] = c2, words[3] = c3;
}
DEVICE unsigned word_of(const unsigned words[4], int j) { return words[j >> 1] >> (16 * (j & 1)) & 0xffffu; }

/* The key of a dropout place in the current run: seed and step are in device memory, so that a graph can be rerun. */
DEVICE philox_key key_of(const gpu_counter *c, unsigned place)
{
    philox_key k = {place, (unsigned)c->step, (unsigned)c->seed, (unsigned)(c->seed >> 32)};
    return k;
}

/* Below every score and logit; its exponential is 0, without infinities. */
#define LOWEST (-1e38f)

/* Joins x of all lanes; the result is in every lane. */
template <class X, class Join> DEVICE X warp_join(X x, Join join)
{
    for (int o = 16; o; o >>= 1) x = join(x, __shfl_xor_sync(0xffffffffu, x, o));
    return x;
}
template <class X> DEVICE X warp_sum(X x)
{
    return warp_join(x, [](X a, X b) { return a + b; });
}
DEVICE float warp_max(float x) { return warp_join(x, fmaxf); }
/* The sum over a block of 32 WARPS threads, warp by warp, in every thread; may be called again at once. */
template <int WARPS, class X> DEVICE X block_sum(X x)
{
    __shared__ X part[WARPS];
    x = warp_sum(x);
    __syncthreads(); /* the previous sum has been read */
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = x;
    __syncthreads();
    X sum = part[0];
    for (int w = 1; w < WARPS; w++) sum += part[w];
    return sum;
}
/* The maximum over a block; the next call must follow another barrier. */
template <int WARPS> DEVICE float block_max(float x)
{
    __shared__ float part[WARPS];
    x = warp_max(x);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = x;
    __syncthreads();
    float most = part[0];
    for (int w = 1; w < WARPS; w++) most = fmaxf(most, part[w]);
    return most;
}

/* Numbers of rows, whatever their type: load and store as float. */
DEVICE float load(const float *p) { return *p; }
DEVICE float load(const bf16 *p) { return to_float(*p); }
DEVICE void store(float *p, float x) { *p = x; }
DEVICE void store(bf16 *p, float x) { *p = to_bf16(x); }
#endif
