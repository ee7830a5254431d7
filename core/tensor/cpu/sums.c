/* sums.c - SUM_TO, BROADCAST_TO, SOFTMAX, SOFTMAX_BACK. No result depends on the number of threads. */
#include "tensor/cpu/generic.h"
#include "tensor/cpu/vectors.h"

enum { SUM_BLOCK = 1024, SUM_ROWS = 128, SUM_WIDTH = 512 };

typedef struct { /* x summed over `axes` */
    const void *x;
    void *y;
    summed_axes axes;
    int64_t width;   /* outputs that one piece of work computes side by side */
    double *partial; /* sums of the blocks of one long line */
} sums;
typedef struct {
    void *out;
    const void *in[2];
    int64_t n;
} row_job; /* rows of n numbers */

#define OF_EACH_REAL "tensor/cpu/sums_rows.h"
#include "tensor/cpu/each_real.h"

static void sum_one_line(const view *x, sums *s)
{
    int64_t blocks = (s->axes.sum[1].n + SUM_BLOCK - 1) / SUM_BLOCK;
    s->partial = scratch((size_t)blocks * sizeof *s->partial);
    over_range(blocks, 1, s->axes.sum[1].n, OF_TYPE(x, sum_blocks), s);
    double total = 0;
    for (int64_t b = 0; b < blocks; b++) total += s->partial[b];
    if (x->type == F64)
        *(double *)s->y = total;
    else
        *(float *)s->y = (float)total;
}

int cpu_SUM_TO(const call *k, err *e)
{
    const view *x = &k->i.SUM_TO.x, *y = &k->o.SUM_TO.y;
    if (!is_real(x) || x->type != y->type) return wrong_type(k, e);
    if (!count_of(y)) return 0;
    if (!count_of(x)) {
        memset(y->data, 0, bytes_of(y));
        return 0;
    }
    sums s = {.x = x->data, .y = y->data};
    bool lines = sort_axes(x, y, &s.axes);
    int64_t outputs = s.axes.keep[0].n * s.axes.keep[1].n, n = count_of(x);
    if (lines && outputs == 1 && s.axes.sum[0].n == 1) {
        sum_one_line(x, &s);
    } else if (lines) {
        over_range(outputs, 16, n, OF_TYPE(x, sum_lines), &s);
    } else {
        s.width = SUM_WIDTH; /* halved until threads have two pieces of work each */
        while (s.width > 64 &&
               s.axes.keep[0].n * ((s.axes.keep[1].n + s.width - 1) / s.width) < 2 * omp_get_max_threads())
            s.width /= 2;
        int64_t pieces = s.axes.keep[0].n * ((s.axes.keep[1].n + s.width - 1) / s.width);
        over_range(pieces, 1, n, OF_TYPE(x, sum_columns), &s);
    }
    return 0;
}

int cpu_BROADCAST_TO(const call *k, err *e)
{
    const view *x = &k->i.BROADCAST_TO.x, *y = &k->o.BROADCAST_TO.y;
    if (x->type != y->type) return wrong_type(k, e);
    if (!count_of(y)) return 0;
    size_t size = dtype_size(x->type);
    int64_t step[4];
    strides_of(x, step);
    for (int i = 0; i < 4; i++) step[i] *= (int64_t)size;
    copy_strided(y->data, x->data, y->dim, step, size);
    return 0;
}

static int by_row(const call *k, range_fn f, int64_t cost, err *e)
{
    const view *y = &k->out[0];
    row_job r = {.out = y->data, .n = width_of(y)};
    for (int i = 0; i < k->n_in; i++) {
        if (!is_real(y) || k->in[i].type != y->type) return wrong_type(k, e);
        r.in[i] = k->in[i].data;
    }
    over_range(rows_of(y), 1, count_of(y) * cost, f, &r);
    return 0;
}
int cpu_SOFTMAX(const call *k, err *e) { return by_row(k, OF_TYPE(&k->out[0], softmax_rows), 4, e); }
int cpu_SOFTMAX_BACK(const call *k, err *e) { return by_row(k, OF_TYPE(&k->out[0], softmax_back_rows), 2, e); }
