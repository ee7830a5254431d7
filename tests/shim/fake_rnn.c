/* fake_rnn.c - the stand-in's recurrent layers: CUDNN_GRU of one layer in one direction in fp32, with one bias on the
 * input's side, as cuDNN documents it (cudnnRNNMode_t), and the descriptors that it needs.
 *
 *     r = sigmoid(W_r x + R_r h + b_r), i likewise; n = tanh(W_n x + r (R_n h) + b_n); h' = (1 - i) n + i h
 *
 * Whatever else the library can do is refused, so is all that its documentation forbids. Matrices lie in the space of
 * weights in an odd order and with gaps; padding is not a number in y, and is not looked at in x and dy; workspace is
 * spoilt. The reserve space knows which call was the last to write it, and what y was.
 */
#include "fake_cudnn.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IDS = 6, GATES = 3, RELATIVE_POSITION = 12 /* floats */ };
/* kept of each unit; U: what r scales; after the gradient of data R, I, N, U are those of their inputs */
enum { R, I, N, U, H, KEPT };

/* ---- tensors and dropout ---- */

struct cudnnTensorStruct {
    cudnnDataType_t type;
    int n, dim[CUDNN_DIM_MAX], stride[CUDNN_DIM_MAX];
};
struct cudnnDropoutStruct {
    bool set;
};

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *d)
{
    *d = calloc(1, sizeof **d);
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t d)
{
    free(d);
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t d, cudnnDataType_t type, int n, const int dim[],
                                         const int stride[])
{
    if (!d || n < 3 || n > CUDNN_DIM_MAX) return fake_refuse("a tensor of %d axes", n);
    *d = (struct cudnnTensorStruct){.type = type, .n = n};
    for (int i = 0; i < n; i++) {
        if (dim[i] < 1 || stride[i] < 1)
            return fake_refuse("axis %d has length %d and stride %d", i, dim[i], stride[i]);
        d->dim[i] = dim[i], d->stride[i] = stride[i];
    }
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t d, int wanted, cudnnDataType_t *type, int *n,
                                         int dim[], int stride[])
{
    if (!d || wanted < 1 || wanted > CUDNN_DIM_MAX) return fake_refuse("%d axes asked for", wanted);
    *type = d->type, *n = d->n;
    for (int i = 0; i < wanted && i < d->n; i++) dim[i] = d->dim[i], stride[i] = d->stride[i];
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t *d)
{
    *d = calloc(1, sizeof **d);
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t d)
{
    free(d);
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t handle, float p, void *states,
                                        size_t bytes, unsigned long long seed)
{
    (void)seed;
    if (!d || !handle || p != 0 || states || bytes)
        return fake_refuse("dropout between layers is not for this stand-in");
    d->set = true;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- the layer ---- */

struct cudnnRNNStruct {
    bool set, padded;
    int n, d;
};

cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t *l)
{
    *l = calloc(1, sizeof **l);
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t l)
{
    free(l);
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t l, cudnnRNNAlgo_t algorithm, cudnnRNNMode_t cell,
                                       cudnnRNNBiasMode_t bias, cudnnDirectionMode_t direction,
                                       cudnnRNNInputMode_t input, cudnnDataType_t data, cudnnDataType_t precision,
                                       cudnnMathType_t math, int32_t n, int32_t d, int32_t projected, int32_t layers,
                                       cudnnDropoutDescriptor_t dropout, uint32_t flags)
{
    if (!l || algorithm != CUDNN_RNN_ALGO_STANDARD || cell != CUDNN_GRU || direction != CUDNN_UNIDIRECTIONAL ||
        input != CUDNN_LINEAR_INPUT)
        return fake_refuse("a layer of another kind than one GRU forwards");
    if (bias != CUDNN_RNN_SINGLE_INP_BIAS)
        return fake_refuse("bias mode %d, expected one bias on the input's side", (int)bias);
    if (data != CUDNN_DATA_FLOAT || precision != CUDNN_DATA_FLOAT || math != CUDNN_FMA_MATH)
        return fake_refuse("a GRU in other numbers than fp32 without tensor cores");
    if (n < 1 || d < 1 || projected != d || layers != 1 || !dropout || !dropout->set ||
        flags > CUDNN_RNN_PADDED_IO_ENABLED)
        return fake_refuse("a GRU of %d from %d, projected to %d, %d layers, flags %u", d, n, projected, layers, flags);
    *l = (struct cudnnRNNStruct){.set = true, .padded = flags == CUDNN_RNN_PADDED_IO_ENABLED, .n = n, .d = d};
    return CUDNN_STATUS_SUCCESS;
}

