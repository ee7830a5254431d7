/* dnn_gru.c - GRU and GRU_BACK by cuDNN's recurrent layers: a description for every shape, made once and kept.
 *
 * CUDNN_GRU with one bias, on the input's side, is op.h's layer: n = tanh(x W_n + b_n + r (h U_n)), y = (1 - z) n + z
 * h. A backwards layer runs forwards over sentences in reverse (gpu_pad), so that padding always comes last.
 *
 * Every sentence is described as having the batch's longest length. What the layer does on padding, which comes after
 * all real rows, is not read, and the gradient there is 0, which stays 0 until the last real row: results at real rows
 * and sums are exact. So the calls do not depend on the batch's lengths (which cuDNN takes from the host), and a graph
 * that holds them may be run again on other batches. With lengths alike, cells [time,batch,width] are cuDNN's packed
 * layout: it has nothing to pack.
 */
#include "tensor/cuda/layers.h"
#ifdef HAVE_CUDNN
#include "tensor/cuda/cudnn/dnn.h"
#include "tensor/cuda/ops.h"
#include <stdlib.h>
#include <string.h>

enum { GATES = 3 };
static const int32_t gate_of[GATES] = {1, 0, 2}; /* cuDNN's numbers of our columns z, r, n: it has r, z, n */

typedef struct {
    int64_t n, d, batch, time;
} gru_shape;
typedef struct {
    gru_shape shape;
    cudnnDropoutDescriptor_t dropout; /* none */
    cudnnRNNDescriptor_t layer;
    cudnnRNNDataDescriptor_t x, y;
    cudnnTensorDescriptor_t h;
    size_t work[2], reserve;             /* bytes, of CUDNN_FWD_MODE_INFERENCE and _TRAINING */
    size_t weights;                      /* bytes of the space of weights */
    size_t w[GATES], u[GATES], b[GATES]; /* where our columns' matrices begin in it */
    bool gaps;                           /* has it more bytes than they? */
} gru_plan;
static gru_plan *table;
static size_t table_size, table_used;

#define TRY(doing, call)                                                                                               \
    do {                                                                                                               \
        cudnnStatus_t status_ = (call);                                                                                \
        if (status_ != CUDNN_STATUS_SUCCESS) return dnn_failed(e, doing, status_);                                     \
    } while (0)

/* ---- descriptions ---- */

static void free_plan(const dnn_functions *f, gru_plan *p)
{
    if (p->h) f->cudnnDestroyTensorDescriptor(p->h);
    if (p->x) f->cudnnDestroyRNNDataDescriptor(p->x);
    if (p->y) f->cudnnDestroyRNNDataDescriptor(p->y);
    if (p->layer) f->cudnnDestroyRNNDescriptor(p->layer);
    if (p->dropout) f->cudnnDestroyDropoutDescriptor(p->dropout);
}

void dnn_gru_close(void)
{
    const dnn_functions *f = table_used ? dnn_load(NULL) : NULL;
    for (size_t i = 0; i < table_used && f; i++) free_plan(f, &table[i]);
    free(table);
    table = NULL;
    table_size = table_used = 0;
}

static int describe_layer(const dnn_functions *f, cudnnHandle_t handle, gru_plan *p, err *e)
{
    int32_t n = (int32_t)p->shape.n, d = (int32_t)p->shape.d;
    TRY("describe no dropout", f->cudnnCreateDropoutDescriptor(&p->dropout));
    TRY("describe no dropout", f->cudnnSetDropoutDescriptor(p->dropout, handle, 0, NULL, 0, 0));
    TRY("describe a GRU", f->cudnnCreateRNNDescriptor(&p->layer));
    TRY("describe a GRU",
        f->cudnnSetRNNDescriptor_v8(p->layer, CUDNN_RNN_ALGO_STANDARD, CUDNN_GRU, CUDNN_RNN_SINGLE_INP_BIAS,
                                    CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT,
                                    CUDNN_FMA_MATH, n, d, d, 1, p->dropout, CUDNN_RNN_PADDED_IO_DISABLED));
    TRY("tell a GRU's weights", f->cudnnGetRNNWeightSpaceSize(handle, p->layer, &p->weights));
    return 0;
}

