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

/* The two functions for one instruction set (select_row.c). */
typedef struct {
    size_t (*scratch)(int64_t v);
    int64_t (*best)(const void *logits, dtype type, int64_t v, const uint8_t *allowed, int64_t k, choice *out,
                    double *log_sum, void *scratch);
} select_table_t;
#endif
