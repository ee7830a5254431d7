/* cublaslt_multiply.c - products by cuBLASLt: a plan (product, layouts, algorithm) for every shape, made once and kept.
 *
 * The library reads matrices column by column, so our row-major c = a b is its c' = b' a'. cublaslt_choose.c chooses a
 * plan's algorithm. A product with `exact` has one plan for every number of rows.
 *
 * Our own kernels can multiply everything the library can. So if it refuses to describe a shape, to choose, or to
 * multiply with one algorithm, the next algorithm is taken, and after the last one our own kernels, for the rest of the
 * program. The log says so once per shape, and lt_failures() counts. Only a failure of the device itself ends a product
 * with an error.
 */
#if !defined GPU_ON_CPU || defined HAVE_CUBLASLT
#include "tensor/cuda/cublaslt_plan.h"
#include <stdlib.h>
#include <string.h>

lt_calls lt;
static void *library;
static cublasLtHandle_t handle;
static str path;
static char described[512];
static int64_t failures;

/* ---- loading ---- */

int lt_load_functions(err *e)
{
    static const char *const names[] = {LT_FUNCTIONS(LIBRARY_NAME) NULL};
    if (library) return 0;
    void *found = library_functions(&library_lt, names, &lt, &path, e);
    if (!found) return -1;
    size_t version = lt.cublasLtGetVersion();
    size_t major = version >= 100000 ? version / 10000 : version / 1000; /* 120900 is 12.9.0, 11805 is 11.8.5 */
    if (major < 12) return fail(e, "cuBLASLt: %s is version %zu.x, expected at least 12", str_text(&path), major);
    snprintf(described, sizeof described, "cuBLASLt %zu.%zu.%zu (%.400s)", major, version / 100 % 100, version % 100,
             str_text(&path));
    library = found;
    return 0;
}
const char *lt_description(void) { return described; }
int64_t lt_failures(void) { return failures; }
cublasLtHandle_t lt_handle(void) { return handle; }

int lt_open(err *e)
{
    if (handle) return 0;
    if (lt_load_functions(e) || lt_read_choices(e)) return -1;
    cublasStatus_t s = lt.cublasLtCreate(&handle);
    if (s == CUBLAS_STATUS_SUCCESS) return 0;
    handle = NULL;
    return fail(e, "%s cannot be started: %s", described, lt.cublasLtGetStatusString(s));
}

/* ---- plans by shape ---- */

static lt_plan *table;
static size_t table_size, table_used;

static lt_plan *slot_of(lt_plan *t, size_t size, const lt_key *key)
{
    size_t i = hash64(key, sizeof *key) % size;
    while (t[i].used && memcmp(&t[i].key, key, sizeof *key)) i = (i + 1) % size;
    return &t[i];
}
static lt_plan *find_plan(const lt_key *key) /* the plan, or a free place for it */
{
    if (2 * (table_used + 1) > table_size) {
        size_t size = table_size ? 2 * table_size : 256;
        lt_plan *t = xcalloc(size, sizeof *t);
        for (size_t i = 0; i < table_size; i++)
            if (table[i].used) *slot_of(t, size, &table[i].key) = table[i];
        free(table);
        table = t;
        table_size = size;
    }
    return slot_of(table, table_size, key);
}

static void free_plan(lt_plan *x)
{
    free(x->algorithm);
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
    table_size = table_used = 0, failures = 0;
    lt_forget_choices();
    if (handle) lt.cublasLtDestroy(handle);
    handle = NULL;
}

static int32_t alignment_of(const void *p) /* at most 16 bytes: more does not help, and differs from run to run */
{
    uintptr_t at = (uintptr_t)p;
    return at % 16 == 0 ? 3 : at % 8 == 0 ? 2 : at % 4 == 0 ? 1 : 0;
}

/* The vector that cuBLASLt calls bias: it adds the vector, or writes a bias's gradient (sums of dy over rows) there. */
static const void *vector_of(const product *p) { return p->sums ? p->sums : p->bias; }

