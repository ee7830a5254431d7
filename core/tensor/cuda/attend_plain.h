/* attend_plain.h - products of one block on F32 rows, for the attention kernels. For kernels.
 *
 * A block of 128 threads multiplies a tile of 32 rows with tiles of 32 rows of the other side. Thread 8 i + j has rows
 * 2 i and 2 i + 1: score columns j, j + 8, j + 16, j + 24, and result columns (CHUNK wide) 4 j .. 4 j + 3 and 32 + the
 * same. For results wider than CHUNK, another block recomputes the scores.
 */
#ifndef ABLATE_CUDA_ATTEND_PLAIN_H
#define ABLATE_CUDA_ATTEND_PLAIN_H
#include "tensor/cuda/attend_tile.h"

enum { PLAIN = ATTEND_TILE_F32, CHUNK = 64, PLAIN_THREADS = 128, PLAIN_ROW = PLAIN + 4, CHUNK_ROW = CHUNK + 4 };

struct plain_rows {
    const float *x;
    int64_t stride;
    int n;
}; /* of one head */

struct __align__(16) plain_memory
{ /* shared memory; rows are padded to avoid bank conflicts */
    float left[PLAIN][PLAIN_ROW], right[PLAIN][PLAIN_ROW], p[PLAIN][PLAIN_ROW], ds[PLAIN][PLAIN_ROW],
        chunk[PLAIN][CHUNK_ROW];
    float delta[PLAIN], lse[PLAIN];
    unsigned keep[PLAIN];
};

__device__ __forceinline__ plain_rows rows_from(const gpu_columns &x, int64_t row, int column, int n)
{
    return plain_rows{at_row<const float>(x, row, column), x.stride, n};
}

/* s = a b' over `width` columns. Begins and ends at barriers of the block. */
__device__ __forceinline__ void plain_scores(float (&s)[2][4], plain_rows a, plain_rows b, int width, plain_memory &m)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, i = threadIdx.x / 8, j = threadIdx.x % 8;
    UNROLL for (int r = 0; r < 2; r++) UNROLL for (int c = 0; c < 4; c++) s[r][c] = 0;
    for (int from = 0; from < width; from += PLAIN) {
        bool there = from + lane < width;
        __syncthreads();
        for (int r = warp; r < PLAIN; r += PLAIN_THREADS / 32) {
            m.left[r][lane] = there && r < a.n ? a.x[r * a.stride + from + lane] : 0.f;
            m.right[r][lane] = there && r < b.n ? b.x[r * b.stride + from + lane] : 0.f;
        }
        __syncthreads();
        UNROLL for (int k = 0; k < PLAIN; k += 4)
        {
            float4 x[2], y[4];
            UNROLL for (int r = 0; r < 2; r++) x[r] = *(const float4 *)&m.left[2 * i + r][k];
            UNROLL for (int c = 0; c < 4; c++) y[c] = *(const float4 *)&m.right[j + 8 * c][k];
            UNROLL for (int r = 0; r < 2; r++) UNROLL for (int c = 0; c < 4; c++)
            {
                s[r][c] += x[r].x * y[c].x;
                s[r][c] += x[r].y * y[c].y;
                s[r][c] += x[r].z * y[c].z;
                s[r][c] += x[r].w * y[c].w;
            }
        }
    }
}

/* The columns from .. from + CHUNK of x to m.chunk, zeros outside. */
__device__ __forceinline__ void plain_chunk(plain_rows x, int from, int width, plain_memory &m)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int r = warp; r < PLAIN; r += PLAIN_THREADS / 32)
        UNROLL for (int c = lane; c < CHUNK; c += 32) m.chunk[r][c] =
            r < x.n && from + c < width ? x.x[r * x.stride + from + c] : 0.f;
}

__device__ __forceinline__ void plain_add_one(float (&o)[8], float f, float4 x, float4 y)
{
    o[0] += f * x.x, o[1] += f * x.y, o[2] += f * x.z, o[3] += f * x.w;
    o[4] += f * y.x, o[5] += f * y.y, o[6] += f * y.z, o[7] += f * y.w;
}

/* o += p times m.chunk. */
__device__ __forceinline__ void plain_add(float (&o)[2][8], const float (&p)[PLAIN][PLAIN_ROW], const plain_memory &m)
{
    int i = threadIdx.x / 8, j = threadIdx.x % 8;
    UNROLL for (int k = 0; k < PLAIN; k++)
    {
        float4 x = *(const float4 *)&m.chunk[k][4 * j], y = *(const float4 *)&m.chunk[k][32 + 4 * j];
        UNROLL for (int r = 0; r < 2; r++) plain_add_one(o[r], p[2 * i + r][k], x, y);
    }
}

/* The same with p turned round: [k][row]. */
__device__ __forceinline__ void plain_add_turned(float (&o)[2][8], const float (&p)[PLAIN][PLAIN_ROW],
                                                 const plain_memory &m)
{
    int i = threadIdx.x / 8, j = threadIdx.x % 8;
    UNROLL for (int k = 0; k < PLAIN; k++)
    {
        float4 x = *(const float4 *)&m.chunk[k][4 * j], y = *(const float4 *)&m.chunk[k][32 + 4 * j];
        UNROLL for (int r = 0; r < 2; r++) plain_add_one(o[r], p[k][2 * i + r], x, y);
    }
}

/* The columns from .. from + CHUNK of rows x of n = o, row r of the thread times by[r]. */
__device__ __forceinline__ void plain_give(const float (&o)[2][8], const float (&by)[2], float *x, int64_t stride,
                                           int n, int from, int width)
{
    int i = threadIdx.x / 8, j = threadIdx.x % 8;
    UNROLL for (int r = 0; r < 2; r++) UNROLL for (int c = 0; c < 8; c++)
    {
        int row = 2 * i + r, column = from + 32 * (c / 4) + 4 * j + c % 4;
        if (row < n && column < width) x[row * stride + column] = o[r][c] * by[r];
    }
}

/* Which of 32 keys starting at `key` are kept, for each of 32 queries starting at row `row`: m.keep. */
__device__ __forceinline__ void plain_keep(const gpu_attention &a, philox_key dice, int64_t row, int head, int key,
                                           int n, plain_memory &m)
{
    int r = threadIdx.x / 4;
    unsigned bits = keep32<4>(a, dice, row + r, head, key, n);
    if (threadIdx.x % 4 == 0) m.keep[r] = bits;
}

/* Sums and maxima over the eight threads of a row. */
__device__ __forceinline__ float eight_sum(float x)
{
    for (int o = 1; o < 8; o *= 2) x += __shfl_xor_sync(0xffffffffu, x, o);
    return x;
}
__device__ __forceinline__ float eight_max(float x)
{
    for (int o = 1; o < 8; o *= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, o));
    return x;
}
#endif
