/* select.h - the most likely next tokens of a row of logits. */
#ifndef ABLATE_SELECT_H
#define ABLATE_SELECT_H
#include "tensor/graph/tape.h"
#include <math.h>

enum { CHUNK = 1024 }; /* columns of a row that are looked at together */
/* log sum exp so far: shift + log(sum) */
typedef struct {
    double shift, sum;
} log_sum;

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
    bool unscored;      /* the sum is not asked for: its log is 0, or NaN if a logit is NaN or infinity */
} selection;
static inline selection select_begin(int64_t k, choice *best)
{
    return (selection){.best = best, .k = k, .sum = {-INFINITY, 0}};
}
/* The row's columns seen .. end; logits: the first of them. end: v or a multiple of CHUNK. */
void select_more(selection *s, const void *logits, dtype type, int64_t end, const uint8_t *allowed);
/* Puts the most likely first. *sum = log sum exp over all v, so that log P = logit - *sum; NaN if a logit is NaN.
 * Returns how many were found. */
int64_t select_end(selection *s, double *sum);
/* All three. */
int64_t select_best(const void *logits, dtype type, int64_t v, const uint8_t *allowed, int64_t k, choice *out,
                    double *sum);

typedef struct {    /* what a model of an ensemble makes of a row [v], in the caller's memory */
    float *e;       /* [v]: exp(logit - the largest of its CHUNK columns) */
    float *top;     /* [chunks of v]: those largest */
    float *sum;     /* [chunks of v]: sums of e */
    float *largest; /* [chunks of v]: for select_from_all, the largest probability there, over the number of models */
    int64_t seen;   /* columns */
} opinion;
enum { NUMBERS_OF_CHUNK = 3 };
/* numbers: memory for v columns, v + NUMBERS_OF_CHUNK * chunks of v. */
static inline opinion opinion_in(float *numbers, int64_t v)
{
    int64_t chunks = (v + CHUNK - 1) / CHUNK;
    float *top = numbers + v;
    return (opinion){.e = numbers, .top = top, .sum = top + chunks, .largest = top + 2 * chunks};
}
/* The row's columns seen .. end, as select_more has them. */
void opinion_more(opinion *o, const void *logits, dtype type, int64_t end);
/* A selection from the mean probabilities of n models that have seen all v columns: several models as one. It depends
 * on that row alone. False: a logit is NaN. */
bool select_from_all(selection *s, const opinion *const *of, int64_t n, int64_t v, const uint8_t *allowed);

/* The functions for one instruction set (select_row.c). */
typedef struct {
    void (*more)(selection *s, const void *logits, dtype type, int64_t end, const uint8_t *allowed);
    int64_t (*end)(selection *s, double *sum);
    void (*weigh)(opinion *o, const void *logits, dtype type, int64_t end);
    bool (*from_all)(selection *s, const opinion *const *of, int64_t n, int64_t v, const uint8_t *allowed);
} select_table_t;
#endif
