/* product.h - products of rows by oneDNN: primitives and packed weights are made once and kept.
 *
 * Weights are learned values, F32 in one flat buffer. oneDNN multiplies fastest from a blocked layout of its
 * own (and in bf16 for bf16 rows), so a packed copy of each matrix, in each of its two orientations, is kept
 * beside them and refreshed when params->version has changed. Not thread-safe: one kernel runs at a time,
 * with threads inside.
 */
#ifndef ABLATE_CPU_PRODUCT_H
#define ABLATE_CPU_PRODUCT_H
#include "cpu/fused.h"

/* y [rows,n] = x [rows,k] w [k,n] (+ bias) (+ what y held) (then max(0, .)) */
typedef struct {
    int64_t rows, n, k;
    dtype type;      /* of x and y: F32 or BF16 */
    bool transposed; /* w is stored [n,k] */
    bool bias, relu, add;
    int32_t own; /* product.c's own: 0 */
} product;
typedef struct { /* weights, F32 [k,n] or [n,k] */
    const float *data;
    const params *owner; /* NULL, or index < 0: packed anew at every call */
    int32_t index;
} weights;
int product_rows(const product *p, const void *x, weights w, const float *bias, void *y, err *e);
/* The same for `blocks` times p->rows rows. Every block is multiplied by one thread in the same way, so that a row's bits do not
 * depend on the number of blocks or threads. */
int product_blocks(const product *p, int64_t blocks, const void *x, weights w, const float *bias, void *y, err *e);

/* w [k,n] (or [n,k] when transposed) = x' dy: x [rows,k], dy [rows,n] of p->type, w F32. p's other fields are
 * not used. */
int product_outer(const product *p, const void *x, const void *dy, float *w, err *e);
/* c [m,n] = a' b for bf16 a [rows,m] and b [rows,n], rows > 0, where tiles_usable(). */
void outer_tiles(int64_t rows, int64_t m, int64_t n, const uint16_t *a, const uint16_t *b, float *c);
#endif
