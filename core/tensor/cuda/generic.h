/* generic.h - launchers of the generic operations: elementwise, shapes, sums, softmax, ids (elementwise.cu, shape.cu,
 * reduce.cu, embedding_back.cu, gather.cu, choose.cu, positions.cu). All pointers are device memory; `type` is a number
 * of dtype: 0 F32, 2 BF16, 3 I32; lengths are in elements. Each returns gpu_launched(): 0, or -1 with a message in
 * gpu_error(). With nothing to write, nothing is launched.
 */
#ifndef ABLATE_CUDA_GENERIC_H
#define ABLATE_CUDA_GENERIC_H
#include "tensor/cuda/runtime.h"
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- elementwise.cu ---- */

/* The operation on each element: first those of op.h in its order, then those of launchers only. */
enum {
    GPU_ADD,
    GPU_SUB,
    GPU_MUL,
    GPU_DIV,
    GPU_MINIMUM,
    GPU_LESS_THAN,
    GPU_MUL_SCALAR,
    GPU_ADD_SCALAR,
    GPU_MAP,
    GPU_MAP_BACK,
    GPU_COPY,
    GPU_RELU_BACK
};

enum { /* the functions of MAP, numbered as in ab_fn */
       GPU_EXP = 1,
       GPU_LOG,
       GPU_TANH,
       GPU_SIGMOID,
       GPU_RELU,
       GPU_SQRT,
       GPU_SQUARE,
       GPU_ABS,
       GPU_SIGN,
       GPU_COS,
       GPU_SIN,
       GPU_ELU1,
       GPU_RECIP,
       GPU_WHERE /* of MAP_BACK: not a gradient, but its second number where the first is not 0, else the third */
};

/* y = what(x[0], x[1], x[2]) with broadcasting. y is contiguous with axes `dim`; step[i][a] is the stride of input i
 * along axis a [elements], 0 if it repeats. Join axes where possible (the last one first); the last step may be 0, 1,
 * or any number. MUL_SCALAR and ADD_SCALAR take x[0] and `by`; MAP x[0]; MAP_BACK x, f(x) and the gradient of f(x);
 * COPY x[0]; RELU_BACK y and dy. MAP and MAP_BACK do not broadcast, except GPU_WHERE. F32, or BF16 (ADD, RELU_BACK). y
 * may be x[0] if both have the same layout. */
typedef struct {
    void *y;
    const void *x[3];
    int64_t dim[4], step[3][4];
    int what, function, n_in, type;
    float by;
} gpu_elementwise;
int gpu_run_elementwise(const gpu_elementwise *e);

/* Converts n numbers: F32 and BF16 to each other, or any type to itself; then y may be x. */
int gpu_CAST(void *y, int y_type, const void *x, int x_type, int64_t n);

/* y[i] = x[i] * scale if the 16-bit word of element i at `place` (gpu.h) is >= least, else 0. F32 or BF16; y may be
 * x. */
int gpu_DROPOUT(void *y, const void *x, int type, int64_t n, unsigned place, unsigned least, float scale);

/* ---- shape.cu ---- */

/* Copies strided x to y, contiguous with axes dim[]; elements of 2 or 4 bytes. */
int gpu_TRANSPOSE(void *y, const void *x, const int64_t dim[4], const int64_t step[4], int element_bytes);

/* y is `outer` pieces of y_size bytes. Of each, bytes at[i] .. at[i] + size[i] are copied from x[i] + (piece) *
 * from[i], i < 2; the rest is 0. All in bytes, multiples of 2. The two ranges do not overlap. x[1] with size 0 is not
 * read. */
typedef struct {
    void *y;
    const void *x[2];
    int64_t outer, y_size, at[2], size[2], from[2];
} gpu_pieces;
int gpu_copy_pieces(const gpu_pieces *p);

/* y[r] = (-x[r] second half, x[r] first half), rows of 2 half elements, F32 or BF16. */
int gpu_ROTATE_HALF(void *y, const void *x, int type, int64_t rows, int64_t half);

/* y[i] = row ids[i] of x, i < n, rows of `bytes` (a multiple of 2); NaN (all bits set) if the id is not in 0 .. rows -
 * 1. */
int gpu_rows(void *y, const void *x, const int32_t *ids, int64_t n, int64_t rows, int64_t bytes);

