/* costs.h - costs of a model, counted on its traced tape operation by operation, so that plugins, quadratic attention
 * and recurrences need no assumptions. */
#ifndef ABLATE_COSTS_H
#define ABLATE_COSTS_H
#include "network/model/model.h"

/* Parts of a model. Embedding includes the product with the vocabulary; other: norms, residuals, loss. */
typedef enum { COST_ATTENTION, COST_FEED_FORWARD, COST_EMBEDDING, COST_OTHER, COST_PARTS } cost_part;
extern const char *const cost_part_names[COST_PARTS]; /* "attention", "feed-forward", ... */

typedef struct {
    int64_t parameters;                               /* learned numbers */
    double forward[COST_PARTS], backward[COST_PARTS]; /* FLOPs of one batch, a multiply-add counted as two */
    size_t values;                                    /* bytes of values and their gradients of one training step */
    size_t learned;                                   /* bytes of parameters, gradients and optimizer state */
} model_costs;

/* Costs of one training step on a batch of shape `s`, as if its sentences had equal lengths: an attention has rows *
 * rows / sentences (query, key) pairs. Causal attention counts all pairs, although kernels may compute half of them.
 * Excludes the optimizer's update. Returns 0, or -1 and e. */
int model_count_costs(model *m, const model_shape *s, model_costs *out, err *e);
double costs_total(const model_costs *c); /* forward and backward FLOPs of all parts */
/* FLOPs of one update of the run: batch_tokens on each side, in sentences of `length` tokens, times accumulate. Returns
 * NaN and e on failure. */
enum { COSTS_SENTENCE = 25 }; /* `length` for data whose length is not known */
model_shape costs_shape(int64_t batch_tokens, int64_t length);
double model_update_flops(model *m, int64_t length, err *e);
#endif
