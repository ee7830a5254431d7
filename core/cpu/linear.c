/* linear.c - rows times a learned matrix and the two gradients of that. F32 and BF16 by oneDNN, F64 by plain
 * loops. */
#include "cpu/product.h"
#include <stdlib.h>
#include <string.h>

/* Rows of a block when a row's bits may not depend on how many others there are: every product has this many
 * rows. */
enum { EXACT_ROWS = 32 };

/* ---- F64, for checks ---- */

static void linear_f64(int64_t rows, int64_t n, int64_t k, const double *x, const double *w, bool transposed,
                       const double *bias, bool relu, bool add, double *y)
{
#pragma omp parallel for schedule(static) if (rows * n * k > WORTH_THREADS)
    for (int64_t r = 0; r < rows; r++) {
        double *to = y + r * n;
        if (!add)
            for (int64_t j = 0; j < n; j++) to[j] = bias ? bias[j] : 0;
        for (int64_t i = 0; i < k && !transposed; i++)
            for (int64_t j = 0; j < n; j++) to[j] += x[r * k + i] * w[i * n + j];
        for (int64_t j = 0; j < n && transposed; j++) {
            double sum = 0;
            for (int64_t i = 0; i < k; i++) sum += x[r * k + i] * w[j * k + i];
            to[j] += sum;
        }
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

/* ---- F32 and BF16 ---- */

static int in_exact_blocks(product p, const void *x, weights w, const float *bias, void *y, err *e)
{
    int64_t rows = p.rows, whole = rows / EXACT_ROWS, rest = rows - whole * EXACT_ROWS;
    size_t one = dtype_size(p.type), x_row = (size_t)p.k * one, y_row = (size_t)p.n * one;
    size_t done = (size_t)(whole * EXACT_ROWS);
    p.rows = EXACT_ROWS;
    if (product_blocks(&p, whole, x, w, bias, y, e)) return -1;
    if (!rest) return 0;
    size_t x_block = (EXACT_ROWS * x_row + 63) / 64 * 64;
    char *block = xcalloc(1, x_block + EXACT_ROWS * y_row);
    memcpy(block, (const char *)x + done * x_row, (size_t)rest * x_row);
    int status = product_blocks(&p, 1, block, w, bias, block + x_block, e);
    memcpy((char *)y + done * y_row, block + x_block, (size_t)rest * y_row);
    free(block);
    return status;
}

int cpu_LINEAR(const call *k, err *e)
{
    const view *x = &k->in[0], *w = &k->in[1], *y = &k->out[0];
    product p = {.rows = rows_of(x),
                 .n = width_of(y),
                 .k = width_of(x),
                 .type = x->type,
                 .transposed = k->a.i[0] != 0,
                 .bias = k->in[2].data != NULL,
                 .relu = k->a.i[1] != 0};
    if (p.type == F64) {
        linear_f64(p.rows, p.n, p.k, x->data, w->data, p.transposed, k->in[2].data, p.relu, false, y->data);
        return 0;
    }
    weights v = {w->data, k->params, w->param};
    if (k->batch_invariant) return in_exact_blocks(p, x->data, v, k->in[2].data, y->data, e);
    return product_rows(&p, x->data, v, k->in[2].data, y->data, e);
}

int cpu_LINEAR_DX(const call *k, err *e)
{
    const view *dy = &k->in[0], *w = &k->in[1], *base = &k->in[2], *dx = &k->out[0];
    product p = {.rows = rows_of(dy),
                 .n = width_of(dx),
                 .k = width_of(dy),
                 .type = dy->type,
                 .transposed = k->a.i[0] == 0,
                 .add = base->data != NULL};
    if (p.add && base->data != dx->data)
        memcpy(dx->data, base->data, (size_t)(p.rows * p.n) * dtype_size(p.type));
    if (p.type == F64) {
        linear_f64(p.rows, p.n, p.k, dy->data, w->data, p.transposed, NULL, false, p.add, dx->data);
        return 0;
    }
    return product_rows(&p, dy->data, (weights){w->data, k->params, w->param}, NULL, dx->data, e);
}

int cpu_LINEAR_DW(const call *k, err *e)
{
    const view *x = &k->in[0], *dy = &k->in[1];
    product p = {.rows = rows_of(x),
                 .n = width_of(dy),
                 .k = width_of(x),
                 .type = x->type,
                 .transposed = k->a.i[0] != 0};
    if (p.type == F64) {
        if (p.transposed)
            outer_f64(p.rows, p.n, p.k, dy->data, x->data, k->out[0].data);
        else
            outer_f64(p.rows, p.k, p.n, x->data, dy->data, k->out[0].data);
        return 0;
    }
    return product_outer(&p, x->data, dy->data, k->out[0].data, e);
}
