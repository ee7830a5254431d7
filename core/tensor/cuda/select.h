/* select.h - a step of beam search on the device (select.cu): the most likely next tokens of rows of logits
 * (select_best of decode/select.h for many rows at once), merged over the hypotheses of a sentence. */
#ifndef ABLATE_CUDA_SELECT_H
#define ABLATE_CUDA_SELECT_H
#include "base/linkage.h"
#include "tensor/graph/backend.h"
C_BEGIN

enum { SELECT_MOST = 64, SELECT_BEAM = 32 }; /* choices per row, hypotheses per sentence */

typedef struct {
    float logit;
    int32_t id; /* -1, with logit -infinity: no more choices */
} gpu_choice;

/* best [rows,k] = the k <= SELECT_MOST most likely ids of each row of logits [rows,v] (F32 or BF16), most likely first,
 * ties by id. c's pointers are device memory; without log_prob no row is skipped. Excludes ids never[0] and never[1]
 * (host memory; -1: none), ids that are not allowed, and logits that are -infinity or NaN. log_sum [rows] = log sum exp
 * over all v (0 for a skipped row); NaN if a logit is NaN. logits, best and log_sum are device memory.
 * If out and log_prob are given: out = the continuations of each sentence's rows with the largest log_prob + (logit -
 * log_sum), largest first, ties by row, padded with -infinity, -1, -1. If log_sum of a row is NaN, all continuations of
 * its sentence are NaN. Returns 0, or -1 (message: gpu_error). */
int gpu_select_best(dtype type, const choosing *c, const void *logits, const int32_t never[2], gpu_choice *best,
                    double *log_sum, continuation *out);

C_END
#endif
