/* depthwise.c - DEPTHWISE_CONV, a short convolution of each column along each sentence, and NEIGHBOURS, which writes
 * the rows that a convolution of all columns multiplies by its weights. */
#include "tensor/cpu/generic.h"
#include "tensor/cpu/vectors.h"

typedef struct {
    const void *x, *w, *dy; /* rows [R,n], taps [taps,n], rows [R,n] */
    void *y, *dw;
    const int32_t *offsets;
    int64_t sentences, n, taps, before;
    bool turned; /* convolves with the taps in reverse order, `before` counted from their end, for the gradient of x */
} depthwise;

#define OF_EACH_TYPE "tensor/cpu/depthwise.inc"
#include "tensor/cpu/each_type.h"

static const range_fn
    over_rows[] = {[F32] = depthwise_rows_f32, [F64] = depthwise_rows_f64, [BF16] = depthwise_rows_bf16},
    over_taps[] = {[F32] = depthwise_taps_f32, [F64] = depthwise_taps_f64, [BF16] = depthwise_taps_bf16},
    gather[] = {[F32] = neighbour_rows_f32, [F64] = neighbour_rows_f64, [BF16] = neighbour_rows_bf16},
    add_up[] = {[F32] = neighbour_sums_f32, [F64] = neighbour_sums_f64, [BF16] = neighbour_sums_bf16};

static int job_of(const call *k, depthwise *d, err *e)
{
    const view *x = &k->i.DEPTHWISE_CONV.x, *w = &k->i.DEPTHWISE_CONV.w, *offsets = &k->i.DEPTHWISE_CONV.offsets;
    if (x->type == I32 || w->type != (x->type == F64 ? F64 : F32) || k->out[0].type != x->type) return wrong_type(k, e);
    *d = (depthwise){.x = x->data,
                     .w = w->data,
                     .y = k->out[0].data,
                     .offsets = offsets->data,
                     .sentences = offsets->dim[3] - 1,
                     .n = x->dim[3],
                     .taps = w->dim[2],
                     .before = k->a.DEPTHWISE_CONV.before};
    return 0;
}

int cpu_DEPTHWISE_CONV(const call *k, err *e)
{
    depthwise d;
    if (job_of(k, &d, e)) return -1;
    int64_t rows = k->i.DEPTHWISE_CONV.x.dim[2];
    over_range(rows, 1, rows * d.n * d.taps / 8, over_rows[k->out[0].type], &d);
    return 0;
}

int cpu_DEPTHWISE_CONV_BACK(const call *k, err *e)
{
    depthwise d;
    const view *dy = &k->i.DEPTHWISE_CONV_BACK.dy;
    if (job_of(k, &d, e)) return -1;
    int64_t rows = dy->dim[2], work = rows * d.n * d.taps / 8;
    if (dy->type != k->out[0].type) return wrong_type(k, e);
    d.dy = dy->data, d.dw = k->o.DEPTHWISE_CONV_BACK.dw.data;
    over_range(d.n, PLACES, work, over_taps[dy->type], &d);
    d.x = dy->data, d.turned = true;
    over_range(rows, 1, work, over_rows[dy->type], &d);
    return 0;
}

/* narrow: x [R,n]; wide: each row with its neighbours. */
static int neighbours(const call *k, const view *narrow, const view *wide, const view *offsets, const range_fn *f,
                      err *e)
{
    depthwise d = {.x = k->in[0].data,
                   .dy = k->in[0].data,
                   .y = k->out[0].data,
                   .offsets = offsets->data,
                   .sentences = offsets->dim[3] - 1,
                   .n = narrow->dim[3],
                   .taps = k->a.NEIGHBOURS.before + 1 + k->a.NEIGHBOURS.behind,
                   .before = k->a.NEIGHBOURS.before};
    if (narrow->type == I32 || narrow->type != wide->type) return wrong_type(k, e);
    over_range(narrow->dim[2], 1, narrow->dim[2] * wide->dim[3] / 8, f[narrow->type], &d);
    return 0;
}
int cpu_NEIGHBOURS(const call *k, err *e)
{
    return neighbours(k, &k->i.NEIGHBOURS.x, &k->o.NEIGHBOURS.y, &k->i.NEIGHBOURS.offsets, gather, e);
}
int cpu_NEIGHBOURS_BACK(const call *k, err *e)
{
    return neighbours(k, &k->o.NEIGHBOURS_BACK.dx, &k->i.NEIGHBOURS_BACK.dy, &k->i.NEIGHBOURS_BACK.offsets, add_up, e);
}
