/* weights.h - attention weights of a trained model over one batch. */
#ifndef ABLATE_TRAIN_WEIGHTS_H
#define ABLATE_TRAIN_WEIGHTS_H
#include "text/data/batch.h"
#include "network/model/model.h"

/* Runs the model forward on the batch. Returns the tape, which keeps every softmax over keys; the caller frees the tape
 * with tape_free. Returns NULL and *e on failure. */
ab_ctx *weights_tape(model *m, const batch *b, err *e);

typedef struct { /* weights of one attention sublayer; borrows the tape's memory */
    size_t heads, rows, stride;
    const float *at; /* [sentences][heads][rows][stride]: each query has a row, which begins with its weights */
} weights;
/* stack: "enc" or "dec"; part: "self" or "cross"; layer: from 0. False: that attention kept no softmax over keys. */
bool weights_find(const ab_ctx *c, const char *stack, const char *part, int64_t layer, weights *out);
#endif
