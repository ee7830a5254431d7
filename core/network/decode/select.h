/* select.h - the most likely next tokens of a row of logits. */
#ifndef ABLATE_SELECT_H
#define ABLATE_SELECT_H
#include "tensor/graph/tape.h"
#include <math.h>

enum { CHUNK = 1024 }; /* number of a row's columns that are processed together */
/* log sum exp of the columns seen so far: shift + log(sum) */
typedef struct {
    double shift, sum;
} log_sum;

typedef struct {
    double logit;
    int32_t id;
} choice;

/* Selects the k most likely ids of a row of logits [v] (F32, F64 or BF16), ties by id, and computes log sum exp of the
 * whole row. PAD, BOS, ids with allowed [v] 0 (NULL: all are allowed) and logits of -infinity are not chosen. */
typedef struct {
    choice *best; /* [k]; the caller's memory */
    int64_t k, n; /* n: ids found so far; select_end sorts them */
    log_sum sum;
    int64_t seen;       /* columns */
    bool probabilities; /* the row has probabilities, not logits: choices get their logs, log sum is 0 */
    bool unscored;      /* the sum is not computed: its log is given as 0, or NaN if a logit is NaN or infinite */
} selection;
static inline selection select_begin(int64_t k, choice *best)
{
    return (selection){.best = best, .k = k, .sum = {-INFINITY, 0}};
}
/* Adds columns seen .. end - 1 of the row. logits: of these columns only. end: v or a multiple of CHUNK. */
void select_more(selection *s, const void *logits, dtype type, int64_t end, const uint8_t *allowed);
/* Sorts the choices, most likely first. *sum = log sum exp over all v, so log P = logit - *sum; NaN if a logit is NaN.
 * Returns the number of choices. */
int64_t select_end(selection *s, double *sum);
/* Calls select_begin, select_more and select_end for a whole row. */
int64_t select_best(const void *logits, dtype type, int64_t v, const uint8_t *allowed, int64_t k, choice *out,
                    double *sum);

typedef struct {    /* one model's probabilities of a row [v], for an ensemble; the caller owns the memory */
    float *e;       /* [v]: exp(logit - largest logit of the chunk) */
    float *top;     /* [chunks of v]: the largest logit */
    float *sum;     /* [chunks of v]: sums of e */
    float *largest; /* [chunks of v], set by select_from_all: the chunk's largest probability / the number of models */
    int64_t seen;   /* columns */
} opinion;
enum { NUMBERS_OF_CHUNK = 3 };
/* numbers: memory for v columns, v + NUMBERS_OF_CHUNK * chunks of v floats. */
static inline opinion opinion_in(float *numbers, int64_t v)
{
    int64_t chunks = (v + CHUNK - 1) / CHUNK;
    float *top = numbers + v;
    return (opinion){.e = numbers, .top = top, .sum = top + chunks, .largest = top + 2 * chunks};
}
/* Adds columns seen .. end - 1 of the row, as select_more does. */
void opinion_more(opinion *o, const void *logits, dtype type, int64_t end);
/* Selects from the mean probabilities of n models, whose opinions have all v columns. The result depends on this row
 * alone. Returns false if a logit is NaN. */
bool select_from_all(selection *s, const opinion *const *of, int64_t n, int64_t v, const uint8_t *allowed);

/* The functions for one instruction set (select_row.c). */
typedef struct {
    void (*more)(selection *s, const void *logits, dtype type, int64_t end, const uint8_t *allowed);
    int64_t (*end)(selection *s, double *sum);
    void (*weigh)(opinion *o, const void *logits, dtype type, int64_t end);
    bool (*from_all)(selection *s, const opinion *const *of, int64_t n, int64_t v, const uint8_t *allowed);
} select_table_t;
#endif
