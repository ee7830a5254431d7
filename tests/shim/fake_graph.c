/* fake_graph.c - runs a graph of cuDNN's backend API: every tensor is an array of doubles over its axes, rounded to its
 * type. Elements outside of sentences are NaN: a ragged tensor is NaN past an entry's end, where it is never written,
 * and a product is NaN outside of the rows and columns that its overrides count. So a missing mask shows in the
 * results. */
#include "fake_cudnn.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 128 };
typedef struct {
    const fake *d;
    int64_t dim[4], stride[4], count;
    cudnnDataType_t type;
    void *data; /* NULL: inner */
    bool by_value;
    const int32_t *offsets; /* NULL unless ragged */
    double *v;
} value;
typedef struct {
    const fake *plan;
    int64_t n_given;
    int64_t id[MOST];
    void *at[MOST];
    void *workspace;
} job;
typedef struct {
    const job *job;
    value values[MOST];
    int n;
} machine;

static double rounded(double x, cudnnDataType_t type)
{
    float f = (float)x;
    uint32_t u;
    if (type == CUDNN_DATA_DOUBLE) return x;
    if (type == CUDNN_DATA_BFLOAT16 && !isnan(f)) {
        memcpy(&u, &f, 4);
        u = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000u;
        memcpy(&f, &u, 4);
    }
    return (double)f;
}
static double read(const void *data, int64_t i, cudnnDataType_t type)
{
    if (type == CUDNN_DATA_FLOAT) return (double)((const float *)data)[i];
    if (type == CUDNN_DATA_INT32) return ((const int32_t *)data)[i];
    uint32_t u = (uint32_t)((const uint16_t *)data)[i] << 16;
    float f;
    memcpy(&f, &u, 4);
    return (double)f;
}
static void write(void *data, int64_t i, cudnnDataType_t type, double x)
{
    float f = (float)rounded(x, type);
    uint32_t u;
    memcpy(&u, &f, 4);
    if (type == CUDNN_DATA_FLOAT)
        ((float *)data)[i] = f;
    else if (type == CUDNN_DATA_INT32)
        ((int32_t *)data)[i] = (int32_t)x;
    else
        ((uint16_t *)data)[i] = (uint16_t)(u >> 16);
}

/* ---- tensors ---- */

static void *given(const machine *m, const fake *d)
{
    const int64_t *id = fake_get(d, CUDNN_ATTR_TENSOR_UNIQUE_ID);
    for (int64_t i = 0; i < m->job->n_given; i++)
        if (m->job->id[i] == *id) return m->job->at[i];
    return NULL;
}

/* Returns the index of element i in memory; -1: past the end of a ragged entry. */
static int64_t place(const value *t, int64_t i, int64_t *entry)
{
    int64_t at = 0, rest = i;
    for (int a = 3; a > 0; a--) at += rest % t->dim[a] * t->stride[a], rest /= t->dim[a];
    *entry = rest;
    if (!t->offsets) return at + rest * t->stride[0];
    int64_t first = t->offsets[rest], end = t->offsets[rest + 1];
    return first + at < end ? first + at : -1;
}

static value *value_of(machine *m, const fake *d)
{
    int64_t entry;
    for (int i = 0; i < m->n; i++)
        if (m->values[i].d == d) return &m->values[i];
    value *t = &m->values[m->n++];
    const bool *virtual = fake_get(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL),
               *by_value = fake_get(d, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
    const fake *offsets = fake_descriptor(d, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC);
    t->d = d;
    memcpy(t->dim, fake_get(d, CUDNN_ATTR_TENSOR_DIMENSIONS), sizeof t->dim);
    memcpy(t->stride, fake_get(d, CUDNN_ATTR_TENSOR_STRIDES), sizeof t->stride);
    t->type = *(const cudnnDataType_t *)fake_get(d, CUDNN_ATTR_TENSOR_DATA_TYPE);
    t->count = t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3];
    t->by_value = by_value && *by_value;
    t->data = virtual && *virtual ? NULL : given(m, d);
    t->offsets = offsets ? given(m, offsets) : NULL;
    t->v = malloc((size_t)t->count * sizeof *t->v);
    for (int64_t i = 0; i < t->count; i++) {
        int64_t at = t->data ? place(t, i, &entry) : -1;
        t->v[i] = at >= 0 ? read(t->data, at, t->type) : (double)NAN;
    }
    return t;
}
static value *operand(machine *m, const fake *op, int name)
{
    const fake *d = fake_descriptor(op, name);
    return d ? value_of(m, d) : NULL;
}

