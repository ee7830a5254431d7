/* padding.h - padded rows, for a device whose products need every row to start at a multiple of 16 bytes. The
 * attribute `padding` of LINEAR, LINEAR_DX, LINEAR_DW and CE is P: rows of LINEAR's result, and of dy in the gradients,
 * have N + P numbers, logits of CE V + P. The last P numbers of a row are neither read nor written. The CPU uses no
 * padding. */
#ifndef ABLATE_PADDING_H
#define ABLATE_PADDING_H
#include "tensor/graph/tape.h"

/* t_linear with padding: only t_ce may use the result. No bias, no ReLU. */
ab_t t_linear_padded(ab_ctx *c, ab_t x, ab_t w, ab_t b, int transposed, int relu, int64_t padding);
#endif
