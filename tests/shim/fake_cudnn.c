/* fake_cudnn.c - a stand-in for libcudnn in tests without a GPU: runs the backend API's graphs operation by operation
 * in plain loops (fake_graph.c). So tests check a graph's meaning; tests/cuda/test_dnn.c asks the real library whether
 * it has an engine for each graph.
 *
 * It is strict: attributes must have their types, descriptors must be finalized, pointers aligned. All work runs
 * as launches (gpu_host_call), because only launches may access device memory. It offers two engines: the first calls
 * itself nondeterministic and gives garbage. */
#include "fake_cudnn.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char last_error[512];
cudnnStatus_t fake_refuse(const char *fmt, ...)
{
    va_list rest;
    va_start(rest, fmt);
    vsnprintf(last_error, sizeof last_error, fmt, rest);
    va_end(rest);
    return CUDNN_STATUS_BAD_PARAM;
}

size_t cudnnGetVersion(void)
{
    const char *version = getenv("FAKE_CUDNN_VERSION");
    return version ? (size_t)atol(version) : 92500;
}
const char *cudnnGetErrorString(cudnnStatus_t s)
{
    return s == CUDNN_STATUS_SUCCESS ? "success" : "refused by the stand-in";
}
void cudnnGetLastErrorString(char *to, size_t n) { snprintf(to, n, "%s", last_error); }

static int a_handle;
cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    *handle = (cudnnHandle_t)&a_handle;
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    return handle == (cudnnHandle_t)&a_handle ? CUDNN_STATUS_SUCCESS : fake_refuse("no handle");
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    return handle == (cudnnHandle_t)&a_handle && stream == gpu_stream() ? CUDNN_STATUS_SUCCESS
                                                                        : fake_refuse("not the backend's stream");
}

/* ---- descriptors: a kind and attributes ---- */

static const size_t sizes[] = {[CUDNN_TYPE_HANDLE] = sizeof(void *),
                               [CUDNN_TYPE_DATA_TYPE] = sizeof(cudnnDataType_t),
                               [CUDNN_TYPE_BOOLEAN] = sizeof(bool),
                               [CUDNN_TYPE_INT64] = sizeof(int64_t),
                               [CUDNN_TYPE_FLOAT] = sizeof(float),
                               [CUDNN_TYPE_DOUBLE] = sizeof(double),
                               [CUDNN_TYPE_VOID_PTR] = sizeof(void *),
                               [CUDNN_TYPE_HEUR_MODE] = sizeof(cudnnBackendHeurMode_t),
                               [CUDNN_TYPE_NUMERICAL_NOTE] = sizeof(cudnnBackendNumericalNote_t),
                               [CUDNN_TYPE_POINTWISE_MODE] = sizeof(cudnnPointwiseMode_t),
                               [CUDNN_TYPE_BACKEND_DESCRIPTOR] = sizeof(void *),
                               [CUDNN_TYPE_REDUCTION_OPERATOR_TYPE] = sizeof(cudnnReduceTensorOp_t),
                               [CUDNN_TYPE_CHAR] = 1};

const fake_attribute *fake_find(const fake *d, int name)
{
    for (int i = 0; d && i < d->n; i++)
        if (d->at[i].name == name) return &d->at[i];
    return NULL;
}
const void *fake_get(const fake *d, int name)
{
    const fake_attribute *a = fake_find(d, name);
    return a ? a->values : NULL;
}
fake *fake_descriptor(const fake *d, int name)
{
    fake *const *to = fake_get(d, name);
    return to ? *to : NULL;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *d)
{
    fake *made = calloc(1, sizeof *made);
    made->type = type;
    *d = made;
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
    fake *d = descriptor;
    for (int i = 0; i < d->n; i++) free(d->at[i].values);
    free(d);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t n, const void *values)
{
    fake *d = descriptor;
    if (!d || d->finalized) return fake_refuse("attribute %d of a descriptor that is final", (int)name);
    if ((size_t)type >= sizeof sizes / sizeof *sizes || !sizes[type])
        return fake_refuse("attribute %d has type %d", (int)name, (int)type);
    if (fake_find(d, name) || d->n == FAKE_ATTRIBUTES || n < 0 || !values)
        return fake_refuse("attribute %d is set twice, or to nothing", (int)name);
    for (int64_t i = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < n; i++)
        if (!((fake *const *)values)[i] || !((fake *const *)values)[i]->finalized)
            return fake_refuse("attribute %d is not final", (int)name);
    fake_attribute *a = &d->at[d->n++];
    *a = (fake_attribute){name, type, n, malloc(sizes[type] * (size_t)n + 1)};
    memcpy(a->values, values, sizes[type] * (size_t)n);
    return CUDNN_STATUS_SUCCESS;
}

/* ---- required attributes ---- */

