/* ranks.h - sums values of several ranks (ranks.cu). */
#ifndef ABLATE_CUDA_RANKS_H
#define ABLATE_CUDA_RANKS_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
/* own [n] = the sum of all ranks' values in rank order: rank r's are parts[r * stride + i], those of rank `me` are
 * own[i]. Device memory. Returns 0, or -1 (message: gpu_error). */
int gpu_add_ranks(float *own, const float *parts, int me, int ranks, int64_t stride, int64_t n);
#ifdef __cplusplus
}
#endif
#endif
