/* tapes.h - a cache of a model's loss tapes, by batch shape. */
#ifndef ABLATE_TAPES_H
#define ABLATE_TAPES_H
#include "network/train/train.h"

/* A tape serves batches of its shape. The CPU keeps only the last tape, because tracing takes about a millisecond. A
 * device makes a graph of each tape. If all values are packed rows, one tape serves all its batches: the number of rows
 * is fixed, and missing sentences are empty. If values have shapes [B,..,T,..], shapes are rounded up, so that a few
 * tapes serve all batches; a single tape would make each value as large as the largest. */
enum { TAPES = 64 };
typedef enum { NOT_KNOWN, ONE_FOR_ALL, BY_SHAPE } sharing; /* how batches share tapes on a device */
typedef struct {
    model_shape shape;
    ab_ctx *tape;
    uint64_t used;
} shaped;
typedef struct { /* initialise with {.m, .training} */
    model *m;
    bool training;
    sharing how;
    workspace space; /* memory of the running tape */
    shaped at[TAPES];
    int n;
    uint64_t clock;
} tapes;

/* Returns a tape that serves the batch; t owns it. NULL and e on failure. */
ab_ctx *tapes_get(tapes *t, const batch *b, err *e);
void tapes_close(tapes *t);
#endif
