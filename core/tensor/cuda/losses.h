/* losses.h - sums of a step's losses, kept on the GPU until read (losses.cu). */
#ifndef ABLATE_CUDA_LOSSES_H
#define ABLATE_CUDA_LOSSES_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
/* two [2] = sums of the columns of losses [rows,2], in double and in a fixed order. Returns 0, or -1 (message:
 * gpu_error). */
int gpu_add_columns(double *two, const float *losses, int64_t rows);
#ifdef __cplusplus
}
#endif
#endif
