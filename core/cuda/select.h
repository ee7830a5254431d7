/* select.h - the likeliest next tokens of rows of logits, on the device (select.cu): what select_best of decode/select.h says,
 * for many rows at once. */
#ifndef ABLATE_CUDA_SELECT_H
#define ABLATE_CUDA_SELECT_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

enum { SELECT_MOST = 64 }; /* choices of a row */

typedef struct {
    float logit;
    int32_t id; /* -1, with logit -infinity: there was no further one */
} gpu_choice;

/* best [rows,k] = the k <= SELECT_MOST likeliest ids of each row of logits [rows,v] (type F32 (0) or BF16 (2)), likeliest first,
 * equal ones by id. Ids never[0] and never[1] (host memory; -1: none) are not among them, nor ids with allowed [rows,v] 0 (NULL:
 * all allowed) or a logit that is -infinity or no number. log_sum [rows] = log sum exp over all v; not a number when a logit is
 * none. logits, allowed, best and log_sum are device memory. 0, or -1 (gpu_error has the words). */
int gpu_select_best(int type, int64_t rows, int64_t v, const void *logits, const uint8_t *allowed, const int32_t never[2], int k,
                    gpu_choice *best, double *log_sum);

#ifdef __cplusplus
}
#endif
#endif
