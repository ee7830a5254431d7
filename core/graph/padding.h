/* padding.h - rows with padding, for a device whose products want every row to begin at a multiple of 16 bytes. Attribute i2 of LINEAR, LINEAR_DX,
 * LINEAR_DW and CE is its width P: rows of LINEAR's result, and of dy in the gradients, are N + P long, logits of CE V + P. The last P numbers of
 * a row are nobody's: neither read nor written. The CPU has none. */
#ifndef ABLATE_PADDING_H
#define ABLATE_PADDING_H
#include "graph/tape.h"

/* t_linear with padding: only t_ce may take the result. No bias, no ReLU. */
ab_t t_linear_padded(ab_ctx *c, ab_t x, ab_t w, ab_t b, int transposed, int relu, int64_t padding);
#endif
