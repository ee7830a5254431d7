/* dnn_graph.c - graphs of cuDNN's tensor operations, through the descriptors of its backend API (cudnn_graph.h).
 *
 * A descriptor is created, gets attributes one by one, and is finalized. Tensors have numbers; operations name tensors;
 * a graph is a list of operations. Heuristics list engine configurations for it, best first; the first one that this
 * device can run and that sums in a fixed order becomes the plan.
 */
#ifdef HAVE_CUDNN
#include "tensor/cuda/cudnn/dnn.h"
#include "tensor/cuda/ops.h"
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, MOST_OWNED = 4 * MOST, MOST_CONFIGS = 16 };
typedef cudnnBackendDescriptor_t descriptor;

typedef struct {
    descriptor d;
    dnn_shape shape;
    cudnnDataType_t type;
    bool given, is_number;
    float number;
    void *at; /* memory of a given tensor in the next run */
} tensor;
struct dnn_graph {
    const dnn_functions *f;
    err error; /* the first error; later ones are ignored */
    tensor tensor[MOST + 1];
    descriptor op[MOST], owned[MOST_OWNED], plan;
    int n_tensors, n_ops, n_owned;
    int64_t workspace;
};

dnn_graph *dnn_graph_new(void)
{
    dnn_graph *g = xcalloc(1, sizeof *g);
    g->f = dnn_load(&g->error);
    return g;
}

void dnn_graph_free(dnn_graph *g)
{
    if (!g) return;
    while (g->n_owned > 0) g->f->cudnnBackendDestroyDescriptor(g->owned[--g->n_owned]);
    free(g);
}

/* ---- descriptors ---- */

static bool bad(const dnn_graph *g) { return g->error.text[0] != 0; }

static bool took(dnn_graph *g, cudnnStatus_t s, const char *doing)
{
    return s == CUDNN_STATUS_SUCCESS || (dnn_failed(&g->error, doing, s), false);
}

static descriptor make(dnn_graph *g, cudnnBackendDescriptorType_t type)
{
    descriptor d = NULL;
    if (bad(g)) return NULL;
    if (g->n_owned == MOST_OWNED) {
        fail(&g->error, "a cuDNN graph needs more than %d descriptors", MOST_OWNED);
        return NULL;
    }
    bool made = took(g, g->f->cudnnBackendCreateDescriptor(type, &d), "make a descriptor");
    return made ? (g->owned[g->n_owned++] = d) : NULL;
}

static void set(dnn_graph *g, descriptor d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                int64_t n, const void *values)
{
    char doing[64];
    snprintf(doing, sizeof doing, "take attribute %d of a graph", (int)name);
    if (!bad(g)) took(g, g->f->cudnnBackendSetAttribute(d, name, type, n, values), doing);
}
static void set_int(dnn_graph *g, descriptor d, cudnnBackendAttributeName_t name, int64_t v)
{
    set(g, d, name, CUDNN_TYPE_INT64, 1, &v);
}
static void set_type(dnn_graph *g, descriptor d, cudnnBackendAttributeName_t name, cudnnDataType_t v)
{
    set(g, d, name, CUDNN_TYPE_DATA_TYPE, 1, &v);
}
static void set_descriptor(dnn_graph *g, descriptor d, cudnnBackendAttributeName_t name, descriptor v)
{
    set(g, d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &v);
}
static void set_tensor(dnn_graph *g, descriptor d, cudnnBackendAttributeName_t name, dnn_tensor x)
{
    if (x) set_descriptor(g, d, name, g->tensor[x].d);
}

static void finalize(dnn_graph *g, descriptor d, const char *doing)
{
    if (!bad(g)) took(g, g->f->cudnnBackendFinalize(d), doing);
}
/* Adds the operation to the graph. Returns y, its result, or 0 after an error. */
static dnn_tensor add_operation(dnn_graph *g, descriptor d, const char *doing, dnn_tensor y)
{
    finalize(g, d, doing);
    if (!bad(g) && g->n_ops == MOST) fail(&g->error, "a cuDNN graph of more than %d operations", MOST);
    if (bad(g)) return 0;
    g->op[g->n_ops++] = d;
    return y;
}

