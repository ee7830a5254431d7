/* influence.h - for every attention plugin, the keys on which its output at each query depends, over one batch.
 *
 * If the attention has one softmax over keys, these are its weights. Otherwise a weight is the norm of the derivative
 * of a query's output with respect to a key's data, divided by the sum over keys:
 *
 *   by values  a key's data are the values in the attention's sum over keys (ab_weighted_sum, ab_attend,
 *              ab_delta_scan; else the result of ab_value or ab_value_step), per head. Exact if the output is linear
 *              in them, with one number per head, query and key; else for one random direction of the output.
 *   by rows    a key's data are the row that the attention reads: for attentions without such values, or with
 *              several. One head. The mean square over INFLUENCE_PROBES directions drawn at random, each element
 *              1 or -1: an estimate of the Jacobian's Frobenius norm (Hutchinson 1990), exact for a diagonal Jacobian.
 *
 * In fp32, without dropout. A query that depends on no key has weights of 0. */
#ifndef ABLATE_INFLUENCE_H
#define ABLATE_INFLUENCE_H
#include "network/train/weights.h"

enum { INFLUENCE_PROBES = 8 };
typedef enum { FROM_SOFTMAX, FROM_VALUES, FROM_ROWS } weights_source;
/* "softmax", "|d output / d value|", "|d output / d input|" */
const char *influence_source(weights_source s);

typedef struct influence influence;
/* Returns NULL and e on failure, such as an operation without a gradient. */
influence *influence_open(model *m, const batch *b, err *e);
void influence_close(influence *x); /* x may be NULL */
/* Like weights_find, for this batch. Returns false if there is no such attention, or its output depends on no key. */
bool influence_find(const influence *x, const char *stack, const char *part, int64_t layer, weights *out,
                    weights_source *from);
#endif
