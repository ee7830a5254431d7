/* select.h - a step of beam search on the device (select.cu): the likeliest next tokens of rows of logits, as select_best of decode/select.h
 * says, for many rows at once; those of a sentence's hypotheses merged; and where each row's past lies. */
#ifndef ABLATE_CUDA_SELECT_H
#define ABLATE_CUDA_SELECT_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

enum { SELECT_MOST = 64, SELECT_BEAM = 32 }; /* choices of a row, hypotheses of a sentence */

typedef struct {
    float logit;
    int32_t id; /* -1, with logit -infinity: there was no further one */
} gpu_choice;

typedef struct { /* of rows, in device memory */
    const double *log_prob;  /* -infinity: the row is not looked at, it has no choice. NULL: all are */
    const uint32_t *line;    /* bit id % 32 of word id / 32 of line [.., (v + 31) / 32]: the id may be chosen. NULL: all may */
    const int32_t *line_of;  /* a row's line, -1: all may be chosen */
} gpu_limits;
typedef struct { /* continuation of graph/backend.h */
    double log_prob;
    int32_t parent, id;
} gpu_continuation;

/* best [rows,k] = the k <= SELECT_MOST likeliest ids of each row of logits [rows,v] (type F32 (0) or BF16 (2)), likeliest first,
 * equal ones by id. Ids never[0] and never[1] (host memory; -1: none) are not among them, nor ids that may not be chosen, nor those with
 * a logit that is -infinity or no number. log_sum [rows] = log sum exp over all v (0 of a row that is not looked at); not a number when a logit is
 * none. logits, best and log_sum are device memory. 0, or -1 (gpu_error has the words). */
int gpu_select_best(int type, int64_t rows, int64_t v, const void *logits, const gpu_limits *limits, const int32_t never[2], int k,
                    gpu_choice *best, double *log_sum);

/* out [sentences,wanted] = the continuations of a sentence's `beam` <= SELECT_BEAM rows with the largest log_prob + (logit - log_sum), largest first,
 * equal ones by row; best [rows,k] and log_sum [rows] as above. Behind the last: -infinity, -1, -1. All of a sentence are no numbers where a
 * log_sum of its rows is none. Device memory. */
int gpu_merge_choices(int64_t sentences, int beam, int k, int wanted, const gpu_choice *best, const double *log_sum, const double *log_prob,
                      gpu_continuation *out);

/* `follow` of graph/backend.h. */
int gpu_follow(int32_t *to, const int32_t *from, const int32_t *parents, int64_t rows, int64_t capacity, int64_t step);

#ifdef __cplusplus
}
#endif
#endif