typedef struct {
    int name, type, n;
} need; /* n: number of values, 0: any */
static cudnnStatus_t check(const fake *d, const need *needs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const fake_attribute *a = fake_find(d, needs[i].name);
        if (!a) return fake_refuse("descriptor %d lacks attribute %d", (int)d->type, needs[i].name);
        if ((int)a->type != needs[i].type || (needs[i].n && a->n != needs[i].n))
            return fake_refuse("attribute %d has type %d and %lld values, expected %d and %d", needs[i].name,
                               (int)a->type, (long long)a->n, needs[i].type, needs[i].n);
    }
    return CUDNN_STATUS_SUCCESS;
}
#define CHECK_ALL(...) check(d, (const need[]){__VA_ARGS__}, sizeof((const need[]){__VA_ARGS__}) / sizeof(need))
#define D              CUDNN_TYPE_BACKEND_DESCRIPTOR

static cudnnStatus_t check_tensor(fake *d)
{
    cudnnStatus_t s = CHECK_ALL(
        {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1}, {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4},
        {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4}, {CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1},
        {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1});
    const int64_t *dim = fake_get(d, CUDNN_ATTR_TENSOR_DIMENSIONS);
    for (int i = 0; s == CUDNN_STATUS_SUCCESS && i < 4; i++)
        if (dim[i] < 1) s = fake_refuse("axis %d of a tensor has length %lld", i, (long long)dim[i]);
    const fake *offsets = fake_descriptor(d, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC);
    if (s == CUDNN_STATUS_SUCCESS && offsets) {
        const int64_t *n = fake_get(offsets, CUDNN_ATTR_TENSOR_DIMENSIONS);
        if (n[0] != dim[0] + 1)
            s = fake_refuse("offsets of %lld entries, expected %lld", (long long)n[0], (long long)dim[0] + 1);
    }
    return s;
}

static cudnnStatus_t check_kind(fake *d)
{
    switch (d->type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR: return check_tensor(d);
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
        return CHECK_ALL({CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1},
                         {CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1});
    case CUDNN_BACKEND_REDUCTION_DESCRIPTOR:
        return CHECK_ALL({CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1},
                         {CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1});
    case CUDNN_BACKEND_MATMUL_DESCRIPTOR: return CHECK_ALL({CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1});
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        return CHECK_ALL({CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, D, 1},
                         {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, D, 1}, {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, D, 1});
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        return CHECK_ALL({CUDNN_ATTR_OPERATION_REDUCTION_DESC, D, 1}, {CUDNN_ATTR_OPERATION_REDUCTION_XDESC, D, 1},
                         {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, D, 1});
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
        return CHECK_ALL({CUDNN_ATTR_OPERATION_RESHAPE_XDESC, D, 1}, {CUDNN_ATTR_OPERATION_RESHAPE_YDESC, D, 1});
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        return CHECK_ALL({CUDNN_ATTR_OPERATION_MATMUL_DESC, D, 1}, {CUDNN_ATTR_OPERATION_MATMUL_ADESC, D, 1},
                         {CUDNN_ATTR_OPERATION_MATMUL_BDESC, D, 1}, {CUDNN_ATTR_OPERATION_MATMUL_CDESC, D, 1});
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR: return CHECK_ALL({CUDNN_ATTR_OPERATIONGRAPH_OPS, D, 0});
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
        return CHECK_ALL({CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, D, 1},
                         {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1},
                         {CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, D, 1});
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
        return CHECK_ALL({CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, D, 1}, {CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, D, 1});
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
        return CHECK_ALL({CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 0},
                         {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 0},
                         {CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1});
    case CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR:
        return d->n == 1 ? CUDNN_STATUS_SUCCESS : fake_refuse("a device is described by its handle or by a text");
    default: return fake_refuse("no descriptor of kind %d is known here", (int)d->type);
    }
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
    fake *d = descriptor;
    if (d->finalized) return fake_refuse("finalized twice");
    cudnnStatus_t s = check_kind(d);
    d->finalized = s == CUDNN_STATUS_SUCCESS;
    return s;
}

/* ---- attributes that can be read ---- */

/* Offers two configurations: engine 0, which is not deterministic, and engine 1. */
static void give_configs(const fake *heuristics, int64_t asked, int64_t *n, void *to)
{
    fake *const *configs = to;
    *n = 2;
    for (int64_t i = 0; i < 2 && i < asked; i++) {
        configs[i]->graph = fake_descriptor(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
        configs[i]->engine = (int)i;
        configs[i]->finalized = true;
    }
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t asked, int64_t *n, void *to)
{
    const fake *d = descriptor;
    if (!d->finalized || asked < 1) return fake_refuse("attribute %d is asked of what is not final", (int)name);
    if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS && type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        give_configs(d, asked, n, to);
    } else if (name == CUDNN_ATTR_ENGINECFG_ENGINE && type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        fake *engine = *(fake **)to;
        engine->engine = d->engine;
        engine->finalized = true;
        *n = 1;
    } else if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && type == CUDNN_TYPE_NUMERICAL_NOTE) {
        *n = 1;
        *(cudnnBackendNumericalNote_t *)to =
            d->engine ? CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP : CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
    } else if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && type == CUDNN_TYPE_INT64) {
        *n = 1;
        *(int64_t *)to = FAKE_WORKSPACE;
    } else {
        return fake_refuse("attribute %d cannot be asked for here", (int)name);
    }
    return CUDNN_STATUS_SUCCESS;
}