static lt_key key_of(const product *p)
{
    lt_key key;
    memset(&key, 0, sizeof key);
    key.m = p->exact ? 0 : p->m, key.n = p->n, key.k = p->k;
    key.row[0] = p->row_a, key.row[1] = p->row_b, key.row[2] = p->row_c;
    key.batch = p->batch;
    if (p->batch > 1)
        key.step[0] = p->step_a, key.step[1] = p->step_b, key.step[2] = p->step_c, key.step[3] = p->step_sums;
    key.type = p->type, key.type_c = p->type_c;
    key.flags = (p->turn_a != 0) | (p->turn_b != 0) << 1 | (p->bias != NULL) << 2 | (p->relu != 0) << 3 |
                (p->beta != 0) << 4 | (p->exact != 0) << 5 | (p->bits != NULL) << 6 | (p->positive != NULL) << 7 |
                (p->sums != NULL) << 8;
    key.alignment =
        alignment_of(p->a) | alignment_of(p->b) << 2 | alignment_of(p->c) << 4 | alignment_of(vector_of(p)) << 6;
    return key;
}

/* ---- making a plan ---- */

/* Logs once per shape that our own kernels multiply from now on. */
static void give_up(lt_plan *x, const product *p, const char *doing, cublasStatus_t s)
{
    lt_failed(p, doing, s, "using our own kernels instead");
    x->refused = true;
}
void lt_failed(const product *p, const char *doing, cublasStatus_t s, const char *then)
{
    failures++;
    log_line(LOG_WARN, "cuBLASLt cannot %s for a product of %lld x %lld x %lld (%.80s): %s", doing, (long long)p->m,
             (long long)p->n, (long long)p->k, lt.cublasLtGetStatusString(s), then);
}

static cudaDataType_t number_of(dtype type) { return type == BF16 ? CUDA_R_16BF : CUDA_R_32F; }

/* Describes a stored matrix; a row is the library's column. */
static cublasStatus_t layout(const product *p, cublasLtMatrixLayout_t *at, dtype type, int64_t rows, int64_t width,
                             int64_t row, int64_t step)
{
    TRY(lt.cublasLtMatrixLayoutCreate(at, number_of(type), (uint64_t)width, (uint64_t)rows, row));
    if (p->batch <= 1) return CUBLAS_STATUS_SUCCESS;
    int32_t batch = (int32_t)p->batch;
    SET(MatrixLayout, *at, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch);
    SET(MatrixLayout, *at, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, step);
    return CUBLAS_STATUS_SUCCESS;
}

