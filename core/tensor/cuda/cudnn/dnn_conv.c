/* dnn_conv.c - CONV and CONV_BACK by cuDNN's convolutions along time: a plan for every shape, made once and kept.
 *
 * Rows become cells [batch,time,width], which are pictures of one column with their channels side by side; cells past a
 * sentence's end are 0, as x is outside the sentence. Weights [(window) n, d] become [d,window,n]. All are of the rows'
 * type, sums are fp32; but the gradient of weights, which is fp32, is always taken of fp32 cells: of bf16 cells cuDNN
 * gives it in bf16 only (9.19; 9.26 does better on some devices and shapes). Numbers that were bf16 lose nothing in
 * tf32, so engines on tensor cores do for it.
 */
#include "tensor/cuda/layers.h"
#ifdef HAVE_CUDNN
#include "tensor/cuda/cudnn/dnn.h"
#include "tensor/cuda/ops.h"
#include <stdlib.h>
#include <string.h>

_Static_assert((int)CONV_FORWARD == (int)DNN_CONV && (int)CONV_DX == (int)DNN_CONV_DX &&
                   (int)CONV_DW == (int)DNN_CONV_DW,
               "layers.h and dnn.h number the kinds of convolution differently");

typedef struct {
    conv_shape shape;
    dnn_graph *g;
    dnn_tensor a, b, out;
} conv_plan;
static conv_plan *table;
static size_t table_size, table_used;

void dnn_conv_close(void)
{
    for (size_t i = 0; i < table_used; i++) dnn_graph_free(table[i].g);
    free(table);
    table = NULL;
    table_size = table_used = 0;
}

/* ---- plans ---- */

static dnn_shape cells_of(const conv_shape *s, int64_t width)
{
    return (dnn_shape){{s->batch, width, s->time, 1}, {s->time * width, 1, width, width}};
}
static dnn_shape weights_of(const conv_shape *s)
{
    int64_t window = s->before + 1 + s->behind;
    return (dnn_shape){{s->d, s->n, window, 1}, {window * s->n, 1, s->n, s->n}};
}

static int no_engine(const conv_shape *s, err *e)
{
    static const char *const names[] = {[CONV_FORWARD] = "convolution",
                                        [CONV_DX] = "gradient of a convolution's rows",
                                        [CONV_DW] = "gradient of a convolution's weights"};
    return fail(
        e,
        "cuDNN has no %s of %s [%lld,%lld,%lld] to [%lld,%lld,%lld] with %lld rows before and %lld behind on this GPU",
        names[s->which], dtype_name((dtype)s->type), (long long)s->batch, (long long)s->time, (long long)s->n,
        (long long)s->batch, (long long)s->time, (long long)s->d, (long long)s->before, (long long)s->behind);
}

/* dnn_plan's result. */
static int make_plan(conv_plan *p, const char *device, err *e)
{
    const conv_shape *s = &p->shape;
    bool halves = s->type == BF16;
    cudnnDataType_t type = halves && s->which != CONV_DW ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
    dnn_shape x = cells_of(s, s->n), y = cells_of(s, s->d), w = weights_of(s);
    const dnn_shape *given[3][3] = {[CONV_FORWARD] = {&x, &w, &y}, [CONV_DX] = {&y, &w, &x}, [CONV_DW] = {&x, &y, &w}};
    p->g = dnn_graph_new();
    p->a = dnn_given(p->g, type, given[s->which][0], 0);
    p->b = dnn_given(p->g, type, given[s->which][1], 0);
    p->out = dnn_given(p->g, type, given[s->which][2], 0);
    dnn_convolve(p->g, (dnn_conv)s->which, s->before, s->behind, p->a, p->b, p->out);
    if (halves) dnn_tf32_is_exact(p->g);
    return dnn_plan(p->g, device, e);
}

int dnn_conv_supported(const conv_shape *s, const char *device, err *e)
{
    conv_plan p = {.shape = *s};
    int rc = make_plan(&p, device, e);
    dnn_graph_free(p.g);
    return rc;
}

static int find_plan(conv_plan *p, const conv_call *c, conv_kind which, err *e)
{
    *p = (conv_plan){.shape = {which, c->type, c->n, c->d, c->batch, c->time, c->before, c->behind}};
    for (size_t i = 0; i < table_used; i++)
        if (!memcmp(&table[i].shape, &p->shape, sizeof p->shape)) {
            *p = table[i];
            return 0;
        }
    int refused = make_plan(p, NULL, e);
    if (refused) {
        dnn_graph_free(p->g);
        return refused > 0 ? no_engine(&p->shape, e) : -1;
    }
    table = grow(table, &table_size, table_used + 1, sizeof *table);
    table[table_used++] = *p;
    return 0;
}

