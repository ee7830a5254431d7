/* select.h - the likeliest next tokens of a row of logits. */
#ifndef ABLATE_SELECT_H
#define ABLATE_SELECT_H
#include "graph/tape.h"

typedef struct {
    double logit;
    int32_t id;
} choice;

/* Bytes that select_best needs to work in, for a vocabulary of v. */
size_t select_scratch(int64_t v);
/* The k likeliest ids of logits [v] (F32, F64 or BF16) in out [k], likeliest first, equal ones by id; PAD and
 * BOS are never among them, nor ids with allowed [v] 0 (NULL: all allowed) or a logit of -infinity. *log_sum
 * = log sum exp over all v: log P = logit - *log_sum; not a number when a logit is none. Returns how many
 * were found. */
int64_t select_best(const void *logits, dtype type, int64_t v, const uint8_t *allowed, int64_t k, choice *out,
                    double *log_sum, void *scratch);

/* The two functions of one instruction set (select_row.c). */
typedef struct {
    size_t (*scratch)(int64_t v);
    int64_t (*best)(const void *logits, dtype type, int64_t v, const uint8_t *allowed, int64_t k, choice *out, double *log_sum, void *scratch);
} select_table_t;
#endif
