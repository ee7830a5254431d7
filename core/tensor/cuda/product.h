/* product.h - matrix products on the GPU, with cuBLASLt or our own kernels (product.cu).
 *
 * product_open loads the library; a plan is kept for every shape. Our own kernels are used if the library has no
 * algorithm for a shape, for everything if the environment variable ABLATE_PRODUCT is "own" (as a reference), and
 * always in the test build on the CPU. product_counts counts both. Both sum in an order that depends only on the shape:
 * same numbers, same bits.
 */
#ifndef ABLATE_CUDA_PRODUCT_H
#define ABLATE_CUDA_PRODUCT_H
#include "base/base.h"
#include "base/linkage.h"
#include "tensor/graph/op.h"
C_BEGIN

/* A product for the library or our own kernels: LINEAR, LINEAR_DX, LINEAR_DW, MATMUL or parts of its batch.
 *
 * c [m,n] = alpha a b + beta c (+ bias) (then max(0, .)), a [m,k], b [k,n], row-major. Sums are F32,
 * and F32 numbers are multiplied in F32. `a` and `b` do not overlap c. */
typedef struct {
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    int64_t row_a, row_b, row_c; /* row strides in elements, as stored */
    int turn_a, turn_b;          /* a is stored [k,m]; b is stored [n,k] */
    /* number of products; elements from a product's matrix to the next product's; 0: all use one matrix */
    int64_t batch, step_a, step_b, step_c;
    dtype type, type_c; /* F32 or BF16: the type of a and b; the type of c, which may be F32 with BF16 factors */
    float alpha, beta;
    const void *bias; /* [n] of type_c, or NULL */
    int relu;
    const void *positive; /* [m,n] of type_c, with c's row stride, or NULL: c is 0 where this is not > 0 */
    float *sums;          /* [n], or NULL: sums of b over k; only for b stored [k,n] */
    int64_t step_sums;    /* elements from the sums of one product to the next */
    /* for cuBLASLt only, or NULL: m lines of RELU_BITS(n) bits, written with relu, read instead of `positive` */
    void *bits;
    int exact; /* a row's bits in c must not depend on m or batch */
} product;

#define RELU_BITS(n) (((n) + 127) / 128 * 128)

/* Returns 0, or -1 (message: gpu_error). Does nothing for an empty c; with k == 0 sums are 0. */
int gpu_product(const product *p);

/* Numbers of products since the program started, by implementation. A graph's products count once, at capture. */
/* at_once: the library's products fused with a ReLU's gradient, sums or bits */
typedef struct {
    int64_t library, own, at_once;
} product_count;
product_count product_counts(void);
void product_count_own(void);
/* May a kernel of our own fuse a product with the operation after it? ABLATE_PRODUCT=plain says no. */
int product_may_fuse(void);
int64_t product_failures(void); /* failures of the library: each was logged and replaced */

/* Our own kernels (product.cu). batch <= 65535. */
int gpu_own_product(const product *p);

/* Loads the library, unless all products are our own. Returns 0, or -1 and where it was searched for. */
int product_open(err *e);
void product_close(void); /* frees plans and handle; before gpu_close */
/* "cuBLASLt 13.0.2 (/path/libcublasLt.so.13)", or why there is none; static storage. Needs no GPU. */
const char *product_library(void);
C_END
#endif
