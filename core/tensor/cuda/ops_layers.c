/* ops_layers.c - GRU, CONV and their gradients on the GPU, by cuDNN: calls unpacked for layers.h. */
#include "tensor/cuda/layers.h"
#include "tensor/cuda/ops.h"
#include "tensor/cuda/views.h"
#ifdef HAVE_CUDNN
#include "tensor/cuda/cudnn/dnn.h"

static bool is_layer(op o) { return o == OP_GRU || o == OP_GRU_BACK || o == OP_CONV || o == OP_CONV_BACK; }

bool cuda_supports(op o) { return !is_layer(o) || dnn_load(NULL); }

/* ---- checks: all are made, the first complaint stays ---- */

/* Rows of type F32 or BF16, or fp32 parameters, of so many rows and columns. */
static int check_matrix(const char *what, const view *v, dtype type, int64_t rows, int64_t cols, err *e)
{
    if (v->type != type) return fail(e, "%s is %s, expected %s", what, dtype_name(v->type), dtype_name(type));
    if (rows_of(v) == rows && width_of(v) == cols) return 0;
    return fail(e, "%s is [%lld,%lld], expected [%lld,%lld]", what, (long long)rows_of(v), (long long)width_of(v),
                (long long)rows, (long long)cols);
}

/* cuDNN counts in 32 bits. */
static int check_count(const char *what, int64_t n, err *e)
{
    return n >= 0 && n <= INT32_MAX ? 0 : fail(e, "%s: %lld, at most 2147483647", what, (long long)n);
}

static int check_sentences(const view *x, const view *offset, int64_t time, int64_t d, err *e)
{
    int64_t batch = count_of(offset) - 1;
    if (!is_row_type(x->type)) return fail(e, "a layer's rows are %s, expected fp32 or bf16", dtype_name(x->type));
    if (offset->type != I32 || batch < 0) return fail(e, "a layer's sentence offsets are not a list of int32");
    return check_count("the longest sentence", time, e) || check_count("sentences", batch, e) ||
           check_count("cells of sentences", batch * time, e) || check_count("columns", width_of(x), e) ||
           check_count("columns", d, e);
}

/* Outputs of a layer without a sentence, or without a column on one side. */
static int clear(const call *k)
{
    for (int i = 0; i < k->n_out; i++)
        if (bytes_of(&k->out[i])) gpu_zero(k->out[i].data, bytes_of(&k->out[i]));
    return gpu_launched();
}

/* ---- GRU ---- */

static int unpack_gru(const call *k, gru_call *c, err *e)
{
    const view *x = &k->in[0], *w = &k->in[1], *b = &k->in[2], *u = &k->in[3], *offset = &k->in[4];
    int64_t n = width_of(x), d = width_of(u) / 3;
    *c = (gru_call){.type = (int)x->type,
                    .backwards = k->a.i[0] != 0,
                    .rows = rows_of(x),
                    .n = n,
                    .d = d,
                    .batch = count_of(offset) - 1,
                    .time = k->a.i[1],
                    .offset = offset->data,
                    .x = x->data,
                    .w = w->data,
                    .b = b->data,
                    .u = u->data};
    return check_sentences(x, offset, c->time, d, e) || check_matrix("a GRU's U", u, F32, d, 3 * d, e) ||
           check_matrix("a GRU's W", w, F32, n, 3 * d, e) || check_matrix("a GRU's bias", b, F32, 1, 3 * d, e);
}

int cuda_GRU(const call *k, err *e)
{
    const view *y = &k->out[0];
    gru_call c;
    if (unpack_gru(k, &c, e) || check_matrix("a GRU's states", y, (dtype)c.type, c.rows, c.d, e)) return -1;
    c.y = y->data;
    if (!c.rows || !c.batch || !c.time || !c.n || !c.d) return launched(clear(k), e);
    return dnn_gru_run(&c, e);
}