/* Rounds the computed values, and writes them to the tensor's memory, if it has some. rows: how many rows of axis 2 are
 * written; NULL: all rows. */
static void finish(value *t, const value *rows)
{
    int64_t entry;
    for (int64_t i = 0; i < t->count; i++) {
        t->v[i] = rounded(t->v[i], t->type);
        int64_t at = t->data ? place(t, i, &entry) : -1;
        if (at >= 0 && (!rows || (double)(i / t->dim[3] % t->dim[2]) < rows->v[entry]))
            write(t->data, at, t->type, t->v[i]);
    }
}

/* The element of x for y's element i, where axes of length 1 are broadcast. */
static double broadcast(const value *x, const value *y, int64_t i)
{
    int64_t at = 0, step = 1;
    for (int a = 3; a >= 0; a--) {
        int64_t k = i % y->dim[a];
        i /= y->dim[a];
        at += (x->dim[a] == 1 ? 0 : k) * step;
        step *= x->dim[a];
    }
    return x->v[at];
}

/* ---- operations ---- */

static double apply(cudnnPointwiseMode_t mode, double x, double b, double t)
{
    switch (mode) {
    case CUDNN_POINTWISE_ADD: return x + b;
    case CUDNN_POINTWISE_SUB: return x - b;
    case CUDNN_POINTWISE_MUL: return x * b;
    case CUDNN_POINTWISE_DIV: return x / b;
    case CUDNN_POINTWISE_EXP: return exp(x);
    case CUDNN_POINTWISE_LOG: return log(x);
    case CUDNN_POINTWISE_CMP_LT: return x < b;
    case CUDNN_POINTWISE_CMP_GE: return x >= b;
    case CUDNN_POINTWISE_LOGICAL_AND: return x != 0 && b != 0;
    case CUDNN_POINTWISE_BINARY_SELECT: return t != 0 ? x : b;
    default: return (double)NAN;
    }
}

