/* cublaslt.c - products by cuBLASLt: a plan (what to multiply, how the matrices lie, the algorithm) for every shape, made once and kept.
 *
 * The library sees matrices column after column, so our row-major c = a b is its c' = b' a'. Algorithms are those its heuristic
 * puts first for a workspace of 32 MiB; partial sums over k, if any, go through the workspace in F32 and are added in a step of
 * their own, so that the same product gives the same bits. A product with `exact` takes the algorithm that is first for
 * EXACT_ROWS rows among those with one sum over all of k, whatever its own number of rows: what is added to what in an element
 * follows from the algorithm and k. (tests/shim/test_product.c, built for a GPU, compares the bits.)
 */
#ifndef GPU_ON_CPU
#include "cuda/cublaslt.h"
#include "cuda/ops.h"
#include <cublasLt.h>
#include <stdlib.h>
#include <string.h>

#define POINTER(name) __typeof__(&name) name;
static struct { LT_FUNCTIONS(POINTER) } lt;
#undef POINTER

enum { EXACT_ROWS = 256, CANDIDATES = 8 };
static const size_t workspace_bytes = (size_t)32 << 20;

static void *library;
static cublasLtHandle_t handle;
static str path;
static char described[512];

/* ---- loading ---- */

int lt_load_functions(err *e)
{
    if (library) return 0;
    void *found = lt_load(&path, e);
    if (!found) return -1;
#define LOAD(name) if (lt_function(found, #name, &lt.name, e)) return -1;
    LT_FUNCTIONS(LOAD)
#undef LOAD
    size_t version = lt.cublasLtGetVersion();
    size_t major = version >= 100000 ? version / 10000 : version / 1000; /* 120900 is 12.9.0, 11805 is 11.8.5 */
    if (major < 12) return fail(e, "cuBLASLt: %s is version %zu.x, at least 12 is needed", str_text(&path), major);
    snprintf(described, sizeof described, "cuBLASLt %zu.%zu.%zu (%.400s)", major, version / 100 % 100, version % 100, str_text(&path));
    library = found;
    return 0;
}
const char *lt_description(void) { return described; }

int lt_open(err *e)
{
    if (handle) return 0;
    if (lt_load_functions(e)) return -1;
    cublasStatus_t s = lt.cublasLtCreate(&handle);
    if (s == CUBLAS_STATUS_SUCCESS) return 0;
    handle = NULL;
    return fail(e, "%s cannot be started: %s", described, lt.cublasLtGetStatusString(s));
}

/* ---- plans by shape ---- */

typedef struct { /* zeroed before it is filled in: compared as bytes */
    int64_t m, n, k, row[3], step[3], batch; /* m: 0 for an exact product */
    int32_t type, type_c, flags;
    int32_t alignment; /* of a, b, c and the bias: two bits each, 0 .. 3: 2, 4, 8, 16 bytes */
} shape_key;
typedef struct {
    shape_key key;
    bool used, refused;
    int64_t m; /* the layouts are set to */
    cublasLtMatmulDesc_t how;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulAlgo_t algorithm;
} plan;
static plan *table;
static size_t table_size, table_used;

static plan *slot_of(plan *t, size_t size, const shape_key *key)
{
    size_t i = hash64(key, sizeof *key) % size;
    while (t[i].used && memcmp(&t[i].key, key, sizeof *key)) i = (i + 1) % size;
    return &t[i];
}
static plan *find_plan(const shape_key *key) /* the plan, or a free place for it */
{
    if (2 * (table_used + 1) > table_size) {
        size_t size = table_size ? 2 * table_size : 256;
        plan *t = xcalloc(size, sizeof *t);
        for (size_t i = 0; i < table_size; i++)
            if (table[i].used) *slot_of(t, size, &table[i].key) = table[i];
        free(table);
        table = t;
        table_size = size;
    }
    return slot_of(table, table_size, key);
}

static void free_plan(plan *x)
{
    if (x->how) lt.cublasLtMatmulDescDestroy(x->how);
    if (x->a) lt.cublasLtMatrixLayoutDestroy(x->a);
    if (x->b) lt.cublasLtMatrixLayoutDestroy(x->b);
    if (x->c) lt.cublasLtMatrixLayoutDestroy(x->c);
}
void lt_close(void)
{
    for (size_t i = 0; i < table_size; i++) free_plan(&table[i]);
    free(table);
    table = NULL;
    table_size = table_used = 0;
    if (handle) lt.cublasLtDestroy(handle);
    handle = NULL;
}

static int32_t alignment_of(const void *p) /* 16 bytes are as good as more, and addresses differ from run to run beyond */
{
    uintptr_t at = (uintptr_t)p;
    return at % 16 == 0 ? 3 : at % 8 == 0 ? 2 : at % 4 == 0 ? 1 : 0;
}
static uint32_t alignment_bytes(const shape_key *key, int which) { return 2u << (key->alignment >> 2 * which & 3); }

