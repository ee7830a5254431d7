/* ensemble.h - several models as one: the mean of their probabilities, in log space. */
#ifndef ABLATE_ENSEMBLE_H
#define ABLATE_ENSEMBLE_H
#include "tensor/graph/tape.h"

typedef struct { /* a model's logits [rows, v] */
    const void *logits;
    dtype type;
} opinion;

/* out [v] = log of the mean over n models of softmax(row `row` of their logits). It depends on that row alone. */
void ensemble_row(float *out, const opinion *of, int64_t n, int64_t row, int64_t v);
#endif
