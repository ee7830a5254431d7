/* tapes.h - loss tapes of a model by the shape of their batches. */
#ifndef ABLATE_TAPES_H
#define ABLATE_TAPES_H
#include "network/train/train.h"

/* A tape serves batches of its shape. On the CPU the last one is kept: tracing takes about a millisecond. On a device a
 * tape becomes a graph. There one tape serves all batches where it has packed rows alone: their number is fixed, and a
 * batch's missing sentences are empty. Where values are laid out as [B,..,T,..], shapes are rounded up so that a few
 * serve all batches, and those are kept; one for all would have each of these values as large as the largest. */
enum { TAPES = 64 };
typedef enum { NOT_KNOWN, ONE_FOR_ALL, BY_SHAPE } sharing; /* of tapes among batches, on a device */
typedef struct {
    model_shape shape;
    ab_ctx *tape;
    uint64_t used;
} shaped;
typedef struct { /* at first {.m, .training} */
    model *m;
    bool training;
    sharing how;
    workspace space; /* of whichever tape runs */
    shaped at[TAPES];
    int n;
    uint64_t clock;
} tapes;

/* A tape that serves the batch; belongs to t. NULL and e. */
ab_ctx *tapes_get(tapes *t, const batch *b, err *e);
void tapes_close(tapes *t);
#endif
