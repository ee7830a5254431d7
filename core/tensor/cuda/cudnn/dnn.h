/* dnn.h - cuDNN, used if found at run time (dnn_load.c), and graphs of its tensor operations (dnn_graph.c) for
 * attention (dnn_attend.c). Only for files compiled with cudnn.h.
 */
#ifndef ABLATE_CUDA_DNN_H
#define ABLATE_CUDA_DNN_H
#include "base/base.h"
#include <cudnn.h>

/* The functions used. */
#define DNN_FUNCTIONS(X)                                                                                               \
    X(cudnnGetVersion)                                                                                                 \
    X(cudnnGetErrorString)                                                                                             \
    X(cudnnGetLastErrorString)                                                                                         \
    X(cudnnCreate)                                                                                                     \
    X(cudnnDestroy)                                                                                                    \
    X(cudnnSetStream)                                                                                                  \
    X(cudnnBackendCreateDescriptor)                                                                                    \
    X(cudnnBackendDestroyDescriptor)                                                                                   \
    X(cudnnBackendSetAttribute)                                                                                        \
    X(cudnnBackendGetAttribute)                                                                                        \
    X(cudnnBackendFinalize)                                                                                            \
    X(cudnnBackendExecute)
typedef struct {
#define DNN_MEMBER(name) __typeof__(name) *name;
    DNN_FUNCTIONS(DNN_MEMBER)
#undef DNN_MEMBER
} dnn_functions;

/* cuDNN 9.10 has masks of minus infinity and devices without a handle. cuDNN 9.25 and later take sentences without
 * tokens (cudnn-frontend #943) and are used without being asked for. */
enum { DNN_OLDEST = 91000, DNN_BY_ITSELF = 92500 };

/* The functions, loaded at the first call; NULL and e if there is no cuDNN, or an older one. Needs no GPU. */
const dnn_functions *dnn_load(err *e);
/* The handle on the device, with the backend's stream; created at the first call, which must not be during capture. */
cudnnHandle_t dnn_handle(err *e);
/* Returns -1, with cuDNN's message. */
int dnn_failed(err *e, const char *doing, cudnnStatus_t s);

/* ---- graphs of tensor operations: built once, planned, run many times ----
 *
 * Tensors have four axes and are numbered from 1; after an error all later calls return 0, and dnn_plan reports it. */
typedef struct dnn_graph dnn_graph;
typedef int dnn_tensor;
typedef struct {
    int64_t dim[4], stride[4];
} dnn_shape; /* strides in elements */

dnn_graph *dnn_graph_new(void);
void dnn_graph_free(dnn_graph *g);
/* A tensor whose memory is set for each run (dnn_at). offsets: 0, or a tensor with the start of each entry of the first
 * axis [elements], int32 [B + 1]. */
dnn_tensor dnn_given(dnn_graph *g, cudnnDataType_t type, dnn_shape s, dnn_tensor offsets);
dnn_tensor dnn_number(dnn_graph *g, float value); /* [1,1,1,1] */
/* A tensor between operations, without memory of its own. */
dnn_tensor dnn_inner(dnn_graph *g, cudnnDataType_t type, dnn_shape s, dnn_tensor offsets);

/* y: the output tensor, or 0 for an inner tensor. Returns the result's number. */
/* computes in fp32; b: the second operand, or 0 if the operation has one operand */
dnn_tensor dnn_map(dnn_graph *g, cudnnPointwiseMode_t mode, dnn_tensor x, dnn_tensor b, dnn_tensor y);
/* int32, the shape of x */
dnn_tensor dnn_index(dnn_graph *g, dnn_tensor x, int64_t axis);
/* compares int32 or booleans; the result is boolean */
dnn_tensor dnn_compare(dnn_graph *g, cudnnPointwiseMode_t mode, dnn_tensor a, dnn_tensor b);
dnn_tensor dnn_select(dnn_graph *g, dnn_tensor mask, dnn_tensor x, dnn_tensor otherwise);
/* reduces the last axis */
dnn_tensor dnn_reduce(dnn_graph *g, cudnnReduceTensorOp_t how, dnn_tensor x, dnn_tensor y);
/* An inner tensor of bf16 in x's storage, with other axes. */
dnn_tensor dnn_relayout(dnn_graph *g, dnn_tensor x, dnn_shape s, dnn_tensor offsets);
/* a [.., M, K] times b [.., K, N], fp32 sums. rows, columns, within: valid parts of M, N, K, int32 [B,1,1,1], or 0. */
dnn_tensor dnn_product(dnn_graph *g, dnn_tensor a, dnn_tensor b, dnn_tensor rows, dnn_tensor columns, dnn_tensor within,
                       dnn_tensor y);

/* Chooses an engine with fp32 terms and sums in a fixed order. Returns 0; 1: cuDNN has none for this graph and device;
 * -1: an error. device: a JSON description of an absent device; NULL: the device of dnn_handle. */
int dnn_plan(dnn_graph *g, const char *device, err *e);
size_t dnn_workspace(const dnn_graph *g); /* bytes of working memory of a planned graph */
void dnn_at(dnn_graph *g, dnn_tensor x, void *data);
int dnn_run(dnn_graph *g, void *workspace, err *e); /* runs the graph in the backend's stream */
#endif
