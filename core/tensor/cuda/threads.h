/* threads.h - one-dimensional grids over n items, for kernels with grid-stride loops. */
#ifndef ABLATE_CUDA_THREADS_H
#define ABLATE_CUDA_THREADS_H
#include "tensor/cuda/gpu.h"

enum { THREADS = 256, WARPS = THREADS / 32 };

/* Blocks for n threads, at most a number at which the last, partial wave costs little; threads loop over the rest. */
static inline dim3 blocks_for(int64_t n)
{
    int64_t most = 64 * (int64_t)gpu_multiprocessors(), blocks = (n + THREADS - 1) / THREADS;
    return dim3((unsigned)(blocks < most ? blocks : most));
}
DEVICE int64_t my_thread() { return (int64_t)blockIdx.x * THREADS + threadIdx.x; }
DEVICE int64_t all_threads() { return (int64_t)gridDim.x * THREADS; }

/* Blocks for n warps. */
static inline dim3 blocks_for_warps(int64_t n) { return blocks_for(32 * n); }
DEVICE int my_lane() { return (int)(threadIdx.x % 32); }
DEVICE int64_t my_warp() { return (int64_t)blockIdx.x * WARPS + threadIdx.x / 32; }
DEVICE int64_t all_warps() { return (int64_t)gridDim.x * WARPS; }

/* The first place in [low, high) whose key is larger than `than`; keys are ascending. */
DEVICE int64_t first_above(const int32_t *key, int64_t low, int64_t high, int64_t than)
{
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (key[middle] <= than)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Splits an index into axes [.., d2, d1, d0]. Index: unsigned, which divides faster, if it can count the elements. */
template <class Index> struct place {
    Index i3, i2, i1, i0;
};
template <class Index> DEVICE place<Index> place_of(Index i, Index d2, Index d1, Index d0)
{
    Index row = i / d0, plane = row / d1, outer = plane / d2;
    place<Index> p = {outer, plane - outer * d2, row - plane * d1, i - row * d0};
    return p;
}
/* The place's offset in a tensor with these strides. */
template <class Index> DEVICE int64_t offset_of(place<Index> p, const int64_t step[4])
{
    return (int64_t)p.i3 * step[0] + (int64_t)p.i2 * step[1] + (int64_t)p.i1 * step[2] + (int64_t)p.i0 * step[3];
}
#define COUNTS_IN_32(n) ((n) < (int64_t)1 << 32)
/* Launches a kernel over n items, if there are any; LAUNCH_INDEX with <T, Index>. T may be several: "bf16 WITH 4". */
#define LAUNCH_OVER(kernel, n, ...) ((n) > 0 ? LAUNCH(kernel, blocks_for(n), THREADS, 0, __VA_ARGS__) : gpu_launched())
#define LAUNCH_INDEX(kernel, T, n, ...)                                                                                \
    (COUNTS_IN_32(n) ? LAUNCH_OVER((kernel<T, unsigned>), n, __VA_ARGS__)                                              \
                     : LAUNCH_OVER((kernel<T, uint64_t>), n, __VA_ARGS__))
#endif
