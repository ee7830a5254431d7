/* select.h - a step of beam search on the device (select.cu): the most likely next tokens of rows of logits
 * (select_best of decode/select.h for many rows at once), merged over the hypotheses of a sentence. */
#ifndef ABLATE_CUDA_SELECT_H
#define ABLATE_CUDA_SELECT_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

enum { SELECT_MOST = 64, SELECT_BEAM = 32 }; /* choices per row, hypotheses per sentence */

typedef struct {
    float logit;
    int32_t id; /* -1, with logit -infinity: no more choices */
} gpu_choice;

typedef struct {            /* per row, in device memory */
    const double *log_prob; /* -infinity: the row is skipped and has no choices. NULL: no row is skipped */
    /* bit id % 32 of word id / 32 of line [.., (v + 31) / 32]: the id is allowed. NULL: all are */
    const uint32_t *line;
    const int32_t *line_of; /* a row's line, -1: all ids are allowed */
} gpu_limits;
typedef struct { /* continuation of graph/backend.h */
    double log_prob;
    int32_t parent, id;
} gpu_continuation;

typedef struct {
    int beam, wanted;      /* rows of a sentence, at most SELECT_BEAM; continuations of one */
    gpu_continuation *out; /* [rows / beam, wanted], in device memory */
} gpu_merging;

/* best [rows,k] = the k <= SELECT_MOST most likely ids of each row of logits [rows,v] (type F32 (0) or BF16 (2)), most
 * likely first, ties by id. Excludes ids never[0] and never[1] (host memory; -1: none), ids that are not allowed, and
 * logits that are -infinity or NaN. log_sum [rows] = log sum exp over all v (0 for a skipped row); NaN if a logit is
 * NaN. logits, best and log_sum are device memory.
 * With m, and limits->log_prob: m->out = the continuations of each sentence's rows with the largest log_prob + (logit -
 * log_sum), largest first, ties by row, padded with -infinity, -1, -1. All of a sentence are NaN if a log_sum of its
 * rows is. Returns 0, or -1 (message: gpu_error). */
int gpu_select_best(int type, int64_t rows, int64_t v, const void *logits, const gpu_limits *limits,
                    const int32_t never[2], int k, gpu_choice *best, double *log_sum, const gpu_merging *m);

#ifdef __cplusplus
}
#endif
#endif
