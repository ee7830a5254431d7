/* score_sums.h - the pairs of a tile, and sums over them: by id, and of leaves' gradients. For the kernels of
 * attend_score.h. */
#ifndef ABLATE_CUDA_SCORE_SUMS_H
#define ABLATE_CUDA_SCORE_SUMS_H
#include "tensor/cuda/score_tile.h"

enum { SCORE_WARPS = 2 };
#define SCORE_THREADS(W) (32 * ((W) > 1 ? (W) : SCORE_WARPS))
#define EVERY            0xffffffffu
#define EACH_PAIR(e)     UNROLL for (int e = 0; e < SCORE_AT_ONCE; e++)

/* ---- pairs ---- */

/* Position of a program's pair e in its tile. */
__device__ __forceinline__ int row_of_pair(int e) { return (int)(threadIdx.x & 31) / 4 + 8 * (e % 4 / 2); }
__device__ __forceinline__ int column_of_pair(int e) { return 8 * (e / 4) + 2 * (int)(threadIdx.x & 3) + e % 2; }

/* Rows are queries starting at `query`, columns are keys starting at `key`; turned: the reverse. */
__device__ __forceinline__ score_pairs pairs_at(int sentence, int head, int query, int queries, int key, int keys,
                                                bool turned)
{
    score_pairs p;
    p.sentence = sentence, p.head = head;
    EACH_PAIR(e)
    {
        int row = row_of_pair(e), column = column_of_pair(e);
        p.query[e] = min(query + (turned ? column : row), queries - 1);
        p.key[e] = min(key + (turned ? row : column), keys - 1);
    }
    return p;
}

/* ---- sums over a warp's tile, each owned by one thread ---- */

/* to[ids[i]] += x[i], i < n, in order, with eight loads in flight. */
__device__ __forceinline__ void add_by_id(float *to, const int32_t *ids, const float *x, int n)
{
    for (int from = 0; from < n; from += 8) {
        int id[8];
        float sum[8];
        UNROLL for (int i = 0; i < 8; i++)
        {
            id[i] = from + i < n ? ids[from + i] : -1;
            sum[i] = id[i] >= 0 ? to[id[i]] : 0;
        }
        UNROLL for (int i = 0; i < 8; i++)
        {
            UNROLL for (int j = 0; j < i; j++) if (id[j] == id[i]) sum[i] = sum[j];
            sum[i] += from + i < n ? x[from + i] : 0;
        }
        UNROLL for (int i = 0; i < 8; i++) if (id[i] >= 0) to[id[i]] = sum[i];
    }
}
/* Adds the pairs x, with queries from `query` and keys from `key`, to rows `to` + row * step of n. */
__device__ __forceinline__ void add_pairs_by_id(float *to, int64_t step, const gpu_score &f,
                                                const float (&x)[SCORE_AT_ONCE], int query, int n, int key, int keys)
{
    __shared__ float stage[SCORE_WARPS][GPU_SCORE_TILE][17];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    __syncwarp();
    EACH_PAIR(e) stage[warp][row_of_pair(e)][column_of_pair(e)] = x[e];
    __syncwarp();
    if (lane < n)
        add_by_id(to + lane * step, f.ids + (query + lane) * f.ids_row + key, stage[warp][lane],
                  min((int)GPU_SCORE_TILE, keys - key));
}

/* Sums over the eight g of a column. */
__device__ __forceinline__ float column_sum(float x)
{
    for (int o = 4; o < 32; o *= 2) x += __shfl_xor_sync(EVERY, x, o);
    return x;
}

/* Adds the gradient d of leaf k, 0 at missing pairs, to the sums of `part`. */
__device__ __forceinline__ void add_leaf(const gpu_score &f, int k, int part, int head, int tile,
                                         const float (&d)[SCORE_AT_ONCE], int query, int n, int key, int keys)
{
    const gpu_score_leaf &l = f.leaf[k];
    int lane = threadIdx.x & 31;
    float *to = l.sum + part * l.part + head * l.sum_head + (l.of_query ? query : tile) * l.line;
    if (l.gathered) {
        add_pairs_by_id(to, l.line, f, d, query, n, key, keys);
    } else if (l.of_query && l.key) {
        EACH_PAIR(e)
        if (row_of_pair(e) < n && key + column_of_pair(e) < keys)
            to[row_of_pair(e) * l.line + key + column_of_pair(e)] += d[e];
    } else if (l.of_query) {
        UNROLL for (int r = 0; r < 2; r++)
        {
            float sum = four_sum(d[2 * r] + d[2 * r + 1] + d[4 + 2 * r] + d[5 + 2 * r]);
            if (lane % 4 == 0 && lane / 4 + 8 * r < n) to[(lane / 4 + 8 * r) * l.line] += sum;
        }
    } else if (l.key) {
        UNROLL for (int j = 0; j < 2; j++) UNROLL for (int i = 0; i < 2; i++)
        {
            float sum = column_sum(d[4 * j + i] + d[4 * j + 2 + i]);
            int column = key + 8 * j + 2 * lane + i;
            if (lane < 4 && column < keys) to[column] += sum;
        }
    } else {
        float sum = 0;
        EACH_PAIR(e) sum += d[e];
        sum = warp_sum(sum);
        if (lane == 0) to[0] += sum;
    }
}
#endif
