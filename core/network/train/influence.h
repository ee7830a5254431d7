/* influence.h - which keys the output at each query depends on, of every attention plugin, over one batch.
 *
 * Weights are those of the attention's softmax over keys, if it has one. Otherwise they are the length of the
 * derivative of the output at a query with respect to what a key has, divided by its sum over the keys:
 *
 *   by values  what a key has are the values that the attention's sum over keys takes (ab_weighted_sum, ab_attend,
 *              ab_delta_scan; else what ab_value or ab_value_step returned), for each of their heads. Exact where
 *              the output is linear in them, with one number for each head, query and key; else of one direction of
 *              the output that is drawn at random.
 *   by rows    what a key has is the row that the attention reads: of attentions without such values, and of those
 *              with several. One head. The mean square over INFLUENCE_PROBES directions drawn at random, each element
 *              1 or -1: an estimate of the Jacobian's Frobenius norm (Hutchinson 1990), exact for a diagonal one.
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
/* NULL and e; e: an operation has no gradient, for one. */
influence *influence_open(model *m, const batch *b, err *e);
void influence_close(influence *x); /* NULL is fine */
/* As weights_find, whose tape it is. False: the model has no such place, or its output depends on no key. */
bool influence_find(const influence *x, const char *stack, const char *part, int64_t layer, weights *out,
                    weights_source *from);
#endif
