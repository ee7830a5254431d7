/* rows_by_id.h - positions sorted by their ids (embedding_back.cu). */
#ifndef ABLATE_CUDA_ROWS_BY_ID_H
#define ABLATE_CUDA_ROWS_BY_ID_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Stable sort of positions 0 .. T-1 by their ids [T]; ids < 0 or >= n_table come last. key[i] is the id at sorted index
 * i (n_table if out of range). In SCRATCH_IDS, valid until the next call; work is linear in T and the bytes of n_table.
 * Returns 0, or -1 and gpu_error(). */
typedef struct {
    const int32_t *order, *key; /* [T] */
} gpu_order;
int gpu_rows_by_id(const int32_t *ids, int64_t T, int64_t n_table, gpu_order *out);

#ifdef __cplusplus
}
#endif
#endif
