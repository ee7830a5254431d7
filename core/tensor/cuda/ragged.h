/* ragged.h - lists that cuDNN needs for packed sentences (ragged.cu), from their offsets. */
#ifndef ABLATE_CUDA_RAGGED_H
#define ABLATE_CUDA_RAGGED_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

enum { RAGGED_MOST = 12 };
typedef struct {
    const int32_t *off; /* [sentences + 1] first rows */
    int64_t by;         /* 0: lengths in rows; else the start of each sentence, with `by` elements per row */
    int32_t *to;        /* [sentences], [sentences + 1] */
} ragged_list;
/* Fills n lists, at most RAGGED_MOST, in one launch. */
int gpu_ragged(int sentences, int n, const ragged_list *lists);

#ifdef __cplusplus
}
#endif
#endif