static shape_key key_of(const product *p)
{
    shape_key key;
    memset(&key, 0, sizeof key);
    key.m = p->exact ? 0 : p->m, key.n = p->n, key.k = p->k;
    key.row[0] = p->row_a, key.row[1] = p->row_b, key.row[2] = p->row_c;
    key.batch = p->batch;
    if (p->batch > 1) key.step[0] = p->step_a, key.step[1] = p->step_b, key.step[2] = p->step_c;
    key.type = p->type, key.type_c = p->type_c;
    key.flags = (p->turn_a != 0) | (p->turn_b != 0) << 1 | (p->bias != NULL) << 2 | (p->relu != 0) << 3 | (p->beta != 0) << 4 |
                (p->exact != 0) << 5;
    key.alignment = alignment_of(p->a) | alignment_of(p->b) << 2 | alignment_of(p->c) << 4 | alignment_of(p->bias) << 6;
    return key;
}

/* ---- making a plan ---- */

static int failed(const product *p, const char *doing, cublasStatus_t s)
{
    char words[300];
    snprintf(words, sizeof words, "cuBLASLt cannot %s for a product of %lld x %lld x %lld: %.80s", doing, (long long)p->m,
             (long long)p->n, (long long)p->k, lt.cublasLtGetStatusString(s));
    return gpu_refuse(words);
}
#define TRY(doing, expr)                                                                                               \
    do {                                                                                                               \
        cublasStatus_t status_ = (expr);                                                                               \
        if (status_ != CUBLAS_STATUS_SUCCESS) return failed(p, doing, status_);                                        \
    } while (0)
