/* ragged.cu - lengths and first elements of packed sentences. */
#include "tensor/cuda/gpu.h"
#include "tensor/cuda/ragged.h"

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

int gpu_ragged(int sentences, int n, const ragged_list *lists)
{
    const unsigned threads = 128;
    ragged_lists all = {};
    if (n < 1 || n > RAGGED_MOST) return gpu_refuse("gpu_ragged: too many lists");
    for (int i = 0; i < n; i++) all.at[i] = lists[i];
    dim3 grid(((unsigned)sentences + threads) / threads, (unsigned)n);
    return LAUNCH(fill_ragged, grid, threads, 0, sentences, all);
}
