/* planted.cu - kernels with one mistake each, which the test build must find (planted.sh). usage: planted MISTAKE.
 * Exits with 0 if nothing was found, with 1 if two orders of the threads give different results; any other detection
 * ends the program earlier. */
#include "tensor/cuda/gpu.h"
#include <string.h>

enum { N = 128 };

/* Every thread reads its neighbour's number: right only after a barrier. */
__global__ void k_neighbour(float *y, const float *x, int barrier)
{
    DYN_SMEM(float, s);
    int t = threadIdx.x;
    s[t] = x[t];
    if (barrier) __syncthreads();
    y[t] = s[(t + 1) % N];
}

__global__ void k_overrun(float *y, const float *x, int n)
{
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
    y[threadIdx.x] = sum;
}

/* Half of every warp waits at a block's barrier, the other half at the warp's. */
__global__ void k_half_barrier(float *y)
{
    if (threadIdx.x % 2) __syncthreads();
    __syncwarp();
    y[threadIdx.x] = 1;
}

/* Reads static shared memory that neither this block nor an earlier one has written. */
__global__ void k_unwritten(float *y, int writes)
{
    __shared__ float s[N];
    if (writes || threadIdx.x != 5) s[threadIdx.x] = 0;
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x];
}

/* Uses 40,960 bytes of static shared memory, which with dynamic memory is too much. */
__global__ void k_large(float *y)
{
    __shared__ float s[10240];
    for (int i = threadIdx.x; i < 10240; i += N) s[i] = 0;
    __syncthreads();
    y[threadIdx.x] = s[N + threadIdx.x];
}

static void run(float *out, float *y, const float *x, int barrier, int reversed, size_t smem)
{
    gpu_reversed = reversed;
    LAUNCH(k_neighbour, dim3(1), dim3(N), smem, y, x, barrier);
    gpu_copy_out(out, y, N * sizeof(float));
}

int main(int argc, char **argv)
{
    const char *mistake = argc > 1 ? argv[1] : "none";
    float numbers[N], forward[N], backward[N];
    for (int i = 0; i < N; i++) numbers[i] = (float)i;
    float *x = (float *)gpu_alloc(sizeof numbers), *y = (float *)gpu_alloc(sizeof numbers);
    gpu_copy_in(x, numbers, sizeof numbers);
    int rc = 0;
    if (!strcmp(mistake, "overrun")) {
        LAUNCH(k_overrun, dim3(1), dim3(N), 0, y, x, N + 1);
    } else if (!strcmp(mistake, "host")) {
        rc = x[3] == numbers[3] ? 0 : 2;
    } else if (!strcmp(mistake, "unwritten")) { /* a first block writes the whole array */
        for (int writes = 1; writes >= 0; writes--) LAUNCH(k_unwritten, dim3(1), dim3(N), 0, y, writes);
        gpu_copy_out(forward, y, sizeof forward);
        rc = forward[5] == 0 ? 0 : 3;
    } else if (!strcmp(mistake, "large")) {
        LAUNCH(k_large, dim3(2), dim3(N), 188 << 10, y);
        puts(gpu_error() ? gpu_error() : "nothing");
    } else if (!strcmp(mistake, "block")) {
        LAUNCH(k_large, dim3(1), dim3(512), 0, y);
        puts(gpu_error() ? gpu_error() : "nothing");
    } else if (!strcmp(mistake, "grid")) {
        LAUNCH(k_large, dim3(1, 65536), dim3(N), 0, y);
        puts(gpu_error() ? gpu_error() : "nothing");
    } else if (!strcmp(mistake, "barrier_not_for_all")) {
        LAUNCH(k_half_barrier, dim3(1), dim3(N), 0, y);
    } else {
        size_t smem = !strcmp(mistake, "shared_overrun") ? (N - 1) * sizeof(float) : N * sizeof(float);
        int barrier = strcmp(mistake, "no_barrier") != 0;
        run(forward, y, x, barrier, 0, smem);
        run(backward, y, x, barrier, 1, smem);
        rc = memcmp(forward, backward, sizeof forward) ? 1 : 0;
        for (int i = 0; i < N && !rc; i++) rc = forward[i] == numbers[(i + 1) % N] ? 0 : 2;
    }
    gpu_release(x);
    gpu_release(y);
    return rc;
}
