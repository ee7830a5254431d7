/* losses.cu - see losses.h. One block: a step has a few thousand rows. */
#include "tensor/cuda/losses.h"
#include "tensor/cuda/gpu.h"

enum { THREADS = 512 };

__global__ void k_add_columns(double *two, const float *losses, int64_t rows)
{
    __shared__ double part[2][THREADS];
    double smoothed = 0, plain = 0;
    for (int64_t i = threadIdx.x; i < rows; i += THREADS) smoothed += losses[2 * i], plain += losses[2 * i + 1];
    part[0][threadIdx.x] = smoothed, part[1][threadIdx.x] = plain;
    __syncthreads();
    for (int half = THREADS / 2; half; half /= 2) {
        if ((int)threadIdx.x < half)
            for (int j = 0; j < 2; j++) part[j][threadIdx.x] += part[j][threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x < 2) two[threadIdx.x] = part[threadIdx.x][0];
}

extern "C" int gpu_add_columns(double *two, const float *losses, int64_t rows)
{
    return LAUNCH(k_add_columns, dim3(1), dim3(THREADS), 0, two, losses, rows);
}
