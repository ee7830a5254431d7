/* product.h - products of rows with learned matrices: decides when to keep a packed copy of the matrix (gemm.h
 * multiplies).
 *
 * Weights are F32 in one flat buffer and are packed for a product. With hundreds of rows packing costs little and the
 * copy is not kept. With few rows (decoding) the packed copy is kept until params->version changes. Several threads may
 * multiply with the same values at the same time (decoding streams), as long as the values do not change.
 */
#ifndef ABLATE_CPU_PRODUCT_H
#define ABLATE_CPU_PRODUCT_H
#include "tensor/cpu/gemm.h"

/* Multiplies by learned value `index` of `owner`. Uses a kept packed copy of g->w if that is faster. index < 0: the
 * matrix is not learned, so no copy is kept. */
void product_rows(gemm *g, params *owner, int32_t index);
#endif
