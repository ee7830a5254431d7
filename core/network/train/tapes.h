/* tapes.h - loss tapes of a model by the shape of their batches. */
#ifndef ABLATE_TAPES_H
#define ABLATE_TAPES_H
#include "network/train/train.h"

/* A tape serves batches of its shape. On the CPU the last one is kept: tracing takes about a millisecond. On a device a
 * tape becomes a graph. There, if all values are packed rows, one tape serves all batches: the number of rows is fixed,
 * and missing sentences are empty. If values have shapes [B,..,T,..], shapes are rounded up so that a few tapes serve
 * all batches, and these are kept; a single tape would make each value as large as the largest. */
enum { TAPES = 64 };
typedef enum { NOT_KNOWN, ONE_FOR_ALL, BY_SHAPE } sharing; /* how batches share tapes on a device */
typedef struct {
    model_shape shape;
    ab_ctx *tape;
    uint64_t used;
} shaped;
typedef struct { /* at first {.m, .training} */
    model *m;
    bool training;
    sharing how;
    workspace space; /* memory of the running tape */
    shaped at[TAPES];
    int n;
    uint64_t clock;
} tapes;

/* A tape that serves the batch; belongs to t. NULL and e. */
ab_ctx *tapes_get(tapes *t, const batch *b, err *e);
void tapes_close(tapes *t);
#endif
