/* product.h - products of rows by learned matrices: when a packed copy of the matrix is kept (gemm.h multiplies).
 *
 * Weights are F32 in one flat buffer. To multiply they are packed, which beside some hundred rows costs nothing and leaves nothing
 * behind. For few rows (decoding) the packed copy is kept until params->version has changed. Several threads may multiply by the same
 * values at a time (streams of decoding), while these do not change.
 */
#ifndef ABLATE_CPU_PRODUCT_H
#define ABLATE_CPU_PRODUCT_H
#include "cpu/gemm.h"

/* Multiplies; with the kept copy of g->w, learned value `index` of `owner`, where that pays. index < 0: no such value. */
void product_rows(gemm *g, const params *owner, int32_t index);
#endif
