/* long_conv.c - LONG_CONV: a convolution of each column with a filter as long as the sentence. */
#include "tensor/cpu/generic.h"
#include "tensor/cpu/vectors.h"
#include <stdlib.h>

enum { NEAR = 64 }; /* positions computed directly, without a transform */

typedef struct {
    const void *x, *h, *dy; /* rows [R,n], taps [taps,n], rows [R,n] */
    void *y, *dh;
    const int32_t *offsets;
    int64_t sentences, n, taps, longest;
    bool backwards;
    void *wave; /* [top] complex numbers exp(-2 pi i k / top), top: the longest transform */
    int64_t top;
} long_conv;

#define OF_EACH_REAL "tensor/cpu/long_conv.inc"
#include "tensor/cpu/each_real.h"

static int64_t pairs_of_vectors(const long_conv *d, dtype type)
{
    int64_t row = 2 * (type == F64 ? lanes_f64 : lanes_f32);
    return (d->n + row - 1) / row;
}
/* Estimates the work of all transforms, as a number of operations on single numbers. */
static int64_t work_of(const long_conv *d, int64_t rows)
{
    int64_t stages = 8;
    for (int64_t m = NEAR; m < d->longest; m *= 2) stages += 4;
    return rows * d->n * stages;
}

/* Finds the longest sentence and makes d->wave, the roots of unity for its transform, which the caller frees. */
static void measure(long_conv *d, const view *offsets, dtype type)
{
    d->offsets = offsets->data, d->sentences = offsets->dim[3] - 1;
    for (int64_t b = 0; b < d->sentences; b++) {
        int64_t n = d->offsets[b + 1] - d->offsets[b];
        if (n > d->longest) d->longest = n;
    }
    d->top = NEAR;
    while (d->top < d->longest) d->top *= 2;
    d->top *= 2;
    d->wave = xmalloc((size_t)(2 * d->top) * dtype_size(type));
    if (d->longest > NEAR) BY_REAL(type, make_wave, d->wave, d->top);
}

int cpu_LONG_CONV(const call *k, err *e)
{
    const view *x = &k->i.LONG_CONV.x, *h = &k->i.LONG_CONV.h, *y = &k->o.LONG_CONV.y;
    if (!is_real(x) || h->type != x->type || y->type != x->type) return wrong_type(k, e);
    long_conv d = {.x = x->data,
                   .h = h->data,
                   .y = y->data,
                   .n = x->dim[3],
                   .taps = h->dim[2],
                   .backwards = k->a.LONG_CONV.backwards != 0};
    measure(&d, &k->i.LONG_CONV.offsets, x->type);
    over_range(pairs_of_vectors(&d, x->type) * d.sentences, 1, work_of(&d, x->dim[2]), OF_TYPE(x, long_conv_rows), &d);
    size_t row = (size_t)d.n * dtype_size(y->type), used = (size_t)d.offsets[d.sentences];
    memset((char *)y->data + used * row, 0, ((size_t)y->dim[2] - used) * row);
    free(d.wave);
    return 0;
}

int cpu_LONG_CONV_FILTER(const call *k, err *e)
{
    const view *x = &k->i.LONG_CONV_FILTER.x, *dy = &k->i.LONG_CONV_FILTER.dy, *dh = &k->o.LONG_CONV_FILTER.dh;
    if (!is_real(x) || dy->type != x->type || dh->type != x->type) return wrong_type(k, e);
    bool backwards = k->a.LONG_CONV.backwards != 0; /* backwards: x and dy swap roles */
    long_conv d = {.x = backwards ? dy->data : x->data,
                   .dy = backwards ? x->data : dy->data,
                   .dh = dh->data,
                   .n = x->dim[3],
                   .taps = dh->dim[2]};
    measure(&d, &k->i.LONG_CONV_FILTER.offsets, x->type);
    over_range(pairs_of_vectors(&d, x->type), 1, 2 * work_of(&d, x->dim[2]), OF_TYPE(x, long_conv_taps), &d);
    free(d.wave);
    return 0;
}
