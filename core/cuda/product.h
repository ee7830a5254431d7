/* product.h - products of matrices on the GPU: by cuBLASLt, or by kernels of our own (product.cu).
 *
 * The library is loaded by product_open; a plan for every shape is kept. Our own kernels
 * multiply where the library has no algorithm for a shape, everywhere when the environment variable ABLATE_PRODUCT is "own"
 * (a reference to compare with), and always in the test build on the CPU. product_counts says how often each was taken.
 * Both sum in an order that depends on the shape alone: same numbers, same bits.
 */
#ifndef ABLATE_CUDA_PRODUCT_H
#define ABLATE_CUDA_PRODUCT_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* c [m,n] = alpha a b + beta c (+ bias) (then max(0, .)), a [m,k], b [k,n], rows of a matrix one after another. Sums are F32,
 * and F32 numbers are multiplied as such. `a` and `b` do not overlap c. */
typedef struct {
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    int64_t row_a, row_b, row_c;           /* elements from a stored row to the next */
    int turn_a, turn_b;                    /* a is stored [k,m]; b is stored [n,k] */
    int64_t batch, step_a, step_b, step_c; /* so many products; elements from one to the next, 0: the same matrix again */
    int type, type_c;                      /* numbers of dtype: 0 F32, 2 BF16; of a and b; of c, which may be F32 beside BF16 */
    float alpha, beta;
    const void *bias; /* [n] of type_c, or NULL */
    int relu;
    const void *positive; /* [m,n] of type_c, rows as c's, or NULL: c is 0 where this is not > 0 */
    float *sums;          /* [n], or NULL: sums of b over k, for a batch of 1; b is not stored [n,k] */
    void *bits;           /* of cuBLASLt alone, or NULL: m lines of RELU_BITS(n) bits, written with relu, read instead of `positive` */
    int exact; /* the bits of a row of c may not depend on m or batch */
} product;

#define RELU_BITS(n) (((n) + 127) / 128 * 128)

/* 0, or -1 (gpu_error has the words). Nothing is done for an empty c; k == 0 counts as sums of 0. */
int gpu_product(const product *p);

/* Products asked for since the program began, by who multiplied. Those of a graph count once, when it is written. */
typedef struct { int64_t library, own, at_once; } product_count; /* at_once: of the library's, with a ReLU's gradient, sums or bits */
product_count product_counts(void);
int64_t product_failures(void); /* of the library: each was logged, and something else multiplied */

/* Our own kernels (product.cu). batch <= 65535. */
int gpu_own_product(const product *p);

#ifdef __cplusplus
}
#else
#include "base/base.h"
/* Loads the library and opens it on the device of gpu_open: 0, or -1 and where it was looked for. Nothing is loaded where our own
 * kernels do all. */
int product_open(err *e);
void product_close(void); /* frees plans and handle; before gpu_close */
/* "cuBLASLt 13.0.2 (/path/libcublasLt.so.13)", or why there is none; static storage. Needs no GPU. */
const char *product_library(void);
#endif
#endif
