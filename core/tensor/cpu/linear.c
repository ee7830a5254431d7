/* linear.c - rows times a learned matrix, and its two gradients. F64 uses plain loops. */
#include "tensor/cpu/product.h"
#include <string.h>

/* ---- F64, for checks ---- */

enum { AT_ONCE_F64 = 4 }; /* terms or sums computed in one pass over the row; each sum stays one chain */

/* to [n] += x [k] w [k,n] */
static void add_rows_f64(int64_t n, int64_t k, const double *x, const double *w, double *restrict to)
{
    int64_t i = 0;
    for (; i + AT_ONCE_F64 <= k; i += AT_ONCE_F64)
        for (int64_t j = 0; j < n; j++) {
            double sum = to[j];
            for (int64_t c = 0; c < AT_ONCE_F64; c++) sum += x[i + c] * w[(i + c) * n + j];
            to[j] = sum;
        }
    for (; i < k; i++)
        for (int64_t j = 0; j < n; j++) to[j] += x[i] * w[i * n + j];
}

/* to [n] += x [k] w', w stored transposed [n,k]. */
static void add_products_f64(int64_t n, int64_t k, const double *x, const double *w, double *to)
{
    int64_t j = 0;
    for (; j + AT_ONCE_F64 <= n; j += AT_ONCE_F64) {
        double sum[AT_ONCE_F64] = {0};
        for (int64_t i = 0; i < k; i++)
            for (int64_t c = 0; c < AT_ONCE_F64; c++) sum[c] += x[i] * w[(j + c) * k + i];
        for (int64_t c = 0; c < AT_ONCE_F64; c++) to[j + c] += sum[c];
    }
    for (; j < n; j++) {
        double sum = 0;
        for (int64_t i = 0; i < k; i++) sum += x[i] * w[j * k + i];
        to[j] += sum;
    }
}

static void linear_f64(int64_t rows, int64_t n, int64_t k, const double *x, const double *w, bool transposed,
                       const double *bias, bool relu, bool add, double *y)
{
#pragma omp parallel for schedule(static) if (rows * n * k > WORTH_THREADS)
    for (int64_t r = 0; r < rows; r++) {
        double *to = y + r * n;
        if (!add)
            for (int64_t j = 0; j < n; j++) to[j] = bias ? bias[j] : 0;
        (transposed ? add_products_f64 : add_rows_f64)(n, k, x + r * k, w, to);
        for (int64_t j = 0; j < n && relu; j++) to[j] = to[j] > 0 ? to[j] : 0;
    }
}

/* w [k,n] = x' y; swapping x and y gives the transposed result */
static void outer_f64(int64_t rows, int64_t k, int64_t n, const double *x, const double *y, double *w)
{
#pragma omp parallel for schedule(static) if (rows * n * k > WORTH_THREADS)
    for (int64_t i = 0; i < k; i++) {
        double *to = w + i * n;
        memset(to, 0, (size_t)n * sizeof *to);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t j = 0; j < n; j++) to[j] += x[r * k + i] * y[r * n + j];
    }
}

/* ---- the calls ---- */

/* Only devices pad rows: no tape of the CPU has padding. */
static int refuse_padding(const call *k, err *e)
{
    return k->a.LINEAR.padding ? fail(e, "linear: rows with %lld columns of padding, which the CPU does not support",
                                      (long long)k->a.LINEAR.padding)
                               : 0;
}

int cpu_LINEAR(const call *k, err *e)
{
    if (refuse_padding(k, e)) return -1;
    const view *x = &k->i.LINEAR.x, *w = &k->i.LINEAR.w, *bias = &k->i.LINEAR.b, *y = &k->o.LINEAR.y;
    int64_t rows = rows_of(x), n = width_of(y), in = width_of(x);
    bool transposed = k->a.LINEAR.transposed != 0, relu = k->a.LINEAR.relu != 0;
    if (x->type == F64) {
        linear_f64(rows, n, in, x->data, w->data, transposed, bias->data, relu, false, y->data);
        return 0;
    }
    gemm g = {.way = gemm_way_of(x->type),
              .m = rows,
              .n = n,
              .k = in,
              .x = x->data,
              .w = w->data,
              .transposed = transposed,
              .bias = bias->data,
              .relu = relu,
              .y = y->data,
              .reader = k->reader};
    if (x->type == F32 && k->params && k->params->int8 && !k->training && w->param >= 0 && in <= MOST_INT8)
        g.way = gemm_int8_way();
    product_rows(&g, k->training ? NULL : k->params, w->param);
    return 0;
}

/* Zeroes dx where y, the output of a ReLU, is not > 0. */
static int zeros_by(const call *k, err *e)
{
    if (!k->i.LINEAR_DX.y.data) return 0;
    call back = {.op = OP_RELU_BACK,
                 .n_in = 2,
                 .n_out = 1,
                 .in = {k->i.LINEAR_DX.y, k->o.LINEAR_DX.y},
                 .out = {k->o.LINEAR_DX.y}};
    return cpu_RELU_BACK(&back, e);
}

int cpu_LINEAR_DX(const call *k, err *e)
{
    if (refuse_padding(k, e)) return -1;
    const view *dy = &k->i.LINEAR_DX.dy, *w = &k->i.LINEAR_DX.w, *base = &k->i.LINEAR_DX.base, *dx = &k->o.LINEAR_DX.y;
    int64_t rows = rows_of(dy), n = width_of(dx), in = width_of(dy);
    bool transposed = k->a.LINEAR.transposed == 0, add = base->data != NULL;
    if (add && base->data != dx->data) memcpy(dx->data, base->data, (size_t)(rows * n) * dtype_size(dx->type));
    if (dy->type == F64) {
        linear_f64(rows, n, in, dy->data, w->data, transposed, NULL, false, add, dx->data);
        return zeros_by(k, e);
    }
    gemm g = {.way = gemm_way_of(dy->type),
              .m = rows,
              .n = n,
              .k = in,
              .x = dy->data,
              .w = w->data,
              .transposed = transposed,
              .add = add,
              .y = dx->data};
    product_rows(&g, k->training ? NULL : k->params, w->param);
    return zeros_by(k, e);
}

int cpu_LINEAR_DW(const call *k, err *e)
{
    if (refuse_padding(k, e)) return -1;
    const view *x = &k->i.LINEAR_DW.x, *dy = &k->i.LINEAR_DW.dy, *dw = &k->o.LINEAR_DW.dw;
    call sums = {.op = OP_COLUMN_SUM, .n_in = 1, .n_out = 1, .in = {*dy}, .out = {k->o.LINEAR_DW.db}};
    if (sums.out[0].data && cpu_COLUMN_SUM(&sums, e)) return -1;
    if (k->a.LINEAR.transposed) { /* dW is stored transposed: dy' x */
        const view *other = x;
        x = dy, dy = other;
    }
    int64_t rows = rows_of(x), in = width_of(x), n = width_of(dy);
    if (x->type == F64)
        outer_f64(rows, in, n, x->data, dy->data, dw->data);
    else if (!rows)
        memset(dw->data, 0, (size_t)(in * n) * dtype_size(dw->type));
    else
        gemm_outer(gemm_way_of(x->type), rows, in, n, x->data, dy->data, dw->data);
    return 0;
}