static int describe_rows(const dnn_functions *f, cudnnRNNDataDescriptor_t *at, const gru_shape *s, int64_t width,
                         err *e)
{
    int batch = (int)s->batch, time = (int)s->time, *lengths = xmalloc((size_t)batch * sizeof *lengths);
    for (int i = 0; i < batch; i++) lengths[i] = time;
    cudnnStatus_t status = f->cudnnCreateRNNDataDescriptor(at);
    if (status == CUDNN_STATUS_SUCCESS)
        status = f->cudnnSetRNNDataDescriptor(*at, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, time,
                                              batch, (int)width, lengths, NULL);
    free(lengths);
    return status == CUDNN_STATUS_SUCCESS ? 0 : dnn_failed(e, "describe the rows of a GRU", status);
}

static int describe_data(const dnn_functions *f, cudnnHandle_t handle, gru_plan *p, err *e)
{
    const gru_shape *s = &p->shape;
    int dim[3] = {1, (int)s->batch, (int)s->d}, stride[3] = {dim[1] * dim[2], dim[2], 1};
    size_t none = 0;
    if (describe_rows(f, &p->x, s, s->n, e) || describe_rows(f, &p->y, s, s->d, e)) return -1;
    TRY("describe states", f->cudnnCreateTensorDescriptor(&p->h));
    TRY("describe states", f->cudnnSetTensorNdDescriptor(p->h, CUDNN_DATA_FLOAT, 3, dim, stride));
    TRY("tell a GRU's memory",
        f->cudnnGetRNNTempSpaceSizes(handle, p->layer, CUDNN_FWD_MODE_INFERENCE, p->x, &p->work[0], &none));
    TRY("tell a GRU's memory",
        f->cudnnGetRNNTempSpaceSizes(handle, p->layer, CUDNN_FWD_MODE_TRAINING, p->x, &p->work[1], &p->reserve));
    return 0;
}

/* Is it fp32 [1,rows,cols]? */
static int expect_matrix(const dnn_functions *f, cudnnTensorDescriptor_t m, int64_t rows, int64_t cols, err *e)
{
    int dim[3] = {0}, stride[3], n = 0;
    cudnnDataType_t type;
    TRY("describe a GRU's weights", f->cudnnGetTensorNdDescriptor(m, 3, &type, &n, dim, stride));
    if (n == 3 && type == CUDNN_DATA_FLOAT && dim[0] == 1 && dim[1] == rows && dim[2] == cols) return 0;
    return fail(e, "cuDNN lays a GRU's weights out as [%d,%d,%d] of %d axes, expected [1,%lld,%lld]", dim[0], dim[1],
                dim[2], n, (long long)rows, (long long)cols);
}

/* Where a matrix is (id: cuDNN's number of it), and its bias unless that is NULL. */
static int find_weights(const dnn_functions *f, cudnnHandle_t handle, const gru_plan *p, cudnnTensorDescriptor_t m,
                        int32_t id, size_t *at, size_t *bias, err *e)
{
    char *space = gpu_scratch(SCRATCH_LAYER, p->weights), *found = NULL;
    int64_t d = p->shape.d, cols = id < GATES ? p->shape.n : d;
    void *address = NULL;
    TRY("tell where weights are",
        f->cudnnGetRNNWeightParams(handle, p->layer, 0, p->weights, space, id, m, &address, NULL, NULL));
    if (expect_matrix(f, m, d, cols, e)) return -1;
    found = address;
    *at = (size_t)(found - space);
    if (!bias) return 0;
    TRY("tell where a bias is",
        f->cudnnGetRNNWeightParams(handle, p->layer, 0, p->weights, space, id, NULL, NULL, m, &address));
    if (expect_matrix(f, m, d, 1, e)) return -1;
    found = address;
    *bias = (size_t)(found - space);
    return 0;
}

