/* fake_cublaslt.c - a stand-in for libcublasLt in tests without a GPU. It computes a product in plain loops.
 * FAKE_CUBLASLT, words of name=number that are read at each call, says how its candidate algorithms behave:
 *
 *     fail=N     the first N candidates cannot multiply      check=M    no algorithm takes M rows
 *     tiles=N    the first N give bits that depend on the number of rows, as an algorithm does that divides k by the
 *                number of tiles
 *     fast=N     candidate N is fast, the others are busy    refuse=S   status that the heuristic returns
 *     describe=S status of describing a matrix               plain=1    no ReLU masks, no gradients with a product
 *
 * Candidate 2 adds partial sums over k. A workspace belongs to the stream that used it first. fake_cublaslt_used() is
 * the candidate that multiplied last, from 1 on. */
#include "tensor/cuda/product.h"
#include "tensor/cuda/runtime.h"
#include <cublasLt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OFFERED = 12 };
static int64_t used;
int64_t fake_cublaslt_used(void);
int64_t fake_cublaslt_used(void) { return used; }

static long knob(const char *name)
{
    const char *text = getenv("FAKE_CUBLASLT"), *at = text ? strstr(text, name) : NULL;
    return at ? atol(at + strlen(name) + 1) : 0;
}

typedef struct {
    uint64_t rows, cols;
    int64_t row, step;
    int32_t batch, type;
} matrix;
typedef struct {
    int32_t turn_a, turn_b, epilogue;
    const void *bias;
    void *bits;
    int64_t line; /* length of a row of ReLU masks */
    int64_t step; /* distance of two matrices' biases */
} desc;

size_t cublasLtGetVersion(void) { return 130000; }
const char *cublasLtGetStatusString(cublasStatus_t s)
{
    return s == CUBLAS_STATUS_EXECUTION_FAILED ? "execution failed" : "refused by the stand-in";
}
enum { WORKSPACES = 8 };
static struct {
    const void *at, *stream;
} workspaces[WORKSPACES];
static bool owns(const void *stream, const void *work)
{
    int i = 0;
    while (i < WORKSPACES && workspaces[i].at && workspaces[i].at != work) i++;
    if (i == WORKSPACES) return false;
    if (!workspaces[i].at) workspaces[i].at = work, workspaces[i].stream = stream;
    return workspaces[i].stream == stream;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *h)
{
    memset(workspaces, 0, sizeof workspaces);
    *h = (cublasLtHandle_t)&used;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t h) { return h ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE; }

