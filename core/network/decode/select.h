/* select.h - the most likely next tokens of a row of logits. */
#ifndef ABLATE_SELECT_H
#define ABLATE_SELECT_H
#include "tensor/graph/tape.h"

typedef struct {
    double logit;
    int32_t id;
} choice;

/* Bytes of scratch memory that select_best needs for a vocabulary of v. */
size_t select_scratch(int64_t v);
/* The k most likely ids of logits [v] (F32, F64 or BF16) in out [k], most likely first, ties by id. Excludes PAD,
 * BOS, ids with allowed [v] 0 (NULL: all allowed) and logits of -infinity. *log_sum = log sum exp over all v, so
 * that log P = logit - *log_sum; NaN if a logit is NaN. Returns how many were found. */
int64_t select_best(const void *logits, dtype type, int64_t v, const uint8_t *allowed, int64_t k, choice *out,
                    double *log_sum, void *scratch);

typedef struct { /* a model's logits [rows, v] */
    const void *logits;
    dtype type;
} opinion;
enum { MOST_OPINIONS = 32 };
/* out [v] = log of the mean over n models (at most MOST_OPINIONS) of softmax(row `row` of their logits): several models
 * as one. It depends on that row alone. work: [2 v] */
void ensemble_row(float *out, const opinion *of, int64_t n, int64_t row, int64_t v, float *work);

/* The functions for one instruction set (select_row.c, ensemble_row.c). */
void ensemble_mean(float *out, const opinion *of, int64_t n, int64_t row, int64_t v, float *work);
typedef struct {
    size_t (*scratch)(int64_t v);
    int64_t (*best)(const void *logits, dtype type, int64_t v, const uint8_t *allowed, int64_t k, choice *out,
                    double *log_sum, void *scratch);
    void (*mean)(float *out, const opinion *of, int64_t n, int64_t row, int64_t v, float *work);
} select_table_t;
#endif
