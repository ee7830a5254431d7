/* services.cu - sums of losses and of ranks, lists of packed sentences: see services.h. */
#include "tensor/cuda/services.h"
#include "tensor/cuda/threads.h"

enum { LOSS_THREADS = 512 }; /* threads of the single block: a step has a few thousand rows */

__global__ void k_add_columns(double *two, const float *losses, int64_t rows)
{
    double smoothed = 0, plain = 0;
    for (int64_t i = threadIdx.x; i < rows; i += LOSS_THREADS) smoothed += losses[2 * i], plain += losses[2 * i + 1];
    smoothed = block_sum<LOSS_THREADS / 32>(smoothed), plain = block_sum<LOSS_THREADS / 32>(plain);
    if (!threadIdx.x) two[0] = smoothed, two[1] = plain;
}
extern "C" void gpu_add_columns(double *two, const void *losses, int64_t rows)
{
    (void)LAUNCH(k_add_columns, dim3(1), dim3(LOSS_THREADS), 0, two, (const float *)losses, rows);
}

/* Reads each value once and overwrites the rank's own with the sum. */
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
    return n ? LAUNCH_OVER(k_add_ranks, n, own, parts, me, ranks, stride, n) : gpu_launched();
}

struct ragged_lists {
    ragged_list at[RAGGED_MOST];
};
__global__ void fill_ragged(int sentences, ragged_lists lists)
{
    ragged_list l = lists.at[blockIdx.y];
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (l.by ? i > sentences : i >= sentences) return;
    l.to[i] = l.by ? (int32_t)(l.off[i] * l.by) : l.off[i + 1] - l.off[i];
}
extern "C" int gpu_ragged(int sentences, int n, const ragged_list *lists)
{
    const unsigned threads = 128;
    ragged_lists all = {};
    if (n < 1 || n > RAGGED_MOST) return gpu_refuse("gpu_ragged: too many lists");
    for (int i = 0; i < n; i++) all.at[i] = lists[i];
    dim3 grid(((unsigned)sentences + threads) / threads, (unsigned)n);
    return LAUNCH(fill_ragged, grid, threads, 0, sentences, all);
}