static void run_map(machine *m, const fake *op)
{
    const fake *how = fake_descriptor(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    cudnnPointwiseMode_t mode = *(const cudnnPointwiseMode_t *)fake_get(how, CUDNN_ATTR_POINTWISE_MODE);
    value *x = operand(m, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC),
          *b = operand(m, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    value *t = operand(m, op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC),
          *y = operand(m, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    const int64_t *axis = fake_get(how, CUDNN_ATTR_POINTWISE_AXIS);
    for (int64_t i = 0; i < y->count; i++) {
        int64_t step = 1;
        for (int a = 3; axis && a > *axis; a--) step *= y->dim[a];
        y->v[i] = mode == CUDNN_POINTWISE_GEN_INDEX
                      ? (double)(i / step % y->dim[*axis])
                      : apply(mode, broadcast(x, y, i), b ? broadcast(b, y, i) : 0, t ? broadcast(t, y, i) : 0);
    }
    finish(y, NULL);
}

static void run_reduce(machine *m, const fake *op)
{
    const fake *how = fake_descriptor(op, CUDNN_ATTR_OPERATION_REDUCTION_DESC);
    cudnnReduceTensorOp_t what = *(const cudnnReduceTensorOp_t *)fake_get(how, CUDNN_ATTR_REDUCTION_OPERATOR);
    value *x = operand(m, op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC),
          *y = operand(m, op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
    for (int64_t i = 0; i < y->count; i++) {
        double r = what == CUDNN_REDUCE_TENSOR_MAX ? -(double)INFINITY : 0;
        for (int64_t j = 0; j < x->dim[3]; j++) {
            double a = x->v[i * x->dim[3] + j];
            r = what == CUDNN_REDUCE_TENSOR_MAX   ? (a > r || isnan(a) ? a : r)
                : what == CUDNN_REDUCE_TENSOR_ADD ? r + a
                                                  : (double)NAN;
        }
        y->v[i] = r;
    }
    finish(y, NULL);
}

/* Copies a tensor to one with other axes and strides, entry by entry in the source's order. */
static void run_relayout(machine *m, const fake *op)
{
    value *x = operand(m, op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC),
          *y = operand(m, op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
    int64_t each = x->count / x->dim[0], most = 0, entry;
    value a = *x, b = *y;
    a.offsets = b.offsets = NULL, a.stride[0] = b.stride[0] = 0;
    for (int64_t i = 0; i < each; i++) most = place(&a, i, &entry) > most ? place(&a, i, &entry) : most;
    double *storage = malloc((size_t)(most + 1) * sizeof *storage);
    for (int64_t e = 0; e < x->dim[0]; e++) {
        for (int64_t i = 0; i <= most; i++) storage[i] = (double)NAN;
        for (int64_t i = 0; i < each; i++) storage[place(&a, i, &entry)] = x->v[e * each + i];
        for (int64_t i = 0; i < each; i++) {
            int64_t at = place(&b, i, &entry);
            y->v[e * each + i] = at <= most ? storage[at] : (double)NAN;
        }
    }
    free(storage);
    finish(y, NULL);
}

static int64_t limit(const value *over, int64_t entry, int64_t all)
{
    return over && over->v[entry] < (double)all ? (int64_t)over->v[entry] : all;
}
static void run_product(machine *m, const fake *op)
{
    value *a = operand(m, op, CUDNN_ATTR_OPERATION_MATMUL_ADESC),
          *b = operand(m, op, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
    value *y = operand(m, op, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
    value *rows = operand(m, op, CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC);
    value *columns = operand(m, op, CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC);
    value *within = operand(m, op, CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC);
    int64_t M = a->dim[2], K = a->dim[3], N = b->dim[3];
    if (b->dim[2] != K || y->dim[2] != M || y->dim[3] != N || a->dim[1] != b->dim[1]) {
        gpu_refuse("a product of shapes that do not fit");
        return;
    }
    for (int64_t g = 0; g < y->dim[0] * y->dim[1]; g++) {
        int64_t entry = g / y->dim[1], k_end = limit(within, entry, K);
        for (int64_t i = 0; i < M; i++)
            for (int64_t j = 0; j < N; j++) {
                double sum = i < limit(rows, entry, M) && j < limit(columns, entry, N) ? 0 : (double)NAN;
                for (int64_t k = 0; k < k_end; k++) sum += a->v[(g * M + i) * K + k] * b->v[(g * K + k) * N + j];
                y->v[(g * M + i) * N + j] = sum;
            }
    }
    finish(y, rows);
}

static void run_operation(machine *m, const fake *op)
{
    switch (op->type) {
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: run_map(m, op); break;
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR: run_reduce(m, op); break;
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR: run_relayout(m, op); break;
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR: run_product(m, op); break;
    default: gpu_refuse("an operation that the stand-in does not know"); break;
    }
}

static void run_job(void *arg)
{
    const job *j = arg;
    const fake *config = fake_descriptor(j->plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    const fake_attribute *ops = fake_find(config->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    machine m = {.job = j};
    memset(j->workspace, 0xff, FAKE_WORKSPACE);
    for (int64_t i = 0; i < ops->n; i++) run_operation(&m, ((fake *const *)ops->values)[i]);
    for (int i = 0; i < m.n; i++) {
        value *t = &m.values[i];
        for (int64_t k = 0; k < t->count && !config->engine && t->data && !t->by_value && t->type != CUDNN_DATA_INT32;
             k++) {
            int64_t entry, at = place(t, k, &entry);
            if (at >= 0) write(t->data, at, t->type, (double)NAN);
        }
        free(t->v);
    }
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack)
{
    const fake *p = plan, *v = pack;
    const fake_attribute *ids = fake_find(v, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS),
                         *at = fake_find(v, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    job j = {.plan = p, .workspace = *(void *const *)fake_get(v, CUDNN_ATTR_VARIANT_PACK_WORKSPACE)};
    if (!handle || !p->finalized || !v->finalized) return fake_refuse("executed before it was final");
    if (ids->n != at->n || ids->n > MOST || !j.workspace)
        return fake_refuse("%lld numbers for %lld pointers", (long long)ids->n, (long long)at->n);
    j.n_given = ids->n;
    for (int64_t i = 0; i < ids->n; i++) {
        j.id[i] = ((const int64_t *)ids->values)[i];
        j.at[i] = ((void *const *)at->values)[i];
        if (!j.at[i]) return fake_refuse("tensor %lld has no memory", (long long)j.id[i]);
    }
    gpu_host_call(run_job, &j, sizeof j);
    return CUDNN_STATUS_SUCCESS;
}