static int find_all_weights(const dnn_functions *f, cudnnHandle_t handle, gru_plan *p, err *e)
{
    cudnnTensorDescriptor_t m = NULL;
    TRY("describe a GRU's weights", f->cudnnCreateTensorDescriptor(&m));
    int bad = 0;
    for (int i = 0; i < GATES && !bad; i++)
        bad = find_weights(f, handle, p, m, gate_of[i], &p->w[i], &p->b[i], e) ||
              find_weights(f, handle, p, m, GATES + gate_of[i], &p->u[i], NULL, e);
    f->cudnnDestroyTensorDescriptor(m);
    p->gaps = p->weights > (size_t)(GATES * p->shape.d * (p->shape.n + p->shape.d + 1)) * sizeof(float);
    return bad ? -1 : 0;
}

static const gru_plan *plan_of(const dnn_functions *f, cudnnHandle_t handle, const gru_call *c, err *e)
{
    gru_plan p = {.shape = {c->n, c->d, c->batch, c->time}};
    for (size_t i = 0; i < table_used; i++)
        if (!memcmp(&table[i].shape, &p.shape, sizeof p.shape)) return &table[i];
    if (describe_layer(f, handle, &p, e) || describe_data(f, handle, &p, e) || find_all_weights(f, handle, &p, e)) {
        free_plan(f, &p);
        return NULL;
    }
    table = grow(table, &table_size, table_used + 1, sizeof *table);
    table[table_used] = p;
    return &table[table_used++];
}

/* ---- memory of one call ---- */

typedef struct { /* all in scratch; the last five of a gradient only */
    float *x, *y;
    char *weights, *work;
    float *dx, *dy;
    char *gradients, *reserve;
} gru_memory;

static gru_memory memory_of(const gru_plan *p, bool back)
{
    size_t cells = (size_t)(p->shape.batch * p->shape.time) * sizeof(float), used = 0;
    size_t n = cells * (size_t)p->shape.n, d = cells * (size_t)p->shape.d;
    size_t x = layer_part(&used, n), y = layer_part(&used, d), weights = layer_part(&used, p->weights),
           work = layer_part(&used, p->work[back]);
    size_t dx = layer_part(&used, back ? n : 0), dy = layer_part(&used, back ? d : 0),
           gradients = layer_part(&used, back ? p->weights : 0);
    size_t reserve = layer_part(&used, back ? p->reserve : 0);
    char *at = gpu_scratch(SCRATCH_LAYER, used);
    return (gru_memory){(float *)(at + x),  (float *)(at + y),  at + weights,   at + work,
                        (float *)(at + dx), (float *)(at + dy), at + gradients, at + reserve};
}

static gpu_sentences sentences_of(const gru_call *c, int64_t width)
{
    return (gpu_sentences){.offset = c->offset,
                           .rows = c->rows,
                           .batch = c->batch,
                           .time = c->time,
                           .width = width,
                           .time_major = 1,
                           .reverse = c->backwards};
}

/* ---- parameters: of each gate, cuDNN has W', U' and b one after another where it said ---- */

static int pack(const gru_plan *p, const gru_call *c, char *space)
{
    int64_t n = p->shape.n, d = p->shape.d;
    gpu_matrix m[GPU_MATRICES];
    for (int i = 0; i < GATES; i++) {
        m[3 * i] = (gpu_matrix){c->w + i * d, space + p->w[i], n, d, GATES * d, n};
        m[3 * i + 1] = (gpu_matrix){c->u + i * d, space + p->u[i], d, d, GATES * d, d};
        m[3 * i + 2] = (gpu_matrix){c->b + i * d, space + p->b[i], 1, d, d, 1};
    }
    if (p->gaps) gpu_zero(space, p->weights); /* their values are unspecified */
    return gpu_transpose(GPU_MATRICES, m, F32);
}

