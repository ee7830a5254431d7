/* cublaslt.h - cuBLASLt, loaded at run time. For ops_product.c and tests. */
#ifndef ABLATE_CUDA_LT_H
#define ABLATE_CUDA_LT_H
#include "base/base.h"
#include "tensor/cuda/library.h"
#include "tensor/cuda/product.h"

#if defined GPU_ON_CPU && !defined HAVE_CUBLASLT
#include "without_cublaslt.h"
#else
/* The functions used. */
#define LT_FUNCTIONS(X)                                                                                                \
    X(cublasLtCreate)                                                                                                  \
    X(cublasLtDestroy)                                                                                                 \
    X(cublasLtGetVersion)                                                                                              \
    X(cublasLtGetStatusString)                                                                                         \
    X(cublasLtMatmul)                                                                                                  \
    X(cublasLtMatmulAlgoCheck)                                                                                         \
    X(cublasLtMatmulAlgoConfigGetAttribute)                                                                            \
    X(cublasLtMatmulAlgoGetHeuristic)                                                                                  \
    X(cublasLtMatmulDescCreate)                                                                                        \
    X(cublasLtMatmulDescDestroy)                                                                                       \
    X(cublasLtMatmulDescSetAttribute)                                                                                  \
    X(cublasLtMatmulPreferenceCreate)                                                                                  \
    X(cublasLtMatmulPreferenceDestroy)                                                                                 \
    X(cublasLtMatmulPreferenceSetAttribute)                                                                            \
    X(cublasLtMatrixLayoutCreate) X(cublasLtMatrixLayoutDestroy) X(cublasLtMatrixLayoutSetAttribute)

int lt_load_functions(err *e);    /* loads the library once; needs no GPU */
const char *lt_description(void); /* "cuBLASLt 13.0.2 (/path)" once loaded */
int lt_open(err *e);              /* loads it and opens a handle on the device */
void lt_close(void);
/* The product by the library: 0 done, 1 no algorithm for this shape, -1 an error (message: gpu_error). k > 0. */
int lt_product(const product *p);
int64_t lt_failures(void); /* logged refusals for reasons other than a missing algorithm */
#endif
#endif
