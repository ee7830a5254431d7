/* uploads.h - what uploads.cu, which gathers the host's writes (gpu_copy_in of runtime.h), wants of a runtime and offers to it. */
#ifndef ABLATE_CUDA_UPLOADS_H
#define ABLATE_CUDA_UPLOADS_H
#include "cuda/runtime.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { GPU_STAGE_BYTES = 2 << 20 };
void *gpu_stage(void);                                         /* GPU_STAGE_BYTES of memory to send from, until it is sent */
void gpu_send(void *to, const void *stage, size_t bytes);      /* one copy, in the stream's order, of a stage's beginning */

void gpu_flush(void);          /* before anything that runs or reads: sends what was kept */
void gpu_forget_uploads(void); /* at the device's end */
#ifdef __cplusplus
}
#endif
#endif