/* Where matrix `id` (or its bias) begins in the space of weights [floats]; id < 0: the space's length. */
static size_t weight_at(int n, int d, int id, bool bias)
{
    static const struct {
        int id, bias;
    } order[] = {{4, 0}, {1, 1}, {0, 0}, {5, 0}, {2, 1}, {2, 0}, {3, 0}, {0, 1}, {1, 0}};
    size_t at = RELATIVE_POSITION;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (order[i].id == id && order[i].bias == bias) return at;
        at += (size_t)d * (size_t)(order[i].bias ? 1 : order[i].id < GATES ? n : d) + RELATIVE_POSITION;
    }
    return at;
}
static size_t weight_bytes(const struct cudnnRNNStruct *l) { return weight_at(l->n, l->d, -1, false) * sizeof(float); }

cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t l, size_t *bytes)
{
    if (!handle || !l || !l->set || !bytes) return fake_refuse("the weights of no layer");
    *bytes = weight_bytes(l);
    return CUDNN_STATUS_SUCCESS;
}

static void say(cudnnTensorDescriptor_t d, void **at, int rows, int cols, const void *space, size_t offset)
{
    if (d && rows) *d = (struct cudnnTensorStruct){CUDNN_DATA_FLOAT, 3, {1, rows, cols}, {rows * cols, cols, 1}};
    if (d && !rows) *d = (struct cudnnTensorStruct){.n = 0};
    if (at) *at = rows ? (float *)(uintptr_t)space + offset : NULL;
}
cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t l, int32_t layer, size_t bytes,
                                      const void *space, int32_t id, cudnnTensorDescriptor_t matrix, void **matrix_at,
                                      cudnnTensorDescriptor_t bias, void **bias_at)
{
    if (!handle || !l || !l->set || layer != 0 || id < 0 || id >= IDS)
        return fake_refuse("matrix %d of layer %d", id, layer);
    if (bytes < weight_bytes(l))
        return fake_refuse("a space of weights of %zu bytes, expected %zu", bytes, weight_bytes(l));
    if (!matrix != !matrix_at || !bias != !bias_at) return fake_refuse("an address without its shape");
    say(matrix, matrix_at, l->d, id < GATES ? l->n : l->d, space, weight_at(l->n, l->d, id, false));
    say(bias, bias_at, id < GATES ? l->d : 0, 1, space, weight_at(l->n, l->d, id, true));
    return CUDNN_STATUS_SUCCESS;
}

/* ---- rows ---- */

struct cudnnRNNDataStruct {
    bool set;
    cudnnRNNDataLayout_t layout;
    int time, batch, width;
    int *length;
};

cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t *x)
{
    *x = calloc(1, sizeof **x);
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t x)
{
    if (x) free(x->length);
    free(x);
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t x, cudnnDataType_t type, cudnnRNNDataLayout_t layout,
                                        int time, int batch, int width, const int length[], void *fill)
{
    if (!x || type != CUDNN_DATA_FLOAT || (int)layout < 0 || layout > CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED ||
        fill)
        return fake_refuse("rows of another type than fp32, or in layout %d", (int)layout);
    if (time < 1 || batch < 1 || width < 1 || !length) return fake_refuse("rows [%d,%d,%d]", time, batch, width);
    bool packed = layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED; /* the longest first, none empty */
    for (int b = 0; b < batch; b++)
        if (length[b] < packed || length[b] > time || (b && packed && length[b] > length[b - 1]))
            return fake_refuse("sentence %d has length %d of %d, or is longer than the one before", b, length[b], time);
    free(x->length);
    *x = (struct cudnnRNNDataStruct){true, layout, time, batch, width, malloc((size_t)batch * sizeof *length)};
    memcpy(x->length, length, (size_t)batch * sizeof *length);
    return CUDNN_STATUS_SUCCESS;
}

