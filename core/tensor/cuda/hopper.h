/* hopper.h - instructions that only compute capability 9.0 has (sm_90a), for attend_wgmma.h: tiles copied by the tensor
 * memory accelerator (TMA), barriers in shared memory that count threads and bytes (mbarrier), and products of a warp
 * group, four warps, that run while the threads continue (wgmma). PTX ISA 8.0, "cp.async.bulk.tensor", "mbarrier",
 * "Asynchronous Warpgroup Level Matrix Instructions". Addresses are those of shared memory, in bytes.
 *
 * A tile has rows of 64 columns of bf16, 128 bytes, and starts at a multiple of 1,024 bytes. TMA exchanges the 16-byte
 * parts of a row: part p of row r is at p ^ (r % 8), so that products read without bank conflicts. */
#ifndef ABLATE_CUDA_HOPPER_H
#define ABLATE_CUDA_HOPPER_H
#include "tensor/cuda/gpu.h"

enum { HOPPER_COLUMNS = 64, HOPPER_ROW = 2 * HOPPER_COLUMNS, HOPPER_EIGHT = 8 * HOPPER_ROW /* bytes of eight rows */ };

/* The right factor of a product, in a tile from `at` on ("Matrix-descriptor"): eight rows are 1,024 bytes apart, the
 * parts of a row swizzled over 128 bytes. The other offset has no meaning in a tile of 64 columns. */
DEVICE uint64_t matrix_at(unsigned at)
{
    return (at & 0x3ffffu) >> 4 | 1u << 16 | (uint64_t)(HOPPER_EIGHT >> 4) << 32 | (uint64_t)1 << 62;
}

#ifdef GPU_ON_CPU
#include "hopper_emulation.h"
#else
DEVICE unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

/* A phase of the barrier ends after `arrivals` arrivals and all expected bytes. */
DEVICE void barrier_start(unsigned barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
DEVICE void barrier_arrive(unsigned barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
DEVICE void barrier_arrive_expecting(unsigned barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
/* Waits until the last ended phase has this parity (0: the first phase, 1: the second). Parity 1 returns at once before
 * any phase has ended. By a whole warp, which continues together: a late lane would mistake the phase after the next
 * for this one, and wgmma needs all lanes at once. */
DEVICE void barrier_wait(unsigned barrier, unsigned parity)
{
    unsigned ended = 0;
    while (!ended)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(ended)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    __syncwarp();
}

/* Copies the map's tile at this column and row to shared memory, zeros beyond its ends. Its bytes arrive at the
 * barrier. By one thread. */
DEVICE void tile_load(unsigned to, const gpu_tensor_map &map, int column, int row, unsigned barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
                 "%3}], [%4];" ::"r"(to),
                 "l"(&map), "r"(column), "r"(row), "r"(barrier)
                 : "memory");
}
/* Writes 16 bytes of zeros. */
DEVICE void shared_clear(unsigned at)
{
    asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(at), "r"(0) : "memory");
}
/* Makes this thread's own writes to shared memory, barriers included, visible to TMA and products. */
DEVICE void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/* Before products: registers that the threads have written may be read. */
DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

/* Sets each thread's number of registers, a multiple of 8; the rest is for other warp groups. By a whole group. */
template <int N> DEVICE void registers_leave() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N)); }
template <int N> DEVICE void registers_take() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N)); }

#define FOUR_SUMS(d, j) "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
#define ALL_SUMS(d)                                                                                                    \
    FOUR_SUMS(d, 0), FOUR_SUMS(d, 1), FOUR_SUMS(d, 2), FOUR_SUMS(d, 3), FOUR_SUMS(d, 4), FOUR_SUMS(d, 5),              \
        FOUR_SUMS(d, 6), FOUR_SUMS(d, 7)

/* Starts d [64, 64] += a [64, 16] b [16, 64] (with !add: = instead of +=). Do not touch d or a until wgmma_wait. Each
 * warp has 16 rows of d and a, in the layout of mma_16816. b: 16 rows of a tile (TURNED), or 16 columns of its 64 rows.
 * By a whole warp group. */
template <int TURNED> DEVICE void wgmma(float (&d)[8][4], const unsigned (&a)[4], uint64_t b, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %37, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, "
                 "%11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, "
                 "%31}, {%32, %33, %34, %35}, %36, p, 1, 1, %38; }"
                 : ALL_SUMS(d)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(TURNED));
}
/* Waits for all committed products. It names d, so that the compiler reads d only afterwards. */
DEVICE void wgmma_wait(float (&d)[8][4]) { asm volatile("wgmma.wait_group.sync.aligned 0;" : ALL_SUMS(d)::"memory"); }
#endif
#endif
