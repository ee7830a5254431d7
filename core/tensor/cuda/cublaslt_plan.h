/* cublaslt_plan.h - shared by the cuBLASLt files: its functions, plans by shape, selection of algorithms. */
#ifndef ABLATE_CUDA_CUBLASLT_PLAN_H
#define ABLATE_CUDA_CUBLASLT_PLAN_H
#include "tensor/cuda/cublaslt.h"
#include "tensor/cuda/ops.h"
#include <cublasLt.h>

#define LT_POINTER(name) __typeof__(&name) name;
typedef struct {
    LT_FUNCTIONS(LT_POINTER)
} lt_calls;
#undef LT_POINTER
extern lt_calls lt; /* after loading */
cublasLtHandle_t lt_handle(void);

enum {
    LT_EXACT_ROWS = 256, /* number of rows for choosing an exact product's algorithm */
    LT_CANDIDATES = 32,  /* requested from the heuristic */
    LT_WORKSPACE = 32 << 20
};

typedef struct {                             /* a shape; zeroed before filling, because it is compared as bytes */
    int64_t m, n, k, row[3], step[4], batch; /* m: 0 for an exact product */
    int32_t type, type_c, flags;
    int32_t alignment; /* alignments of a, b, c and the bias (or the sums): two bits each, 0 .. 3: 2, 4, 8, 16 bytes */
} lt_key;
typedef struct {
    lt_key key;
    bool used, refused; /* refused: use our own kernels */
    int64_t m;          /* the layouts are set to this m */
    cublasLtMatmulDesc_t how;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulAlgo_t *algorithm; /* [n], preferred first */
    int n, at;                       /* at: the algorithm in use; earlier algorithms failed */
} lt_plan;

/* Fills in a plan's algorithms; n becomes 0 if there are none. Returns success, or cuBLASLt's status. */
cublasStatus_t lt_choose(const product *p, lt_plan *x);
cublasStatus_t lt_set_rows(lt_plan *x, int64_t m); /* sets the number of rows of a and c */
/* Sets the number of rows and checks that the algorithm supports it. */
cublasStatus_t lt_try_rows(lt_plan *x, int64_t m, const cublasLtMatmulAlgo_t *algorithm);
cublasStatus_t lt_multiply(const product *p, lt_plan *x, const cublasLtMatmulAlgo_t *algorithm);
/* Counts a failure of the library, and logs it with `then`, the consequence. */
void lt_failed(const product *p, const char *doing, cublasStatus_t s, const char *then);

/* ---- choices saved in a file (cublaslt_file.c) ---- */

enum { LT_CONFIG = 9 };
typedef struct {
    int64_t value[LT_CONFIG];
} lt_config; /* an algorithm: the attributes of its configuration, in the file's order */

/* Reads the file named by ABLATE_CUBLASLT_CHOICES, if set; it may not exist yet. Returns 0, or -1 and e. */
int lt_read_choices(err *e);
void lt_forget_choices(void);
bool lt_keeps_choices(void); /* is a file named? */
/* The file's choice for a shape on this device with this library; NULL if the file has none. */
const lt_config *lt_kept_choice(const lt_key *key);
/* Locks the file, from the look-up of a shape without a choice until lt_keep_choice, and reads what others added. */
int lt_lock_choices(void);
void lt_unlock_choices(int locked);
/* Adds a line. ms: time of a product with `chosen`; others[n]: of all tested algorithms, in the heuristic's order. */
void lt_keep_choice(const lt_key *key, const lt_config *chosen, double ms, const double *others, int n);

/* Returns from the caller if the status is a failure. */
#define TRY(expr)                                                                                                      \
    do {                                                                                                               \
        cublasStatus_t status_ = (expr);                                                                               \
        if (status_ != CUBLAS_STATUS_SUCCESS) return status_;                                                          \
    } while (0)
#define SET(kind, at, attribute, value) TRY(lt.cublasLt##kind##SetAttribute((at), (attribute), &(value), sizeof(value)))
#endif
