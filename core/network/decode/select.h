/* select.h - the most likely next tokens of a row of logits. */
#ifndef ABLATE_SELECT_H
#define ABLATE_SELECT_H
#include "network/decode/log_sum.h"
#include "tensor/graph/tape.h"

typedef struct {
    double logit;
    int32_t id;
} choice;

/* Of a row of logits [v] (F32, F64 or BF16): the k most likely ids, ties by id, and log sum exp of all. PAD, BOS, ids
 * with allowed [v] 0 (NULL: all are allowed) and logits of -infinity are not chosen. */
typedef struct {
    choice *best; /* [k], the caller's */
    int64_t k, n; /* n of them are there, in no useful order before select_end */
    log_sum sum;
    int64_t seen;       /* columns */
    bool probabilities; /* instead of logits: choices get their logs, the sum's log is 0, and 0 is not chosen */
} selection;
static inline selection select_begin(int64_t k, choice *best)
{
    return (selection){best, k, 0, {-INFINITY, 0}, 0, false};
}
/* The row's columns seen .. end; logits: the first of them. end: v or a multiple of CHUNK. */
void select_more(selection *s, const void *logits, dtype type, int64_t end, const uint8_t *allowed);
/* Puts the most likely first. *sum = log sum exp over all v, so that log P = logit - *sum; NaN if a logit is NaN.
 * Returns how many were found. */
int64_t select_end(selection *s, double *sum);
/* All three. */
int64_t select_best(const void *logits, dtype type, int64_t v, const uint8_t *allowed, int64_t k, choice *out,
                    double *sum);

typedef struct { /* a model's logits [rows, v] */
    const void *logits;
    dtype type;
} opinion;
enum { MOST_OPINIONS = 32 };
/* out [v] = mean over n models (at most MOST_OPINIONS) of softmax(row `row` of their logits): several models as one, for a
 * selection of probabilities. It depends on that row alone. work: [2 v]. False: a logit is NaN. */
bool ensemble_row(float *out, const opinion *of, int64_t n, int64_t row, int64_t v, float *work);

/* The functions for one instruction set (select_row.c, ensemble_row.c). */
bool ensemble_mean(float *out, const opinion *of, int64_t n, int64_t row, int64_t v, float *work);
typedef struct {
    void (*more)(selection *s, const void *logits, dtype type, int64_t end, const uint8_t *allowed);
    int64_t (*end)(selection *s, double *sum);
    bool (*mean)(float *out, const opinion *of, int64_t n, int64_t row, int64_t v, float *work);
} select_table_t;
#endif