#define SET(kind, at, attribute, value)                                                                                \
    TRY("describe matrices", lt.cublasLt##kind##SetAttribute((at), (attribute), &(value), sizeof(value)))

static cudaDataType_t number_of(int type) { return type == 2 ? CUDA_R_16BF : CUDA_R_32F; }

/* A stored matrix of so many rows: the library's columns. */
static int layout(const product *p, cublasLtMatrixLayout_t *at, int type, int64_t rows, int64_t width, int64_t row, int64_t step)
{
    TRY("describe matrices", lt.cublasLtMatrixLayoutCreate(at, number_of(type), (uint64_t)width, (uint64_t)rows, row));
    if (p->batch <= 1) return 0;
    int32_t batch = (int32_t)p->batch;
    SET(MatrixLayout, *at, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch);
    SET(MatrixLayout, *at, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, step);
    return 0;
}

static int describe(const product *p, plan *x, int64_t m)
{
    TRY("describe itself", lt.cublasLtMatmulDescCreate(&x->how, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    cublasOperation_t turn_a = p->turn_a ? CUBLAS_OP_T : CUBLAS_OP_N, turn_b = p->turn_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    SET(MatmulDesc, x->how, CUBLASLT_MATMUL_DESC_TRANSA, turn_b);
    SET(MatmulDesc, x->how, CUBLASLT_MATMUL_DESC_TRANSB, turn_a);
    cublasLtEpilogue_t last = p->bias ? p->relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS
                              : p->relu ? CUBLASLT_EPILOGUE_RELU
                                        : CUBLASLT_EPILOGUE_DEFAULT;
    SET(MatmulDesc, x->how, CUBLASLT_MATMUL_DESC_EPILOGUE, last);
    if (p->bias) { /* the heuristic looks at the address's alignment */
        SET(MatmulDesc, x->how, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p->bias);
        int32_t type = (int32_t)number_of(p->type_c); /* nothing else is documented */
        SET(MatmulDesc, x->how, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type);
    }
    x->m = m;
    if (layout(p, &x->a, p->type, p->turn_a ? p->k : m, p->turn_a ? m : p->k, p->row_a, p->step_a)) return -1;
    if (layout(p, &x->b, p->type, p->turn_b ? p->n : p->k, p->turn_b ? p->k : p->n, p->row_b, p->step_b)) return -1;
    return layout(p, &x->c, p->type_c, m, p->n, p->row_c, p->step_c);
}

static int prefer(const product *p, const shape_key *key, cublasLtMatmulPreference_t like)
{
    uint32_t sums = p->exact ? CUBLASLT_REDUCTION_SCHEME_NONE : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    uint32_t a = alignment_bytes(key, 0), b = alignment_bytes(key, 1), c = alignment_bytes(key, 2);
    SET(MatmulPreference, like, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
    SET(MatmulPreference, like, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, sums);
    SET(MatmulPreference, like, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, b);
    SET(MatmulPreference, like, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, a);
    SET(MatmulPreference, like, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c);
    SET(MatmulPreference, like, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, c);
    return 0;
}

/* One sum over all of k? */
static bool whole_sums(const cublasLtMatmulAlgo_t *algorithm)
{
    int32_t parts = 0;
    size_t written = 0;
    cublasStatus_t s =
        lt.cublasLtMatmulAlgoConfigGetAttribute(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &parts, sizeof parts, &written);
    return s == CUBLAS_STATUS_SUCCESS && parts >= 0 && parts <= 1;
}

/* An exact plan serves every number of rows with one algorithm: does this one do from one row to many? */
static bool for_all_rows(plan *x, const cublasLtMatmulAlgo_t *algorithm)
{
    static const uint64_t some[] = {EXACT_ROWS, 1, 17, 1000, 65536};
    cublasLtMatmulHeuristicResult_t r;
    for (size_t i = 0; i < LENGTH(some); i++) {
        lt.cublasLtMatrixLayoutSetAttribute(x->a, CUBLASLT_MATRIX_LAYOUT_COLS, &some[i], sizeof some[i]);
        lt.cublasLtMatrixLayoutSetAttribute(x->c, CUBLASLT_MATRIX_LAYOUT_COLS, &some[i], sizeof some[i]);
        x->m = (int64_t)some[i]; /* lt_product sets the real number */
        cublasStatus_t s = lt.cublasLtMatmulAlgoCheck(handle, x->how, x->b, x->a, x->c, x->c, algorithm, &r);
        if (s != CUBLAS_STATUS_SUCCESS || r.workspaceSize > workspace_bytes) return false;
    }
    return true;
}

static int choose(const product *p, plan *x, cublasLtMatmulPreference_t like)
{
    cublasLtMatmulHeuristicResult_t found[CANDIDATES];
    int n = 0;
    if (prefer(p, &x->key, like)) return -1;
    cublasStatus_t s = lt.cublasLtMatmulAlgoGetHeuristic(handle, x->how, x->b, x->a, x->c, x->c, like, CANDIDATES, found, &n);
    x->refused = true;
    if (s == CUBLAS_STATUS_NOT_SUPPORTED) return 0;
    if (s != CUBLAS_STATUS_SUCCESS) return failed(p, "choose an algorithm", s);
    for (int i = 0; i < n && x->refused; i++) {
        if (found[i].state != CUBLAS_STATUS_SUCCESS) continue;
        if (p->exact && !(whole_sums(&found[i].algo) && for_all_rows(x, &found[i].algo))) continue;
        x->algorithm = found[i].algo;
        x->refused = false;
    }
    return 0;
}

static int make_plan(const product *p, const shape_key *key, plan *at)
{
    plan x;
    memset(&x, 0, sizeof x);
    x.key = *key;
    cublasLtMatmulPreference_t like = NULL;
    int bad = describe(p, &x, p->exact ? EXACT_ROWS : p->m);
    if (!bad) {
        cublasStatus_t s = lt.cublasLtMatmulPreferenceCreate(&like);
        bad = s == CUBLAS_STATUS_SUCCESS ? choose(p, &x, like) : failed(p, "choose an algorithm", s);
    }
    if (like) lt.cublasLtMatmulPreferenceDestroy(like);
    if (bad) {
        free_plan(&x);
        return -1;
    }
    x.used = true;
    *at = x;
    table_used++;
    return 0;
}

/* Another number of rows for the plan of exact products. The algorithm must still do: another one might give other bits. */
static int set_rows(const product *p, plan *x)
{
    uint64_t m = (uint64_t)p->m;
    cublasLtMatmulHeuristicResult_t result;
    SET(MatrixLayout, x->a, p->turn_a ? CUBLASLT_MATRIX_LAYOUT_ROWS : CUBLASLT_MATRIX_LAYOUT_COLS, m);
    SET(MatrixLayout, x->c, CUBLASLT_MATRIX_LAYOUT_COLS, m);
    x->m = p->m;
    TRY("take the algorithm of all numbers of rows",
        lt.cublasLtMatmulAlgoCheck(handle, x->how, x->b, x->a, x->c, x->c, &x->algorithm, &result));
    if (result.workspaceSize > workspace_bytes) return failed(p, "work in 32 MiB", CUBLAS_STATUS_NOT_SUPPORTED);
    return 0;
}

int lt_product(const product *p)
{
    if (!handle) return gpu_refuse("a product before product_open");
    shape_key key = key_of(p);
    plan *x = find_plan(&key);
    if (!x->used && make_plan(p, &key, x)) return -1;
    if (x->refused) return 1;
    if (x->m != p->m && set_rows(p, x)) return -1;
    if (p->bias) SET(MatmulDesc, x->how, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p->bias);
    void *work = gpu_scratch(SCRATCH_PRODUCT, workspace_bytes);
    TRY("multiply", lt.cublasLtMatmul(handle, x->how, &p->alpha, p->b, x->b, p->a, x->a, &p->beta, p->c, x->c, p->c, x->c,
                                      &x->algorithm, work, workspace_bytes, gpu_stream()));
    return gpu_launched();
}
#endif
