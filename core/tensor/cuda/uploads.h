/* uploads.h - interface between a runtime and uploads.cu, which collects the host's writes (gpu_copy_in of
 * runtime.h). */
#ifndef ABLATE_CUDA_UPLOADS_H
#define ABLATE_CUDA_UPLOADS_H
#include "tensor/cuda/runtime.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { GPU_STAGE_BYTES = 2 << 20 };
/* GPU_STAGE_BYTES of staging memory, valid until it is sent */
void *gpu_stage(void);
void gpu_send(void *to, const void *stage, size_t bytes); /* copies the beginning of a stage, in stream order */

/* `follow` of graph/backend.h; it goes with the pending writes */
void gpu_follow(int32_t *to, int32_t *copy, const int32_t *from, const int32_t *parents, int64_t rows, int64_t capacity,
                int64_t step);
void gpu_flush(void);          /* sends pending writes; call it before anything that runs or reads */
void gpu_forget_uploads(void); /* when the device closes */
#ifdef __cplusplus
}
#endif
#endif