int cuda_GRU_BACK(const call *k, err *e)
{
    const view *dy = &k->in[5], *dx = &k->out[0], *dw = &k->out[1], *db = &k->out[2], *du = &k->out[3];
    gru_call c;
    if (unpack_gru(k, &c, e) || check_matrix("a GRU's dy", dy, (dtype)c.type, c.rows, c.d, e) ||
        check_matrix("a GRU's dx", dx, (dtype)c.type, c.rows, c.n, e) ||
        check_matrix("a GRU's dW", dw, F32, c.n, 3 * c.d, e) || check_matrix("a GRU's db", db, F32, 1, 3 * c.d, e) ||
        check_matrix("a GRU's dU", du, F32, c.d, 3 * c.d, e))
        return -1;
    c.dy = dy->data, c.dx = dx->data, c.dw = dw->data, c.db = db->data, c.du = du->data;
    if (!c.rows || !c.batch || !c.time || !c.n || !c.d) return launched(clear(k), e);
    return dnn_gru_back(&c, e);
}

/* ---- CONV ---- */

static int unpack_conv(const call *k, const view *offset, conv_call *c, err *e)
{
    const view *x = &k->in[0], *w = &k->in[1];
    int64_t n = width_of(x), d = width_of(w), before = k->a.i[0], behind = k->a.i[1];
    *c = (conv_call){.type = (int)x->type,
                     .rows = rows_of(x),
                     .n = n,
                     .d = d,
                     .batch = count_of(offset) - 1,
                     .time = k->a.i[2],
                     .before = before,
                     .behind = behind,
                     .offset = offset->data,
                     .x = x->data,
                     .w = w->data};
    if (before < 0 || behind < 0)
        return fail(e, "a convolution over %lld rows before and %lld after: expected at least 0", (long long)before,
                    (long long)behind);
    return check_sentences(x, offset, c->time, d, e) ||
           check_count("the rows of a convolution's weights", (before + 1 + behind) * n, e) ||
           check_matrix("a convolution's W", w, F32, (before + 1 + behind) * n, d, e);
}

int cuda_CONV(const call *k, err *e)
{
    const view *y = &k->out[0];
    conv_call c;
    if (unpack_conv(k, &k->in[2], &c, e) || check_matrix("a convolution's y", y, (dtype)c.type, c.rows, c.d, e))
        return -1;
    c.y = y->data;
    if (!c.rows || !c.batch || !c.time || !c.n || !c.d) return launched(clear(k), e);
    return dnn_conv_run(&c, e);
}

int cuda_CONV_BACK(const call *k, err *e)
{
    const view *dy = &k->in[3], *dx = &k->out[0], *dw = &k->out[1];
    conv_call c;
    if (unpack_conv(k, &k->in[2], &c, e) || check_matrix("a convolution's dy", dy, (dtype)c.type, c.rows, c.d, e) ||
        check_matrix("a convolution's dx", dx, (dtype)c.type, c.rows, c.n, e) ||
        check_matrix("a convolution's dW", dw, F32, rows_of(&k->in[1]), c.d, e))
        return -1;
    c.dy = dy->data, c.dx = dx->data, c.dw = dw->data;
    if (!c.rows || !c.batch || !c.time || !c.n || !c.d) return launched(clear(k), e);
    return dnn_conv_back(&c, e);
}
#else
bool cuda_supports(op o) { return o != OP_GRU && o != OP_GRU_BACK && o != OP_CONV && o != OP_CONV_BACK; }

static int without(const call *k, err *e)
{
    return fail(e, "%s needs cuDNN; this was built without its header, cudnn.h", op_names[k->op]);
}
int cuda_GRU(const call *k, err *e) { return without(k, e); }
int cuda_GRU_BACK(const call *k, err *e) { return without(k, e); }
int cuda_CONV(const call *k, err *e) { return without(k, e); }
int cuda_CONV_BACK(const call *k, err *e) { return without(k, e); }
#endif