static int run_plan(const conv_plan *p, void *a, void *b, void *out, void *work, err *e)
{
    dnn_at(p->g, p->a, a);
    dnn_at(p->g, p->b, b);
    dnn_at(p->g, p->out, out);
    return dnn_run(p->g, work, e);
}

/* ---- memory of one call ---- */

static size_t cell_bytes(const conv_call *c, int64_t width, int type)
{
    return (size_t)(c->batch * c->time * width) * dtype_size((dtype)type);
}
static size_t weight_bytes(const conv_call *c, int type)
{
    return (size_t)((c->before + 1 + c->behind) * c->n * c->d) * dtype_size((dtype)type);
}

static gpu_sentences sentences_of(const conv_call *c, int64_t width)
{
    return (gpu_sentences){.offset = c->offset, .rows = c->rows, .batch = c->batch, .time = c->time, .width = width};
}
static int pad(const conv_call *c, int64_t width, void *cells, int type, const void *rows)
{
    gpu_sentences s = sentences_of(c, width);
    return gpu_pad(&s, cells, type, rows, c->type);
}
static int unpad(const conv_call *c, int64_t width, void *rows, const void *cells)
{
    gpu_sentences s = sentences_of(c, width);
    return gpu_unpad(&s, rows, c->type, cells, c->type);
}
static int pack(const conv_call *c, void *w)
{
    int64_t rows = (c->before + 1 + c->behind) * c->n;
    return gpu_transpose(1, &(gpu_matrix){c->w, w, rows, c->d, c->d, rows}, c->type);
}
static int unpack(const conv_call *c, const void *dw)
{
    int64_t rows = (c->before + 1 + c->behind) * c->n;
    return gpu_transpose(1, &(gpu_matrix){dw, c->dw, c->d, rows, rows, c->d}, F32);
}

/* ---- calls ---- */

int dnn_conv_run(const conv_call *c, err *e)
{
    conv_plan p;
    if (find_plan(&p, c, CONV_FORWARD, e)) return -1;
    size_t used = 0, x = layer_part(&used, cell_bytes(c, c->n, c->type)),
           y = layer_part(&used, cell_bytes(c, c->d, c->type));
    size_t w = layer_part(&used, weight_bytes(c, c->type)), work = layer_part(&used, dnn_workspace(p.g));
    char *at = gpu_scratch(SCRATCH_LAYER, used);
    if (pad(c, c->n, at + x, c->type, c->x) || pack(c, at + w)) return launched(-1, e);
    if (run_plan(&p, at + x, at + w, at + y, at + work, e)) return -1;
    return launched(unpad(c, c->d, c->y, at + y), e);
}

/* dx first; then dw, whose cells of bf16 rows are fp32 and lie where those for dx were. */
int dnn_conv_back(const conv_call *c, err *e)
{
    conv_plan dx, dw;
    if (find_plan(&dx, c, CONV_DX, e) || find_plan(&dw, c, CONV_DW, e)) return -1;
    size_t larger = dnn_workspace(dx.g) > dnn_workspace(dw.g) ? dnn_workspace(dx.g) : dnn_workspace(dw.g);
    size_t used = 0, x = layer_part(&used, cell_bytes(c, c->n, F32)), y = layer_part(&used, cell_bytes(c, c->d, F32));
    size_t w = layer_part(&used, weight_bytes(c, F32)), work = layer_part(&used, larger);
    char *at = gpu_scratch(SCRATCH_LAYER, used);
    if (pad(c, c->d, at + y, c->type, c->dy) || pack(c, at + w)) return launched(-1, e);
    if (run_plan(&dx, at + y, at + w, at + x, at + work, e)) return -1;
    if (unpad(c, c->n, c->dx, at + x) || pad(c, c->n, at + x, F32, c->x)) return launched(-1, e);
    if (c->type != F32 && pad(c, c->d, at + y, F32, c->dy)) return launched(-1, e);
    if (run_plan(&dw, at + x, at + y, at + w, at + work, e)) return -1;
    return launched(unpack(c, at + w), e);
}
#endif
