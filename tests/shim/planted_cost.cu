/* planted_cost.cu - kernels whose cost is known, for planted_cost.sh. */
#include "cost.h"
#include "tensor/cuda/gpu.h"

__global__ void side_by_side(float4 *y, const float4 *x) { y[threadIdx.x] = x[threadIdx.x]; }
__global__ void apart(float *y, const float *x) { y[threadIdx.x] = x[8 * threadIdx.x]; }
__global__ void shifted(float *y, const float *x) { y[threadIdx.x] = x[threadIdx.x + 1]; }
__global__ void same(float *y, const float *x) { y[threadIdx.x] = x[5]; }
/* Copies 32 bytes per lane: two instructions, each of which uses half of every sector. */
struct alignas(16) eight {
    float v[8];
};
__global__ void two_halves(eight *y, const eight *x) { y[threadIdx.x] = x[threadIdx.x]; }
/* Half of the warp's lanes read twice, the others once; the numbers that lanes read at the same time lie side by
 * side. */
__global__ void some_lanes(float *y, const float *x)
{
    float sum = 0;
    for (int i = 0; i < (threadIdx.x < 16 ? 2 : 1); i++) sum += x[32 * i + threadIdx.x];
    y[threadIdx.x] = sum;
}
/* Shared memory [32][N]: writes a row, reads a column. */
template <int N> __global__ void turned(float *y)
{
    __shared__ float tile[32][N];
    for (int i = 0; i < 32; i++) tile[i][threadIdx.x] = (float)i;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 32; i++) sum += tile[threadIdx.x][i];
    y[threadIdx.x] = sum;
}
/* Each lane accesses 16 bytes, and a quarter of the warp is served at a time. If the lanes' bytes lie side by side,
 * there is no conflict; at a distance of 32 bytes each quarter takes two passes. */
template <int STEP> __global__ void fours(float *y)
{
    __shared__ float4 tile[32 * STEP];
    tile[STEP * threadIdx.x] = make_float4(1, 2, 3, 4);
    __syncthreads();
    float4 x = tile[STEP * threadIdx.x];
    y[threadIdx.x] = x.y;
}

int main()
{
    const char *why;
    if (gpu_open(0, &why)) return 1;
    float *x = (float *)gpu_alloc(4096), *y = (float *)gpu_alloc(4096);
    gpu_label = "planted";
    int bad = LAUNCH(side_by_side, 1, 32, 0, (float4 *)y, (const float4 *)x) || LAUNCH(apart, 1, 32, 0, y, x) ||
              LAUNCH(shifted, 1, 32, 0, y, x) || LAUNCH(same, 1, 32, 0, y, x) ||
              LAUNCH(two_halves, 1, 32, 0, (eight *)y, (const eight *)x) || LAUNCH(some_lanes, 1, 32, 0, y, x) ||
              LAUNCH(turned<32>, 1, 32, 0, y) || LAUNCH(turned<33>, 1, 32, 0, y) || LAUNCH(fours<1>, 1, 32, 0, y) ||
              LAUNCH(fours<2>, 1, 32, 0, y);
    gpu_label = "";
    cost_print();
    gpu_close();
    return bad;
}
