/* lt.h - cuBLASLt, loaded at run time (lt.c), and where it is looked for (lt_load.c). For product.c and tests. */
#ifndef ABLATE_CUDA_LT_H
#define ABLATE_CUDA_LT_H
#include "base/base.h"
#include "cuda/product.h"

/* What we call of it. */
#define LT_FUNCTIONS(X)                                                                                                \
    X(cublasLtCreate) X(cublasLtDestroy) X(cublasLtGetVersion) X(cublasLtGetStatusString) X(cublasLtMatmul)              \
    X(cublasLtMatmulAlgoCheck) X(cublasLtMatmulAlgoConfigGetAttribute) X(cublasLtMatmulAlgoGetHeuristic)                  \
    X(cublasLtMatmulDescCreate) X(cublasLtMatmulDescDestroy) X(cublasLtMatmulDescSetAttribute)                            \
    X(cublasLtMatmulPreferenceCreate) X(cublasLtMatmulPreferenceDestroy) X(cublasLtMatmulPreferenceSetAttribute)          \
    X(cublasLtMatrixLayoutCreate) X(cublasLtMatrixLayoutDestroy) X(cublasLtMatrixLayoutSetAttribute)

/* ---- lt_load.c ---- */

/* Opens the shared object: the file that the environment variable ABLATE_CUBLASLT names and no other; else beside this module,
 * under the loader's own names (libcublasLt.so.13, .so.12), in CUDA's usual folders, in the packages of Python (nvidia/.../lib
 * below VIRTUAL_ENV, CONDA_PREFIX, ~/.local, /usr). Returns its handle and puts its path into `path`, or NULL with all that was
 * tried in `e`. */
void *lt_load(str *path, err *e);
/* The address of a function in it goes to the function pointer at `to`: 0, or -1. */
int lt_function(void *library, const char *name, void *to, err *e);

/* ---- lt.c ---- */

int lt_load_functions(err *e); /* loads the library, once: needs no GPU */
const char *lt_description(void); /* "cuBLASLt 13.0.2 (/path)" once loaded */
int lt_open(err *e);           /* that, and a handle on the device */
void lt_close(void);
/* The product by the library: 0 done, 1 it has no algorithm for this shape, -1 an error (gpu_error has the words). k > 0. */
int lt_product(const product *p);
#endif
