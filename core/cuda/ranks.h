/* ranks.h - the sum of what several ranks gave (ranks.cu). */
#ifndef ABLATE_CUDA_RANKS_H
#define ABLATE_CUDA_RANKS_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
/* own [n] = the sum of all ranks' values, added in the order of ranks: rank r's are parts[r * stride + i], those of rank `me` are own[i].
 * Device memory. 0, or -1 (gpu_error has the words). */
int gpu_add_ranks(float *own, const float *parts, int me, int ranks, int64_t stride, int64_t n);
#ifdef __cplusplus
}
#endif
#endif