static int unpack(const gru_plan *p, const gru_call *c, const char *space)
{
    int64_t n = p->shape.n, d = p->shape.d;
    gpu_matrix m[GPU_MATRICES];
    for (int i = 0; i < GATES; i++) {
        m[3 * i] = (gpu_matrix){space + p->w[i], c->dw + i * d, d, n, n, GATES * d};
        m[3 * i + 1] = (gpu_matrix){space + p->u[i], c->du + i * d, d, d, d, GATES * d};
        m[3 * i + 2] = (gpu_matrix){space + p->b[i], c->db + i * d, 1, d, d, 1};
    }
    return gpu_transpose(GPU_MATRICES, m, F32);
}

/* ---- calls ---- */

/* Rows and parameters are laid out and the layer runs over them. The lengths on the device are cuDNN's business
 * (NULL). */
static int forward(const dnn_functions *f, cudnnHandle_t handle, const gru_plan *p, const gru_call *c,
                   const gru_memory *m, bool back, err *e)
{
    gpu_sentences s = sentences_of(c, c->n);
    if (gpu_pad(&s, m->x, F32, c->x, c->type) || pack(p, c, m->weights)) return launched(-1, e);
    TRY("run a GRU",
        f->cudnnRNNForward(handle, p->layer, back ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE, NULL, p->x,
                           m->x, p->y, m->y, p->h, NULL, NULL, NULL, NULL, NULL, p->weights, m->weights, p->work[back],
                           m->work, back ? p->reserve : 0, back ? m->reserve : NULL));
    return 0;
}

int dnn_gru_run(const gru_call *c, err *e)
{
    const dnn_functions *f = dnn_load(e);
    cudnnHandle_t handle = dnn_handle(e);
    const gru_plan *p = f && handle ? plan_of(f, handle, c, e) : NULL;
    if (!p) return -1;
    gru_memory m = memory_of(p, false);
    gpu_sentences s = sentences_of(c, c->d);
    if (forward(f, handle, p, c, &m, false, e)) return -1;
    return launched(gpu_unpad(&s, c->y, c->type, m.y, F32), e);
}

/* The forward pass again, for what it leaves to its gradients. */
int dnn_gru_back(const gru_call *c, err *e)
{
    const dnn_functions *f = dnn_load(e);
    cudnnHandle_t handle = dnn_handle(e);
    const gru_plan *p = f && handle ? plan_of(f, handle, c, e) : NULL;
    if (!p) return -1;
    gru_memory m = memory_of(p, true);
    gpu_sentences in = sentences_of(c, c->n), out = sentences_of(c, c->d);
    if (forward(f, handle, p, c, &m, true, e)) return -1;
    if (gpu_pad(&out, m.dy, F32, c->dy, c->type)) return launched(-1, e);
    TRY("run a GRU's gradient", f->cudnnRNNBackwardData_v8(handle, p->layer, NULL, p->y, m.y, m.dy, p->x, m.dx, p->h,
                                                           NULL, NULL, NULL, NULL, NULL, NULL, NULL, p->weights,
                                                           m.weights, p->work[true], m.work, p->reserve, m.reserve));
    gpu_zero(m.gradients, p->weights); /* it adds */
    TRY("run a GRU's gradient of weights",
        f->cudnnRNNBackwardWeights_v8(handle, p->layer, CUDNN_WGRAD_MODE_ADD, NULL, p->x, m.x, p->h, NULL, p->y, m.y,
                                      p->weights, m.gradients, p->work[true], m.work, p->reserve, m.reserve));
    return launched(gpu_unpad(&in, c->dx, c->type, m.dx, F32) || unpack(p, c, m.gradients), e);
}
#endif