static cublasStatus_t make(void *to, const void *value, size_t bytes)
{
    void *p = malloc(bytes);
    if (!p) return CUBLAS_STATUS_ALLOC_FAILED;
    memcpy(p, value, bytes);
    memcpy(to, &p, sizeof p);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *m, cudaDataType type, uint64_t rows, uint64_t cols,
                                          int64_t ld)
{
    if (knob("describe")) return (cublasStatus_t)knob("describe");
    if ((int64_t)rows > ld) return CUBLAS_STATUS_INVALID_VALUE;
    return make(m, &(matrix){rows, cols, ld, 0, 1, type}, sizeof(matrix));
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t m)
{
    free(m);
    return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t take(void *to, size_t size, const void *value, size_t bytes)
{
    if (bytes != size) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}
#define TAKE(field) return take(&(field), sizeof(field), value, bytes)
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t at, cublasLtMatrixLayoutAttribute_t name,
                                                const void *value, size_t bytes)
{
    matrix *m = (void *)at;
    if (name == CUBLASLT_MATRIX_LAYOUT_COLS) TAKE(m->cols);
    if (name == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) TAKE(m->batch);
    if (name == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET) TAKE(m->step);
    return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *d, cublasComputeType_t compute, cudaDataType_t scale)
{
    if (compute != CUBLAS_COMPUTE_32F || scale != CUDA_R_32F) return CUBLAS_STATUS_INVALID_VALUE;
    return make(d, &(desc){0, 0, CUBLASLT_EPILOGUE_DEFAULT, NULL, NULL, 0, 0}, sizeof(desc));
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d)
{
    free(d);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t at, cublasLtMatmulDescAttributes_t name,
                                              const void *value, size_t bytes)
{
    desc *d = (void *)at;
    int32_t type;
    if (name == CUBLASLT_MATMUL_DESC_TRANSA) TAKE(d->turn_a);
    if (name == CUBLASLT_MATMUL_DESC_TRANSB) TAKE(d->turn_b);
    if (name == CUBLASLT_MATMUL_DESC_EPILOGUE) TAKE(d->epilogue);
    if (name == CUBLASLT_MATMUL_DESC_BIAS_POINTER) TAKE(d->bias);
    if (name == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER) TAKE(d->bits);
    if (name == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD) TAKE(d->line);
    if (name == CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE) TAKE(type);
    if (name == CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE) TAKE(d->step);
    return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *p) { return make(p, "", 1); }
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p)
{
    free(p);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t name, const void *value,
                                                    size_t bytes)
{
    (void)name;
    return p && value && (bytes == 4 || bytes == 8) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t h, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                              cublasLtMatrixLayout_t e, cublasLtMatmulPreference_t p, int most,
                                              cublasLtMatmulHeuristicResult_t *out, int *n)
{
    if (knob("refuse")) return (cublasStatus_t)knob("refuse");
    if (knob("plain") && (((const desc *)(const void *)d)->epilogue & (128 | CUBLASLT_EPILOGUE_BGRADA)))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    *n = h && d && a && b && c && e && p ? most < OFFERED ? most : OFFERED : 0;
    memset(out, 0, (size_t)*n * sizeof *out);
    for (int i = 0; i < *n; i++) out[i].algo.data[0] = (uint64_t)i + 1;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t name, void *to, size_t bytes,
                                                    size_t *written)
{
    bool narrow = name == CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID || name == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID,
         splits = algo->data[0] == 2;
    int32_t v = name == CUBLASLT_ALGO_CONFIG_ID                 ? (int32_t)algo->data[0]
                : name == CUBLASLT_ALGO_CONFIG_SPLITK_NUM       ? splits ? 4 : 1
                : name == CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME ? splits ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE : 0
                                                                : 7;
    if (bytes != (narrow ? 2 : 4)) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, &v, *written = bytes);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t h, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t e,
                                       const cublasLtMatmulAlgo_t *algo, cublasLtMatmulHeuristicResult_t *out)
{
    const matrix *rows = (const void *)c;
    out->workspaceSize = 1024;
    bool bad = !h || !d || !a || !b || !e || !algo->data[0] || (knob("check") && (int64_t)rows->cols == knob("check"));
    return bad ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
}

