/* planted_races.cu - kernels with one race each, which the detector must find; with `sound` the race is mended, and the
 * detector must find none (planted_races.sh). usage: planted_races CASE [sound] */
#include "tensor/cuda/parts.h"
#include <string.h>

enum { N = 128, BLOCKS = 5 };

/* ---- within a block ---- */

/* Every thread reads what a thread of the next warp has written. */
__global__ void k_between_warps(float *y, const float *x, int sound)
{
    __shared__ float s[N];
    s[threadIdx.x] = x[threadIdx.x];
    if (sound) __syncthreads();
    y[threadIdx.x] = s[(threadIdx.x + 32) % N];
}

/* A race inside one warp: the shuffle between the accesses orders no memory. */
__global__ void k_in_warp(float *y, const float *x, int sound)
{
    DYN_SMEM(float, s);
    s[threadIdx.x] = x[threadIdx.x];
    float other = __shfl_xor_sync(0xffffffffu, x[threadIdx.x], 1);
    if (sound) __syncwarp();
    y[threadIdx.x] = other + s[threadIdx.x ^ 1];
}

/* A number is read in one iteration and written in the next. */
__global__ void k_next_turn(float *y, const float *x, int sound)
{
    __shared__ float s[N];
    float sum = 0;
    for (int turn = 0; turn < 3; turn++) {
        s[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        sum += s[N - 1 - threadIdx.x];
        if (sound) __syncthreads();
    }
    y[threadIdx.x] = sum;
}

/* All threads write one number. */
__global__ void k_two_writers(float *y, int sound)
{
    if (!sound || !threadIdx.x) y[0] = 1;
}

/* Neighbours write halves and bytes of one word, which is no race. Unless `sound`, one thread also writes its
 * neighbour's part. */
__global__ void k_halves(bf16 *y, int sound)
{
    y[threadIdx.x] = to_bf16(1);
    if (!sound && threadIdx.x == N - 1) y[0] = to_bf16(2);
}
__global__ void k_bytes(unsigned char *y, int sound)
{
    y[threadIdx.x] = 1;
    if (!sound && threadIdx.x == N - 1) y[1] = 2;
}

/* One warp ends early; the other warps wait at a barrier which this warp never reaches. */
__global__ void k_warp_leaves(float *y, int sound)
{
    __shared__ float s[N];
    s[threadIdx.x] = 1;
    if (threadIdx.x < 32) return;
    if (sound) __syncthreads();
    y[threadIdx.x] = s[threadIdx.x - 32];
}

/* ---- between blocks ---- */

enum lack { NOTHING, FENCE_BEFORE, BARRIER_BEFORE, BARRIER_AFTER, FENCE_AFTER, TICKET };
/* Every block writes its partial sum; the last block adds them (as parts.h does). */
__global__ void k_parts(float *y, float *parts, unsigned *ticket, int lacks)
{
    __shared__ bool last;
    parts[blockIdx.x * N + threadIdx.x] = 1;
    if (lacks != FENCE_BEFORE) __threadfence();
    if (lacks != BARRIER_BEFORE) __syncthreads();
    if (lacks == TICKET) {
        if (!threadIdx.x) last = blockIdx.x == gridDim.x - 1;
    } else if (!threadIdx.x) {
        last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    if (lacks != BARRIER_AFTER) __syncthreads();
    if (!last) return;
    if (lacks != FENCE_AFTER) __threadfence();
    float sum = 0;
    for (unsigned b = 0; b < gridDim.x; b++) sum += __ldcg(parts + b * N + (threadIdx.x + 1) % N);
    y[threadIdx.x] = sum;
}

/* Thread 0 executes the fence for its whole block, after a barrier. */
__global__ void k_one_fence(float *y, float *parts, unsigned *ticket)
{
    __shared__ bool last;
    parts[blockIdx.x * N + threadIdx.x] = 1;
    __syncthreads();
    if (!threadIdx.x) {
        __threadfence();
        last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    for (unsigned b = 0; last && b < gridDim.x; b++) y[threadIdx.x] = parts[b * N + (threadIdx.x + 1) % N];
}

/* Sums in two stages, with two tickets: more blocks than one group has. */
__global__ void k_groups(float *y, float *parts)
{
    parts[blockIdx.x * N + threadIdx.x] = 1;
    add_parts(parts, gridDim.x, blockIdx.x, N, 0, N, (unsigned *)(parts + gridDim.x * N),
              [=](int64_t i, float sum) { y[i] = sum; });
}

/* A block reads a number that the next block writes. */
__global__ void k_neighbour_block(float *y, float *x, int sound)
{
    x[blockIdx.x * N + threadIdx.x] = 1;
    y[blockIdx.x * N + threadIdx.x] = x[((blockIdx.x + !sound) % gridDim.x) * N + threadIdx.x];
}

/* ---- between streams ---- */

__global__ void k_set(float *y, float x) { y[threadIdx.x] = x; }

static void two_streams(float *x, float *y, int from_graph, int sound)
{
    if (from_graph) gpu_capture();
    gpu_copy(x, y, N * sizeof(float));
    gpu_side_begin(GPU_RANKS);
    LAUNCH(k_set, 1, N, 0, x, 2.f);
    gpu_side_end();
    if (sound) gpu_side_join(GPU_RANKS);
    LAUNCH(k_set, 1, N, 0, x, 3.f);
    gpu_side_join(GPU_RANKS);
    if (!from_graph) return;
    void *graph = gpu_captured();
    for (int i = 0; i < 2; i++) gpu_replay(graph);
    gpu_graph_free(graph);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int sound = argc > 2;
    float *x = (float *)gpu_alloc(BLOCKS * N * sizeof(float)), *y = (float *)gpu_alloc(BLOCKS * N * sizeof(float));
    float *parts = (float *)gpu_alloc((40 * N + GPU_TICKETS) * sizeof(float));
    gpu_zero(x, BLOCKS * N * sizeof(float));
    gpu_zero(parts, (40 * N + GPU_TICKETS) * sizeof(float));
    static const char *const lacks[] = {"nothing",       "fence_before", "barrier_before",
                                        "barrier_after", "fence_after",  "ticket"};
    int known = 1;
    for (int i = 1; i <= TICKET; i++)
        if (!strcmp(what, lacks[i]))
            return LAUNCH(k_parts, BLOCKS, N, 0, y, parts, gpu_tickets(), sound ? (int)NOTHING : i);
    if (!strcmp(what, "between_warps"))
        LAUNCH(k_between_warps, 1, N, 0, y, x, sound);
    else if (!strcmp(what, "in_warp"))
        LAUNCH(k_in_warp, 1, N, N * sizeof(float), y, x, sound);
    else if (!strcmp(what, "next_turn"))
        LAUNCH(k_next_turn, 1, N, 0, y, x, sound);
    else if (!strcmp(what, "two_writers"))
        LAUNCH(k_two_writers, 1, N, 0, y, sound);
    else if (!strcmp(what, "halves"))
        LAUNCH(k_halves, 1, N, 0, (bf16 *)y, sound);
    else if (!strcmp(what, "bytes"))
        LAUNCH(k_bytes, 1, N, 0, (unsigned char *)y, sound);
    else if (!strcmp(what, "warp_leaves"))
        LAUNCH(k_warp_leaves, 1, N, 0, y, sound);
    else if (!strcmp(what, "one_fence")) /* sound alone */
        LAUNCH(k_one_fence, BLOCKS, N, 0, y, parts, gpu_tickets());
    else if (!strcmp(what, "groups"))
        LAUNCH(k_groups, 40, N, 0, y, parts);
    else if (!strcmp(what, "neighbour_block"))
        LAUNCH(k_neighbour_block, BLOCKS, N, 0, y, x, sound);
    else if (!strcmp(what, "streams") || !strcmp(what, "streams_in_graph"))
        two_streams(x, y, what[7] != 0, sound);
    else
        known = 0;
    gpu_release(x), gpu_release(y), gpu_release(parts);
    return known && !gpu_error() ? 0 : 2;
}