/* HEADS: y [B,H,T,d] F32, y[b,h,t,j] = rows[offset[b] + t][col + h d + j], 0 where t is past the sentence; rows
 * [R,cols] of row_type F32 or BF16. MERGE: the reverse; columns outside col .. col + H d and rows of no sentence (or
 * past its T) are 0. */
typedef struct {
    void *rows, *heads; /* the one read is not written */
    const int32_t *offset;
    int64_t n_rows, cols, col, batch, n_heads, time, width;
    int row_type;
} gpu_heads;
int gpu_HEADS(const gpu_heads *h);
int gpu_MERGE(const gpu_heads *h);

/* KV_CACHE_APPEND: x [R,H,1,d], cache [.,cap,H d] F32 or BF16 (cache_type), ancestors [R,n_ancestors], time [1] -> y
 * [R,H,T,d]: x is written to cache[r][time]; y[r,h,t] is cache[ancestors[r][t]][t] before `time` (NaN where there is no
 * such ancestor), x at it, 0 after it. */
typedef struct {
    float *y;
    void *cache;
    const float *x;
    const int32_t *ancestors, *time;
    int64_t rows, cached, cap, n_ancestors, heads, seen, width;
    int cache_type;
} gpu_memory;
int gpu_KV_CACHE_APPEND(const gpu_memory *m);

/* ---- reduce.cu ---- */

/* y = sums of x over up to two groups of axes; y is contiguous with lengths keep[0], keep[1]. Element (a, b) sums, over
 * i < sum[0] and j < sum[1], x[a keep_step[0] + b keep_step[1] + i sum_step[0] + j sum_step[1]]. Of the steps of index
 * 1 one is 1 (or its length 1): lines == 1: it is the summed one. F32. The order depends only on the lengths. */
typedef struct {
    float *y;
    const float *x;
    int64_t keep[2], keep_step[2], sum[2], sum_step[2];
    int lines;
    int exact; /* the order must not depend on keep[] either */
} gpu_sums;
int gpu_SUM_TO(const gpu_sums *s);

/* ---- embedding_back.cu, gather.cu, choose.cu, positions.cu ---- */

/* Stable sort of positions 0 .. T-1 by their ids [T]; ids < 0 or >= n_table come last.
 * Positions of id v: order[start[v]] .. order[start[v + 1] - 1]; start[n_table] is the number of ids in range. key[i]
 * is the id at sorted index i (n_table if out of range). All in SCRATCH_IDS, valid until the next call; work is linear
 * in T and n_table. */
typedef struct {
    const int32_t *order, *start, *key; /* [T], [n_table + 1], [T] */
} gpu_order;
int gpu_rows_by_id(const int32_t *ids, int64_t T, int64_t n_table, gpu_order *out);

/* table[v] = (onto ? table[v] : 0) + by * sum of the rows i of dy [T,d] with ids[i] == v, in a fixed order; ids out of
 * range are ignored. dy is F32 or BF16, the table [n_table,d] F32. (EMBEDDING_BACK, EMBED_TOKENS_BACK) Uses
 * SCRATCH_IDS. sorted (NULL: the ids are sorted here) [2,T]: rows in the order of their ids, then these ids. */
int gpu_sum_rows_by_id(float *table, int onto, const void *dy, int dy_type, const int32_t *ids, const int32_t *sorted,
                       int64_t T, int64_t n_table, int64_t d, float by);

/* Ids [..,n_q,n_k] for rows [a,heads,n_q]: step[i] is the stride of axis i in rows of ids (0: shared). n: ids are in 0
 * .. n - 1. GATHER: y [rows,n_k], y[r][k] = x[r][id of k for r], x [rows,n]; NaN for an invalid id.
 * SCATTER_ADD: y [rows,n], y[r][i] = sum of the x[r][k] whose id is i, x [rows,n_k]; by rising k. */
typedef struct {
    const int32_t *ids;
    int64_t n_q, n_k, heads, step[2], n;
} gpu_chosen;
int gpu_GATHER(float *y, const float *x, int64_t rows, gpu_chosen by);
int gpu_SCATTER_ADD(float *y, const float *x, int64_t rows, gpu_chosen by);

/* MASK: s, y [B,H,n_q,n_k]; k_len [B], q [n_q], k [n_k]. y may be s. */
int gpu_MASK(float *y, const float *s, const int32_t *q, const int32_t *k, const int32_t *k_len, int64_t batch,
             int64_t heads, int64_t n_q, int64_t n_k, int causal);
#ifdef __cplusplus
}
#endif
#endif