/* Cells of a batch: with padding where the layout has some. */
static size_t cells_of(const struct cudnnRNNDataStruct *x)
{
    size_t n = 0;
    if (x->layout != CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED) return (size_t)x->time * (size_t)x->batch;
    for (int b = 0; b < x->batch; b++) n += (size_t)x->length[b];
    return n;
}

/* ---- memory of a call ---- */

static size_t work_bytes(const struct cudnnRNNDataStruct *x, cudnnForwardMode_t mode)
{
    return FAKE_WORKSPACE + (mode == CUDNN_FWD_MODE_TRAINING ? 40 * (size_t)x->batch : 0);
}
enum { HEAD = 4 }; /* floats of the reserve space: who wrote it last */
enum { BY_NOBODY, BY_FORWARD, BY_DATA };
static size_t reserve_bytes(const struct cudnnRNNStruct *l, const struct cudnnRNNDataStruct *x)
{
    return (HEAD + cells_of(x) * KEPT * (size_t)l->d) * sizeof(float);
}
cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t l, cudnnForwardMode_t mode,
                                        cudnnRNNDataDescriptor_t x, size_t *work, size_t *reserve)
{
    if (!handle || !l || !l->set || !x || !x->set || x->width != l->n || !work)
        return fake_refuse("the memory of no layer");
    *work = work_bytes(x, mode);
    if (reserve) *reserve = mode == CUDNN_FWD_MODE_TRAINING ? reserve_bytes(l, x) : 0;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- a call: checked at once, run as a launch is ---- */

typedef struct {
    int n, d, time, batch;
    cudnnRNNDataLayout_t layout;
    size_t cells, work_bytes;
    bool training;
    const float *x, *weights, *dy;
    float *y, *dx, *gradients, *reserve;
    void *work;
    int length[]; /* [batch] */
} job;

/* The last training pass: its reserve space, who wrote there, and the shape. */
static struct {
    const void *reserve;
    int by, n, d, time, batch;
} last;

static bool fits(const struct cudnnRNNStruct *l, const struct cudnnRNNDataStruct *x, const struct cudnnRNNDataStruct *y,
                 const struct cudnnTensorStruct *h)
{
    bool alike = l && x && y && l->set && x->set && y->set && x->width == l->n && y->width == l->d &&
                 x->time == y->time && x->batch == y->batch && x->layout == y->layout &&
                 !memcmp(x->length, y->length, (size_t)x->batch * sizeof *x->length);
    if (!alike || (x->layout != CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED) != l->padded) return false;
    return h && h->type == CUDNN_DATA_FLOAT && h->n == 3 && h->dim[0] == 1 && h->dim[1] == x->batch &&
           h->dim[2] == l->d && h->stride[0] == x->batch * l->d && h->stride[1] == l->d && h->stride[2] == 1;
}
static bool aligned(const void *p) { return p && (uintptr_t)p % 16 == 0; }

/* What all three calls are given. */
static cudnnStatus_t check_call(cudnnHandle_t handle, const struct cudnnRNNStruct *l, const int32_t *lengths,
                                const struct cudnnRNNDataStruct *x, const struct cudnnRNNDataStruct *y,
                                const struct cudnnTensorStruct *h, size_t weights, cudnnForwardMode_t mode, size_t work,
                                const void *work_at, size_t reserve, const void *reserve_at)
{
    if (!handle || lengths || !fits(l, x, y, h))
        return fake_refuse("layer, rows and states do not fit, or lengths on the device");
    if (weights < weight_bytes(l)) return fake_refuse("%zu bytes of weights, expected %zu", weights, weight_bytes(l));
    if (work < work_bytes(x, mode) || !aligned(work_at))
        return fake_refuse("a workspace of %zu bytes, expected %zu", work, work_bytes(x, mode));
    if (mode != CUDNN_FWD_MODE_TRAINING || (reserve >= reserve_bytes(l, x) && aligned(reserve_at)))
        return CUDNN_STATUS_SUCCESS;
    return fake_refuse("a reserve space of %zu bytes, expected %zu", reserve, reserve_bytes(l, x));
}
/* Was `by` the last to write this reserve space, for this shape? */
static bool in_order(const struct cudnnRNNStruct *l, const struct cudnnRNNDataStruct *x, const void *reserve, int by)
{
    return last.reserve == reserve && last.by == by && last.n == l->n && last.d == l->d && last.time == x->time &&
           last.batch == x->batch;
}

static cudnnStatus_t run(void (*body)(void *), const struct cudnnRNNStruct *l, const struct cudnnRNNDataStruct *x,
                         const job *from, int by)
{
    size_t lengths = (size_t)x->batch * sizeof(int), bytes = sizeof(job) + lengths;
    job *j = malloc(bytes);
    *j = *from;
    j->n = l->n, j->d = l->d, j->time = x->time, j->batch = x->batch, j->layout = x->layout, j->cells = cells_of(x);
    memcpy(j->length, x->length, lengths);
    gpu_host_call(body, j, bytes);
    free(j);
    if (from->reserve)
        last.reserve = from->reserve, last.by = by, last.n = l->n, last.d = l->d, last.time = x->time,
        last.batch = x->batch;
    return CUDNN_STATUS_SUCCESS;
}

static size_t cell_of(const job *j, int t, int b)
{
    size_t at = 0;
    if (j->layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED) return (size_t)t * (size_t)j->batch + (size_t)b;
    if (j->layout == CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED) return (size_t)b * (size_t)j->time + (size_t)t;
    for (int s = 0; s < t; s++)
        for (int k = 0; k < j->batch; k++) at += j->length[k] > s;
    return at + (size_t)b;
}
static float *kept(const job *j, size_t cell, int what)
{
    return j->reserve + HEAD + (cell * KEPT + (size_t)what) * (size_t)j->d;
}
static const float *matrix(const job *j, int id, int row, int cols)
{
    return j->weights + weight_at(j->n, j->d, id, false) + (size_t)row * (size_t)cols;
}
static double dot(const float *a, const float *b, int n)
{
    double sum = 0;
    for (int i = 0; b && i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static void begin(const job *j) { memset(j->work, 0xff, j->work_bytes); }

/* Has it been written by whom it should, and is y what it was? */
static bool reserve_is(const job *j, int by)
{
    bool whole = j->reserve[0] == (float)by && j->reserve[1] == (float)j->n && j->reserve[2] == (float)j->d &&
                 j->reserve[3] == (float)j->cells;
    for (int b = 0; b < j->batch && whole; b++)
        for (int t = 0; t < j->length[b] && whole; t++) {
            size_t cell = cell_of(j, t, b);
            whole = !memcmp(kept(j, cell, H), j->y + cell * (size_t)j->d, (size_t)j->d * sizeof(float));
        }
    if (!whole) gpu_refuse("the stand-in for cuDNN: a gradient of another forward pass, or y was overwritten");
    return whole;
}
static void sign(const job *j, int by)
{
    j->reserve[0] = (float)by, j->reserve[1] = (float)j->n, j->reserve[2] = (float)j->d,
    j->reserve[3] = (float)j->cells;
}

/* ---- forward ---- */

static void forward_cell(const job *j, size_t cell, const float *before)
{
    const float *x = j->x + cell * (size_t)j->n, *bias = j->weights;
    for (int k = 0; k < j->d; k++) {
        double a[GATES], u[GATES];
        for (int g = 0; g < GATES; g++) {
            a[g] = dot(matrix(j, g, k, j->n), x, j->n) + (double)bias[weight_at(j->n, j->d, g, true) + (size_t)k];
            u[g] = dot(matrix(j, GATES + g, k, j->d), before, j->d);
        }
        double r = sigmoid(a[0] + u[0]), i = sigmoid(a[1] + u[1]), n = tanh(a[2] + r * u[2]);
        float h = (float)((1 - i) * n + (before ? i * (double)before[k] : 0));
        j->y[cell * (size_t)j->d + (size_t)k] = h;
        if (!j->training) continue;
        kept(j, cell, R)[k] = (float)r, kept(j, cell, I)[k] = (float)i, kept(j, cell, N)[k] = (float)n;
        kept(j, cell, U)[k] = (float)u[2], kept(j, cell, H)[k] = h;
    }
}
static void run_forward(void *arg)
{
    const job *j = arg;
    begin(j);
    for (size_t i = 0; i < weight_at(j->n, j->d, -1, false); i++)
        if (!isfinite(j->weights[i]))
            gpu_refuse("the stand-in for cuDNN: the space of weights has bytes that nobody wrote");
    memset(j->y, 0xff, j->cells * (size_t)j->d * sizeof(float));
    for (int b = 0; b < j->batch; b++)
        for (int t = 0; t < j->length[b]; t++)
            forward_cell(j, cell_of(j, t, b), t ? j->y + cell_of(j, t - 1, b) * (size_t)j->d : NULL);
    if (j->training) sign(j, BY_FORWARD);
}

cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t l, cudnnForwardMode_t mode,
                              const int32_t lengths[], cudnnRNNDataDescriptor_t x, const void *x_at,
                              cudnnRNNDataDescriptor_t y, void *y_at, cudnnTensorDescriptor_t h, const void *hx,
                              void *hy, cudnnTensorDescriptor_t c, const void *cx, void *cy, size_t weights,
                              const void *weights_at, size_t work, void *work_at, size_t reserve, void *reserve_at)
{
    cudnnStatus_t s = check_call(handle, l, lengths, x, y, h, weights, mode, work, work_at, reserve, reserve_at);
    if (s != CUDNN_STATUS_SUCCESS) return s;
    if (!aligned(x_at) || !aligned(y_at) || !aligned(weights_at) || hx || hy || c || cx || cy)
        return fake_refuse("rows or weights are missing, or states are not");
    bool training = mode == CUDNN_FWD_MODE_TRAINING;
    job j = {.training = training,
             .x = x_at,
             .y = y_at,
             .weights = weights_at,
             .work = work_at,
             .work_bytes = work_bytes(x, mode),
             .reserve = training ? reserve_at : NULL};
    return run(run_forward, l, x, &j, BY_FORWARD);
}

/* ---- gradient of data ---- */

/* dh [d] of this state becomes that of the one before it. */
static void data_cell(const job *j, size_t cell, const float *before, double *dh, double *dh_before)
{
    float *dx = j->dx + cell * (size_t)j->n, *r = kept(j, cell, R), *i = kept(j, cell, I), *n = kept(j, cell, N),
          *u = kept(j, cell, U);
    for (int k = 0; k < j->d; k++) {
        double h = before ? (double)before[k] : 0, K = (double)n[k], Z = (double)i[k], Q = (double)r[k];
        double dn = dh[k] * (1 - Z) * (1 - K * K), dr = dn * (double)u[k] * Q * (1 - Q),
               di = dh[k] * (h - K) * Z * (1 - Z);
        dh_before[k] = dh[k] * Z;
        r[k] = (float)dr, i[k] = (float)di, n[k] = (float)dn, u[k] = (float)(dn * Q);
    }
    const float *in[GATES] = {r, i, n}, *recurrent[GATES] = {r, i, u};
    for (int m = 0; m < j->n; m++) {
        double sum = 0;
        for (int g = 0; g < GATES; g++)
            for (int k = 0; k < j->d; k++) sum += (double)in[g][k] * (double)matrix(j, g, k, j->n)[m];
        dx[m] = (float)sum;
    }
    for (int g = 0; g < GATES; g++)
        for (int k = 0; k < j->d; k++)
            for (int m = 0; m < j->d; m++)
                dh_before[m] += (double)recurrent[g][k] * (double)matrix(j, GATES + g, k, j->d)[m];
    memcpy(dh, dh_before, (size_t)j->d * sizeof *dh);
}
static void run_data(void *arg)
{
    const job *j = arg;
    begin(j);
    if (!reserve_is(j, BY_FORWARD)) return;
    memset(j->dx, 0xff, j->cells * (size_t)j->n * sizeof(float));
    double *dh = malloc(2 * (size_t)j->d * sizeof *dh);
    for (int b = 0; b < j->batch; b++) {
        memset(dh, 0, (size_t)j->d * sizeof *dh);
        for (int t = j->length[b] - 1; t >= 0; t--) {
            size_t cell = cell_of(j, t, b);
            for (int k = 0; k < j->d; k++) dh[k] += (double)j->dy[cell * (size_t)j->d + (size_t)k];
            data_cell(j, cell, t ? j->y + cell_of(j, t - 1, b) * (size_t)j->d : NULL, dh, dh + j->d);
        }
    }
    free(dh);
    sign(j, BY_DATA);
}

cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t l, const int32_t lengths[],
                                      cudnnRNNDataDescriptor_t y, const void *y_at, const void *dy,
                                      cudnnRNNDataDescriptor_t x, void *dx, cudnnTensorDescriptor_t h, const void *hx,
                                      const void *dhy, void *dhx, cudnnTensorDescriptor_t c, const void *cx,
                                      const void *dcy, void *dcx, size_t weights, const void *weights_at, size_t work,
                                      void *work_at, size_t reserve, void *reserve_at)
{
    cudnnStatus_t s =
        check_call(handle, l, lengths, x, y, h, weights, CUDNN_FWD_MODE_TRAINING, work, work_at, reserve, reserve_at);
    if (s != CUDNN_STATUS_SUCCESS) return s;
    if (!aligned(y_at) || !aligned(dy) || !aligned(dx) || !aligned(weights_at) || hx || dhy || dhx || c || cx || dcy ||
        dcx)
        return fake_refuse("rows or weights are missing, or states are not");
    if (!in_order(l, x, reserve_at, BY_FORWARD))
        return fake_refuse("a gradient of data without its forward pass for training");
    job j = {.y = (float *)(uintptr_t)y_at,
             .dy = dy,
             .dx = dx,
             .weights = weights_at,
             .work = work_at,
             .reserve = reserve_at,
             .work_bytes = work_bytes(x, CUDNN_FWD_MODE_TRAINING)};
    return run(run_data, l, x, &j, BY_DATA);
}

/* ---- gradient of weights ---- */

static void add_outer(float *to, const float *rows, const float *cols, int d, int n)
{
    for (int k = 0; k < d; k++)
        for (int m = 0; m < n; m++) to[k * n + m] += rows[k] * cols[m];
}
static void run_weights(void *arg)
{
    const job *j = arg;
    static const float one = 1;
    begin(j);
    if (!reserve_is(j, BY_DATA)) return;
    for (int b = 0; b < j->batch; b++)
        for (int t = 0; t < j->length[b]; t++) {
            size_t cell = cell_of(j, t, b);
            const float *in[GATES] = {kept(j, cell, R), kept(j, cell, I), kept(j, cell, N)};
            const float *recurrent[GATES] = {in[0], in[1], kept(j, cell, U)};
            for (int g = 0; g < GATES; g++) {
                add_outer(j->gradients + weight_at(j->n, j->d, g, false), in[g], j->x + cell * (size_t)j->n, j->d,
                          j->n);
                add_outer(j->gradients + weight_at(j->n, j->d, g, true), in[g], &one, j->d, 1);
                if (t)
                    add_outer(j->gradients + weight_at(j->n, j->d, GATES + g, false), recurrent[g],
                              j->y + cell_of(j, t - 1, b) * (size_t)j->d, j->d, j->d);
            }
        }
}

cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t l, cudnnWgradMode_t mode,
                                         const int32_t lengths[], cudnnRNNDataDescriptor_t x, const void *x_at,
                                         cudnnTensorDescriptor_t h, const void *hx, cudnnRNNDataDescriptor_t y,
                                         const void *y_at, size_t weights, void *gradients, size_t work, void *work_at,
                                         size_t reserve, void *reserve_at)
{
    cudnnStatus_t s =
        check_call(handle, l, lengths, x, y, h, weights, CUDNN_FWD_MODE_TRAINING, work, work_at, reserve, reserve_at);
    if (s != CUDNN_STATUS_SUCCESS) return s;
    if (mode != CUDNN_WGRAD_MODE_ADD) return fake_refuse("gradients of weights that are not added");
    if (!aligned(x_at) || !aligned(y_at) || !aligned(gradients) || hx)
        return fake_refuse("rows or gradients are missing, or states are not");
    if (!in_order(l, x, reserve_at, BY_DATA)) return fake_refuse("a gradient of weights before that of data");
    job j = {.x = x_at,
             .y = (float *)(uintptr_t)y_at,
             .gradients = gradients,
             .work = work_at,
             .reserve = reserve_at,
             .work_bytes = work_bytes(x, CUDNN_FWD_MODE_TRAINING)};
    return run(run_weights, l, x, &j, BY_DATA);
}