static float element(const void *p, int64_t at, int type)
{
    if (type == 0) return ((const float *)p)[at];
    uint32_t bits = (uint32_t)((const uint16_t *)p)[at] << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static void put(void *p, int64_t at, int type, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (type == 0)
        ((float *)p)[at] = x;
    else
        ((uint16_t *)p)[at] =
            (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fff : (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/* c = alpha a b + beta c + bias, in the types of product.h. Sums over k one by one: a row's bits do not depend on the
 * number of rows. */
static void multiply(void *arg)
{
    const product *p = arg;
    float *row = malloc((size_t)p->n * sizeof *row);
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t i = 0; i < p->m && row; i++) {
            memset(row, 0, (size_t)p->n * sizeof *row);
            for (int64_t k = 0; k < p->k; k++) {
                float x = element(p->a, b * p->step_a + (p->turn_a ? k * p->row_a + i : i * p->row_a + k), p->type);
                for (int64_t j = 0; j < p->n; j++)
                    row[j] +=
                        x * element(p->b, b * p->step_b + (p->turn_b ? j * p->row_b + k : k * p->row_b + j), p->type);
            }
            for (int64_t j = 0; j < p->n; j++) {
                int64_t at = b * p->step_c + i * p->row_c + j;
                float y = p->alpha * row[j] + (p->beta != 0 ? p->beta * element(p->c, at, p->type_c) : 0) +
                          (p->bias ? element(p->bias, j, p->type_c) : 0);
                unsigned char *bits = p->bits ? (unsigned char *)p->bits + i * RELU_BITS(p->n) / 8 + j / 8 : NULL,
                              bit = (unsigned char)(1 << j % 8);
                if (p->positive && !(*bits & bit)) y = 0;
                if (bits && p->relu) *bits = (unsigned char)(y > 0 ? *bits | bit : *bits & ~bit);
                put(p->c, at, p->type_c, p->relu && !(y > 0) ? 0 : y);
            }
        }
    for (int64_t i = 0; p->sums && i < p->batch * p->n; i++) {
        int64_t b = i / p->n, j = i % p->n;
        float sum = 0;
        for (int64_t k = 0; k < p->k; k++) sum += element(p->b, b * p->step_b + k * p->row_b + j, p->type);
        p->sums[b * p->step_sums + j] = sum;
    }
    free(row);
}

/* Processor time of this thread, which the emulation's gpu_milliseconds counts. */
static double busy_for(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static void be_busy(double seconds)
{
    for (double from = busy_for(); busy_for() < from + seconds;) continue;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t h, cublasLtMatmulDesc_t how, const void *alpha, const void *a,
                              cublasLtMatrixLayout_t at_a, const void *b, cublasLtMatrixLayout_t at_b, const void *beta,
                              const void *c, cublasLtMatrixLayout_t at_c, void *out, cublasLtMatrixLayout_t at_out,
                              const cublasLtMatmulAlgo_t *algo, void *work, size_t bytes, cudaStream_t stream)
{
    const desc *d = (const void *)how;
    const matrix *ours_b = (const void *)at_a, *ours_a = (const void *)at_b, *ours_c = (const void *)at_c;
    int64_t which = (int64_t)algo->data[0];
    if (!h || at_c != at_out || c != out || !work || bytes < 1024 || stream != gpu_stream() || !owns(stream, work))
        return CUBLAS_STATUS_INVALID_VALUE;
    bool relu = d->epilogue & CUBLASLT_EPILOGUE_RELU, sums = d->epilogue & CUBLASLT_EPILOGUE_BGRADA,
         aux = d->epilogue & 128;
    if (aux && (!d->bits || d->line != RELU_BITS((int64_t)ours_c->rows))) return CUBLAS_STATUS_INVALID_VALUE;
    if (which <= knob("fail")) return CUBLAS_STATUS_EXECUTION_FAILED;
    product p = {.m = (int64_t)ours_c->cols,
                 .n = (int64_t)ours_c->rows,
                 .k = (int64_t)(d->turn_a ? ours_b->rows : ours_b->cols),
                 .a = b,
                 .b = a,
                 .c = out,
                 .row_a = ours_a->row,
                 .row_b = ours_b->row,
                 .row_c = ours_c->row,
                 .turn_a = d->turn_b,
                 .turn_b = d->turn_a,
                 .batch = ours_c->batch,
                 .step_a = ours_a->step,
                 .step_b = ours_b->step,
                 .step_c = ours_c->step,
                 .type = ours_a->type == CUDA_R_16BF ? 2 : 0,
                 .type_c = ours_c->type == CUDA_R_16BF ? 2 : 0,
                 .bias = sums ? NULL : d->bias,
                 .sums = sums ? (float *)(uintptr_t)d->bias : NULL,
                 .step_sums = d->step,
                 .bits = aux ? d->bits : NULL,
                 .positive = aux && !relu ? d->bits : NULL,
                 .relu = relu};
    memcpy(&p.alpha, alpha, sizeof p.alpha);
    memcpy(&p.beta, beta, sizeof p.beta);
    if (which <= knob("tiles")) p.alpha *= 1 + (float)p.m * 1e-2f;
    if (knob("fast") && which != knob("fast")) be_busy(2e-3);
    used = which;
    gpu_host_call(multiply, &p, sizeof p);
    return CUBLAS_STATUS_SUCCESS;
}
