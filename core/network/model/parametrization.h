/* parametrization.h - how initial values, learning rates and multipliers depend on the model's width and depth: the key
 * parametrization.
 *
 * mup: the maximal update parametrisation (Yang et al. 2022, Tensor Programs V, table 8, for Adam): a learning rate
 * found at one width then suits other widths. r = d_model / base_d_model; at the base width, mup equals the standard
 * parametrisation.
 *     embeddings, biases, norms    learning rate and initial values as at the base
 *     matrices (rows are inputs)   learning rate / r; Glorot's initial values have the right scale already
 *     logits                       / r
 *     queries                      * sqrt(base_d_k / d_k), so that scores are q.k / d_k
 * With base_layers also over depths (Dey et al. 2025, CompleteP, table 1 with alpha = 1): each sublayer's output * base
 * layers / layers. mup assumes that d_ff and heads * d_k grow with d_model. */
#ifndef ABLATE_PARAMETRIZATION_H
#define ABLATE_PARAMETRIZATION_H
#include "network/model/model.h"

double width_ratio(const config *c);                     /* r of the table above; without mup: 1 */
double embedding_width(const config *c);                 /* d_model, or with mup base_d_model */
double query_factor(const config *c);                    /* 0: none */
double sublayer_factor(const config *c, int64_t layers); /* layers: in this stack; returns 1 without base_layers */
/* Call after the first trace. Returns -1 and e if a plugin has no rule: an optimizer unlike Adam, a schedule that
 * depends on d_model, weights outside ab_linear. */
int parametrization_check(const model *m, err *e);
#endif