/* ---- tensors ---- */

static dnn_tensor add_tensor(dnn_graph *g, const tensor *like, dnn_tensor offsets)
{
    enum { ALIGNMENT = 16 }; /* bytes */
    bool virtual = !like->given && !like->is_number, by_value = like->is_number;
    descriptor d = make(g, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    if (!bad(g) && g->n_tensors == MOST) fail(&g->error, "a cuDNN graph of more than %d tensors", MOST);
    set_type(g, d, CUDNN_ATTR_TENSOR_DATA_TYPE, like->type);
    set(g, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, like->shape.dim);
    set(g, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, like->shape.stride);
    set_int(g, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, g->n_tensors + 1);
    set_int(g, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, ALIGNMENT);
    set(g, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &virtual);
    set(g, d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value);
    set_tensor(g, d, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC, offsets);
    finalize(g, d, "describe a tensor");
    if (bad(g)) return 0;
    g->tensor[++g->n_tensors] = *like;
    g->tensor[g->n_tensors].d = d;
    return g->n_tensors;
}

dnn_tensor dnn_given(dnn_graph *g, cudnnDataType_t type, dnn_shape s, dnn_tensor offsets)
{
    return add_tensor(g, &(tensor){.type = type, .shape = s, .given = true}, offsets);
}
dnn_tensor dnn_inner(dnn_graph *g, cudnnDataType_t type, dnn_shape s, dnn_tensor offsets)
{
    return add_tensor(g, &(tensor){.type = type, .shape = s}, offsets);
}
dnn_tensor dnn_number(dnn_graph *g, float value)
{
    tensor t = {.type = CUDNN_DATA_FLOAT, .shape = {{1, 1, 1, 1}, {1, 1, 1, 1}}, .is_number = true, .number = value};
    return add_tensor(g, &t, 0);
}

/* A contiguous inner tensor of these axes. */
static dnn_tensor inner(dnn_graph *g, cudnnDataType_t type, const int64_t d[4])
{
    return dnn_inner(g, type, (dnn_shape){{d[0], d[1], d[2], d[3]}, {d[1] * d[2] * d[3], d[2] * d[3], d[3], 1}}, 0);
}

/* ---- operations ---- */

static dnn_tensor map(dnn_graph *g, cudnnPointwiseMode_t mode, cudnnDataType_t inside, int64_t axis, dnn_tensor x,
                      dnn_tensor b, dnn_tensor t, cudnnDataType_t type, dnn_tensor y)
{
    if (bad(g)) return 0;
    int64_t dim[4];
    for (int i = 0; i < 4; i++) {
        dim[i] = g->tensor[x].shape.dim[i];
        if (b && g->tensor[b].shape.dim[i] > dim[i]) dim[i] = g->tensor[b].shape.dim[i];
    }
    if (!y) y = inner(g, type, dim);
    descriptor how = make(g, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    set(g, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    set_type(g, how, CUDNN_ATTR_POINTWISE_MATH_PREC, inside);
    if (mode == CUDNN_POINTWISE_GEN_INDEX) set_int(g, how, CUDNN_ATTR_POINTWISE_AXIS, axis);
    finalize(g, how, "describe an elementwise function");
    descriptor op = make(g, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    set_descriptor(g, op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    set_tensor(g, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    set_tensor(g, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    set_tensor(g, op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, t);
    set_tensor(g, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    return add_operation(g, op, "apply an elementwise function", y);
}

dnn_tensor dnn_map(dnn_graph *g, cudnnPointwiseMode_t mode, dnn_tensor x, dnn_tensor b, dnn_tensor y)
{
    return map(g, mode, CUDNN_DATA_FLOAT, 0, x, b, 0, CUDNN_DATA_FLOAT, y);
}
dnn_tensor dnn_index(dnn_graph *g, dnn_tensor x, int64_t axis)
{
    return map(g, CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, axis, x, 0, 0, CUDNN_DATA_INT32, 0);
}
dnn_tensor dnn_compare(dnn_graph *g, cudnnPointwiseMode_t mode, dnn_tensor a, dnn_tensor b)
{
    return map(g, mode, CUDNN_DATA_BOOLEAN, 0, a, b, 0, CUDNN_DATA_BOOLEAN, 0);
}
dnn_tensor dnn_select(dnn_graph *g, dnn_tensor mask, dnn_tensor x, dnn_tensor otherwise)
{
    return map(g, CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, 0, x, otherwise, mask, CUDNN_DATA_FLOAT, 0);
}

dnn_tensor dnn_reduce(dnn_graph *g, cudnnReduceTensorOp_t how, dnn_tensor x, dnn_tensor y)
{
    if (bad(g)) return 0;
    const int64_t *d = g->tensor[x].shape.dim;
    if (!y) y = inner(g, CUDNN_DATA_FLOAT, (int64_t[4]){d[0], d[1], d[2], 1});
    descriptor what = make(g, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    set(g, what, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &how);
    set_type(g, what, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    finalize(g, what, "describe a reduction");
    descriptor op = make(g, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    set_descriptor(g, op, CUDNN_ATTR_OPERATION_REDUCTION_DESC, what);
    set_tensor(g, op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    set_tensor(g, op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
    return add_operation(g, op, "reduce an axis", y);
}

dnn_tensor dnn_relayout(dnn_graph *g, dnn_tensor x, dnn_shape s, dnn_tensor offsets)
{
    dnn_tensor y = dnn_inner(g, CUDNN_DATA_BFLOAT16, s, offsets);
    descriptor op = make(g, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    if (bad(g)) return 0;
    set_tensor(g, op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
    set_tensor(g, op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
    return add_operation(g, op, "look at a tensor in another order", y);
}

dnn_tensor dnn_product(dnn_graph *g, dnn_tensor a, dnn_tensor b, dnn_tensor rows, dnn_tensor columns, dnn_tensor within,
                       dnn_tensor y)
{
    if (bad(g)) return 0;
    const int64_t *m = g->tensor[a].shape.dim, *n = g->tensor[b].shape.dim;
    if (!y) y = inner(g, CUDNN_DATA_FLOAT, (int64_t[4]){m[0], m[1], m[2], n[3]});
    descriptor how = make(g, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    set_type(g, how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
    finalize(g, how, "describe a product");
    descriptor op = make(g, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    set_descriptor(g, op, CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
    set_tensor(g, op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
    set_tensor(g, op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    set_tensor(g, op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, y);
    set_tensor(g, op, CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, rows);
    set_tensor(g, op, CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, columns);
    set_tensor(g, op, CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, within);
    return add_operation(g, op, "multiply", y);
}

/* ---- planning ---- */

/* A descriptor of the device that a plan is for. */
static descriptor device_of(dnn_graph *g, const char *described)
{
    descriptor d = make(g, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    if (described) {
        set(g, d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, (int64_t)strlen(described), described);
    } else {
        cudnnHandle_t handle = dnn_handle(&g->error);
        set(g, d, CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
    }
    finalize(g, d, "describe the device");
    return d;
}

/* Does the engine of this configuration give the same bits each time? */
static bool fits(dnn_graph *g, descriptor config)
{
    descriptor engine = make(g, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    int64_t n = 0;
    if (bad(g)) return false;
    if (g->f->cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n,
                                       &engine) != CUDNN_STATUS_SUCCESS ||
        g->f->cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                       LENGTH(notes), &n, notes) != CUDNN_STATUS_SUCCESS)
        return false;
    for (int64_t i = 0; i < n && i < (int64_t)LENGTH(notes); i++) {
        if (notes[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC ||
            notes[i] == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)
            return false;
    }
    return true;
}

/* If the device is absent, a plan counts as complete even if its code cannot be loaded. */
static bool plan_with(dnn_graph *g, descriptor config, descriptor device, bool there)
{
    int64_t n;
    descriptor plan = make(g, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    set_descriptor(g, plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    set_descriptor(g, plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, device);
    if (bad(g)) return false;
    cudnnStatus_t s = g->f->cudnnBackendFinalize(plan);
    if (s == CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER && !there)
        return g->f->cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &n,
                                              &g->workspace) == CUDNN_STATUS_SUCCESS;
    if (s != CUDNN_STATUS_SUCCESS) return false;
    s = g->f->cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &n,
                                       &g->workspace);
    if (!took(g, s, "tell a plan's memory")) return false;
    if (there) g->plan = plan;
    return true;
}

static bool try_mode(dnn_graph *g, descriptor graph, descriptor device, cudnnBackendHeurMode_t mode, bool there)
{
    descriptor heuristics = make(g, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR), config[MOST_CONFIGS];
    set_descriptor(g, heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    set(g, heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    set_descriptor(g, heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device);
    if (bad(g) || g->f->cudnnBackendFinalize(heuristics) != CUDNN_STATUS_SUCCESS)
        return false; /* the heuristic knows no configurations */
    int64_t n = 0;
    for (int i = 0; i < MOST_CONFIGS; i++) config[i] = make(g, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (bad(g) ||
        g->f->cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                       MOST_CONFIGS, &n, config) != CUDNN_STATUS_SUCCESS)
        return false;
    for (int64_t i = 0; i < n && i < MOST_CONFIGS; i++)
        if (fits(g, config[i]) && plan_with(g, config[i], device, there)) return true;
    return false;
}

int dnn_plan(dnn_graph *g, const char *device, err *e)
{
    descriptor graph = make(g, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR), on = device_of(g, device);
    set(g, graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, g->n_ops, g->op);
    finalize(g, graph, "put a graph together");
    bool planned = !bad(g) && (try_mode(g, graph, on, CUDNN_HEUR_MODE_A, !device) ||
                               try_mode(g, graph, on, CUDNN_HEUR_MODE_FALLBACK, !device));
    if (bad(g)) return fail(e, "%s", g->error.text);
    return planned ? 0 : 1;
}

size_t dnn_workspace(const dnn_graph *g) { return (size_t)g->workspace; }

/* ---- running ---- */

void dnn_at(dnn_graph *g, dnn_tensor x, void *data)
{
    if (x) g->tensor[x].at = data;
}

static cudnnStatus_t run(dnn_graph *g, descriptor pack, void *workspace, cudnnHandle_t handle)
{
    int64_t id[MOST], n = 0;
    void *at[MOST];
    for (int i = 1; i <= g->n_tensors; i++) {
        tensor *t = &g->tensor[i];
        if (!t->given && !t->is_number) continue;
        id[n] = i;
        at[n++] = t->is_number ? &t->number : t->at;
    }
    const dnn_functions *f = g->f;
    cudnnStatus_t s = f->cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, n, id);
    if (s == CUDNN_STATUS_SUCCESS)
        s = f->cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, n, at);
    if (s == CUDNN_STATUS_SUCCESS)
        s = f->cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    if (s == CUDNN_STATUS_SUCCESS) s = f->cudnnBackendFinalize(pack);
    return s == CUDNN_STATUS_SUCCESS ? f->cudnnBackendExecute(handle, g->plan, pack) : s;
}

int dnn_run(dnn_graph *g, void *workspace, err *e)
{
    cudnnHandle_t handle = dnn_handle(e);
    descriptor pack = NULL;
    if (!handle) return -1;
    if (!g->plan) return fail(e, "a graph cannot run: it was planned for a device that is only described");
    cudnnStatus_t s = g->f->cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);
    if (s == CUDNN_STATUS_SUCCESS) s = run(g, pack, workspace, handle);
    if (pack) g->f->cudnnBackendDestroyDescriptor(pack);
    return s == CUDNN_STATUS_SUCCESS ? 0 : dnn_failed(e, "run a graph", s);
}
#endif
