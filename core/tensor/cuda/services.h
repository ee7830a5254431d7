/* services.h - launchers of small kernels that are no operations (services.cu, embedding_back.cu). Pointers are device
 * memory; an int is 0, or -1 (message: gpu_error). */
#ifndef ABLATE_CUDA_SERVICES_H
#define ABLATE_CUDA_SERVICES_H
#include "base/linkage.h"
#include <stdint.h>
C_BEGIN

/* A step's losses: two [2] = sums of the columns of losses [rows,2], in double and in a fixed order. */
void gpu_add_columns(double *two, const void *losses, int64_t rows);

/* own [n] = the sum over ranks, in rank order. Rank r's numbers are parts[r * stride + i], but own[i] for rank `me`. */
int gpu_add_ranks(float *own, const float *parts, int me, int ranks, int64_t stride, int64_t n);

/* Lists that cuDNN needs for packed sentences: n of them, at most RAGGED_MOST, in one launch. */
enum { RAGGED_MOST = 12 };
typedef struct {
    const int32_t *off; /* [sentences + 1] first rows */
    int64_t by;         /* 0: lists lengths in rows; else starts of sentences, with `by` elements per row */
    int32_t *to;        /* [sentences] lengths, or [sentences + 1] starts */
} ragged_list;
int gpu_ragged(int sentences, int n, const ragged_list *lists);

/* Stable sort of positions 0 .. T-1 by their ids [T]; ids < 0 or >= n_table come last. key[i] is the id at sorted index
 * i (n_table if out of range). In SCRATCH_IDS, valid until the next call; work is linear in T and the bytes of
 * n_table. */
typedef struct {
    const int32_t *order, *key; /* [T] */
} gpu_order;
int gpu_rows_by_id(const int32_t *ids, int64_t T, int64_t n_table, gpu_order *out);

C_END
#endif