/* Our b is the library's A. */
static cublasLtEpilogue_t epilogue_of(const product *p)
{
    if (p->sums) return CUBLASLT_EPILOGUE_BGRADA;
    if (p->bits && p->positive) return CUBLASLT_EPILOGUE_DRELU;
    if (p->bits) return p->bias ? CUBLASLT_EPILOGUE_RELU_AUX_BIAS : CUBLASLT_EPILOGUE_RELU_AUX;
    if (p->relu) return p->bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    return p->bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

static cublasStatus_t describe(const product *p, lt_plan *x, int64_t m)
{
    TRY(lt.cublasLtMatmulDescCreate(&x->how, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    cublasOperation_t turn_a = p->turn_a ? CUBLAS_OP_T : CUBLAS_OP_N, turn_b = p->turn_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    SET(MatmulDesc, x->how, CUBLASLT_MATMUL_DESC_TRANSA, turn_b);
    SET(MatmulDesc, x->how, CUBLASLT_MATMUL_DESC_TRANSB, turn_a);
    cublasLtEpilogue_t last = epilogue_of(p);
    SET(MatmulDesc, x->how, CUBLASLT_MATMUL_DESC_EPILOGUE, last);
    const void *vector = vector_of(p);
    if (vector) { /* the heuristic reads the address's alignment */
        SET(MatmulDesc, x->how, CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector);
        int32_t type = (int32_t)number_of(p->type_c); /* cuBLASLt documents no other type for the bias */
        SET(MatmulDesc, x->how, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type);
        if (p->sums && p->batch > 1) SET(MatmulDesc, x->how, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, p->step_sums);
    }
    if (p->bits) {
        int64_t line = RELU_BITS(p->n);
        SET(MatmulDesc, x->how, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, p->bits);
        SET(MatmulDesc, x->how, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, line);
    }
    x->m = m;
    TRY(layout(p, &x->a, p->type, p->turn_a ? p->k : m, p->turn_a ? m : p->k, p->row_a, p->step_a));
    TRY(layout(p, &x->b, p->type, p->turn_b ? p->n : p->k, p->turn_b ? p->k : p->n, p->row_b, p->step_b));
    return layout(p, &x->c, p->type_c, m, p->n, p->row_c, p->step_c);
}

/* 0, or -1 if the device failed. A plan that the library refuses is marked as refused. */
static int make_plan(const product *p, const lt_key *key, lt_plan *at)
{
    lt_plan x;
    memset(&x, 0, sizeof x);
    x.key = *key, x.used = true;
    cublasStatus_t s = describe(p, &x, p->exact ? LT_EXACT_ROWS : p->m);
    if (s != CUBLAS_STATUS_SUCCESS) give_up(&x, p, "describe matrices", s);
    if (!x.refused) {
        s = lt_choose(p, &x);
        if (s != CUBLAS_STATUS_SUCCESS && s != CUBLAS_STATUS_NOT_SUPPORTED) give_up(&x, p, "choose an algorithm", s);
        if (!x.n) x.refused = true;
    }
    *at = x;
    table_used++;
    return gpu_forgive();
}

/* ---- multiplying ---- */

cublasStatus_t lt_set_rows(lt_plan *x, int64_t m)
{
    uint64_t rows = (uint64_t)m;
    x->m = m;
    SET(MatrixLayout, x->a, CUBLASLT_MATRIX_LAYOUT_COLS, rows);
    SET(MatrixLayout, x->c, CUBLASLT_MATRIX_LAYOUT_COLS, rows);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t lt_multiply(const product *p, lt_plan *x, const cublasLtMatmulAlgo_t *algorithm)
{
    const void *vector = vector_of(p);
    if (vector) SET(MatmulDesc, x->how, CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector);
    if (p->bits) SET(MatmulDesc, x->how, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, p->bits);
    void *work = gpu_scratch(SCRATCH_PRODUCT, LT_WORKSPACE);
    return lt.cublasLtMatmul(handle, x->how, &p->alpha, p->b, x->b, p->a, x->a, &p->beta, p->c, x->c, p->c, x->c,
                             algorithm, work, LT_WORKSPACE, gpu_stream());
}

cublasStatus_t lt_try_rows(lt_plan *x, int64_t m, const cublasLtMatmulAlgo_t *algorithm)
{
    cublasLtMatmulHeuristicResult_t result;
    TRY(lt_set_rows(x, m));
    TRY(lt.cublasLtMatmulAlgoCheck(handle, x->how, x->b, x->a, x->c, x->c, algorithm, &result));
    return result.workspaceSize <= LT_WORKSPACE ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

int lt_product(const product *p)
{
    if (!handle) return gpu_refuse("product_open must be called before a product");
    lt_key key = key_of(p);
    lt_plan *x = find_plan(&key);
    if (!x->used && make_plan(p, &key, x)) return -1;
    while (!x->refused) {
        /* exact products share a plan, and lt_choose tried many numbers of rows, but not all */
        cublasStatus_t s = x->m == p->m ? CUBLAS_STATUS_SUCCESS : lt_try_rows(x, p->m, &x->algorithm[x->at]);
        if (s == CUBLAS_STATUS_SUCCESS) s = lt_multiply(p, x, &x->algorithm[x->at]);
        if (s == CUBLAS_STATUS_SUCCESS) return gpu_launched();
        if (gpu_forgive()) return -1;
        if (++x->at == x->n)
            give_up(x, p, "multiply with its last algorithm", s);
        else
            lt_failed(p, "multiply with one algorithm", s, "using the next one");
    }
    return 1;
}
#endif
