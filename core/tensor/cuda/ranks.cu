/* ranks.cu - see ranks.h. One pass: each value is read once and the sum is written over the rank's own. */
#include "tensor/cuda/ranks.h"
#include "tensor/cuda/threads.h"

__global__ void k_add_ranks(float *own, const float *parts, int me, int ranks, int64_t stride, int64_t n)
{
    for (int64_t i = my_thread(); i < n; i += all_threads()) {
        float sum = me ? parts[i] : own[i];
        for (int r = 1; r < ranks; r++) sum += r == me ? own[i] : parts[r * stride + i];
        own[i] = sum;
    }
}

extern "C" int gpu_add_ranks(float *own, const float *parts, int me, int ranks, int64_t stride, int64_t n)
{
    return n ? LAUNCH(k_add_ranks, blocks_for(n), dim3(THREADS), 0, own, parts, me, ranks, stride, n) : gpu_launched();
}
