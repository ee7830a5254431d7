/* cublaslt_plan.h - what the files of cuBLASLt share: its functions, plans by shape, how one is chosen. */
#ifndef ABLATE_CUDA_CUBLASLT_PLAN_H
#define ABLATE_CUDA_CUBLASLT_PLAN_H
#include "cuda/cublaslt.h"
#include "cuda/ops.h"
#include <cublasLt.h>

#define LT_POINTER(name) __typeof__(&name) name;
typedef struct {
    LT_FUNCTIONS(LT_POINTER)
} lt_calls;
#undef LT_POINTER
extern lt_calls lt; /* once loaded */
cublasLtHandle_t lt_handle(void);

enum {
    LT_EXACT_ROWS = 256, /* the number of rows for which an exact product's algorithm is chosen */
    LT_CANDIDATES = 32,  /* that the heuristic is asked for */
    LT_WORKSPACE = 32 << 20
};

typedef struct {                             /* a shape; zeroed before it is filled in: compared as bytes */
    int64_t m, n, k, row[3], step[3], batch; /* m: 0 for an exact product */
    int32_t type, type_c, flags;
    int32_t alignment; /* of a, b, c and the bias (or the sums): two bits each, 0 .. 3: 2, 4, 8, 16 bytes */
} lt_key;
typedef struct {
    lt_key key;
    bool used, refused; /* refused: our own kernels multiply */
    int64_t m;          /* the layouts are set to */
    cublasLtMatmulDesc_t how;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulAlgo_t *algorithm; /* [n], the one to be preferred first */
    int n, at;                       /* at: the one in use; those before it failed */
} lt_plan;

/* Fills in a described plan's algorithms: n stays 0 when there is none. A status other than success or not supported: the heuristic's
 * own. (cublaslt_choose.c) */
cublasStatus_t lt_choose(const product *p, lt_plan *x);
cublasStatus_t lt_set_rows(lt_plan *x, int64_t m); /* m rows of a and c, from here on */
cublasStatus_t lt_multiply(const product *p, lt_plan *x, const cublasLtMatmulAlgo_t *algorithm);
/* Counts and logs what the library cannot do, and what happens `then`. */
void lt_failed(const product *p, const char *doing, cublasStatus_t s, const char *then);

/* ---- choices kept in a file (cublaslt_file.c) ---- */

enum { LT_CONFIG = 9 };
typedef struct {
    int64_t value[LT_CONFIG];
} lt_config; /* what an algorithm is: the attributes of its configuration, in the file's order */
void lt_config_of(const cublasLtMatmulAlgo_t *algorithm, lt_config *out);

/* Reads the file that ABLATE_CUBLASLT_CHOICES names, if any; it need not be there yet. 0, or -1 and words. */
int lt_read_choices(err *e);
void lt_forget_choices(void);
bool lt_keeps_choices(void); /* is one named? */
/* What the file says of a shape on this device with this library; NULL when nothing. */
const lt_config *lt_kept_choice(const lt_key *key);
/* For this program alone, what others have added meanwhile read: from the look-up of a shape that has no choice to its lt_keep_choice. */
int lt_lock_choices(void);
void lt_unlock_choices(int locked);
/* Adds a line. ms: of one product with it; others[n]: the times of all that were tried, in the heuristic's order. */
void lt_keep_choice(const lt_key *key, const lt_config *chosen, double ms, const double *others, int n);
#endif
