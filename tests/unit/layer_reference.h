/* layer_reference.h - reference implementations of the layers along sentences (GRU, GRU_BACK, CONV, CONV_BACK of op.h),
 * one number at a time, with which kernels are compared.
 *
 * Rows are packed: sentence s has rows offset[s] .. offset[s + 1] - 1; rows past the last offset are dummies.
 * Parameters and rows are fp32, sums are double. Every result is written completely. */
#ifndef ABLATE_TEST_LAYER_REFERENCE_H
#define ABLATE_TEST_LAYER_REFERENCE_H
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int64_t rows, n, d; /* x is [rows,n], y [rows,d] */
    int64_t sentences;
    const int32_t *offset; /* [sentences + 1] */
} layer_shape;

/* ---- GRU: W [n,3d], b [3d], U [d,3d]; columns z, r, n ---- */

typedef struct {
    const float *w, *b, *u;
    int backwards;
} gru_layer;

static inline double gru_sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* The row whose state precedes row r's, or -1 at the start of a sentence. */
static inline int64_t gru_row_before(int64_t r, int64_t first, int64_t end, int backwards)
{
    int64_t before = backwards ? r + 1 : r - 1;
    return before >= first && before < end ? before : -1;
}

typedef struct {
    double z, r, n;
    double u; /* element of h U in the columns of n */
} gru_unit;

/* Unit j of one row, from x [n] and the state before, h [d] (NULL: zeros). */
static inline gru_unit gru_forward(const layer_shape *s, const gru_layer *l, const float *x, const float *h, int64_t j)
{
    double a[3], u[3];
    for (int64_t k = 0; k < 3; k++) {
        int64_t column = k * s->d + j;
        a[k] = l->b[column];
        u[k] = 0;
        for (int64_t i = 0; i < s->n; i++) a[k] += (double)x[i] * (double)l->w[i * 3 * s->d + column];
        for (int64_t i = 0; i < s->d && h; i++) u[k] += (double)h[i] * (double)l->u[i * 3 * s->d + column];
    }
    gru_unit g = {.z = gru_sigmoid(a[0] + u[0]), .r = gru_sigmoid(a[1] + u[1]), .u = u[2]};
    g.n = tanh(a[2] + g.r * u[2]);
    return g;
}

static inline void reference_gru(const layer_shape *s, const gru_layer *l, const float *x, float *y)
{
    memset(y, 0, (size_t)(s->rows * s->d) * sizeof *y);
    for (int64_t b = 0; b < s->sentences; b++) {
        int64_t first = s->offset[b], end = s->offset[b + 1];
        for (int64_t t = 0; t < end - first; t++) {
            int64_t row = l->backwards ? end - 1 - t : first + t,
                    before = gru_row_before(row, first, end, l->backwards);
            const float *h = before < 0 ? NULL : y + before * s->d;
            for (int64_t j = 0; j < s->d; j++) {
                gru_unit g = gru_forward(s, l, x + row * s->n, h, j);
                y[row * s->d + j] = (float)((1 - g.z) * g.n + (h ? g.z * (double)h[j] : 0));
            }
        }
    }
}

typedef struct {
    double *dx, *dw, *db, *du; /* [rows,n], [n,3d], [3d], [d,3d]: sums */
    double *dh;                /* [2][d]: gradient of this row's state, and of the state before it */
} gru_sums;

/* Adds one row's contribution. dh[0] holds the gradient of this row's state; dh[1] gets the gradient of the state
 * before. */
static inline void gru_row_back(const layer_shape *s, const gru_layer *l, const float *x, const float *h, double *dx,
                                gru_sums *g)
{
    int64_t n = s->n, d = s->d;
    double *dh = g->dh, *dh_before = g->dh + d;
    memset(dh_before, 0, (size_t)d * sizeof *dh_before);
    for (int64_t j = 0; j < d; j++) {
        gru_unit v = gru_forward(s, l, x, h, j);
        double hj = h ? (double)h[j] : 0, in_n = dh[j] * (1 - v.z) * (1 - v.n * v.n);
        /* gradients of the arguments of sigmoid and tanh: da with respect to x W + b, du with respect to h U */
        double da[3] = {dh[j] * (hj - v.n) * v.z * (1 - v.z), in_n * v.u * v.r * (1 - v.r), in_n};
        double du[3] = {da[0], da[1], in_n * v.r};
        dh_before[j] += dh[j] * v.z;
        for (int64_t k = 0; k < 3; k++) {
            int64_t column = k * d + j;
            g->db[column] += da[k];
            for (int64_t i = 0; i < n; i++) {
                g->dw[i * 3 * d + column] += (double)x[i] * da[k];
                dx[i] += da[k] * (double)l->w[i * 3 * d + column];
            }
            for (int64_t i = 0; i < d; i++) {
                g->du[i * 3 * d + column] += h ? (double)h[i] * du[k] : 0;
                dh_before[i] += du[k] * (double)l->u[i * 3 * d + column];
            }
        }
    }
}

static inline void layer_store(float *to, const double *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] = (float)from[i];
}

static inline void reference_gru_back(const layer_shape *s, const gru_layer *l, const float *x, const float *dy,
                                      float *dx, float *dw, float *db, float *du)
{
    int64_t n = s->n, d = s->d;
    double *block = calloc((size_t)(s->rows * n + n * 3 * d + 3 * d + d * 3 * d + 2 * d) + 1, sizeof *block);
    float *y = malloc((size_t)(s->rows * d) * sizeof *y + 1);
    if (!block || !y) abort();
    gru_sums g = {
        .dx = block, .dw = g.dx + s->rows * n, .db = g.dw + n * 3 * d, .du = g.db + 3 * d, .dh = g.du + d * 3 * d};
    reference_gru(s, l, x, y);
    for (int64_t b = 0; b < s->sentences; b++) {
        int64_t first = s->offset[b], end = s->offset[b + 1];
        memset(g.dh, 0, (size_t)d * sizeof *g.dh);
        for (int64_t t = 0; t < end - first; t++) { /* the last state comes first */
            int64_t row = l->backwards ? first + t : end - 1 - t,
                    before = gru_row_before(row, first, end, l->backwards);
            for (int64_t j = 0; j < d; j++) g.dh[j] += (double)dy[row * d + j];
            gru_row_back(s, l, x + row * n, before < 0 ? NULL : y + before * d, g.dx + row * n, &g);
            memcpy(g.dh, g.dh + d, (size_t)d * sizeof *g.dh);
        }
    }
    layer_store(dx, g.dx, s->rows * n);
    layer_store(dw, g.dw, n * 3 * d);
    layer_store(db, g.db, 3 * d);
    layer_store(du, g.du, d * 3 * d);
    free(y);
    free(block);
}

/* ---- CONV: W [(before + 1 + behind) n, d], the weights of the oldest row first ---- */

typedef struct {
    const float *w;
    int64_t before, behind;
} conv_layer;

static inline void reference_conv(const layer_shape *s, const conv_layer *l, const float *x, float *y)
{
    memset(y, 0, (size_t)(s->rows * s->d) * sizeof *y);
    for (int64_t b = 0; b < s->sentences; b++)
        for (int64_t row = s->offset[b]; row < s->offset[b + 1]; row++)
            for (int64_t o = 0; o < s->d; o++) {
                double sum = 0;
                for (int64_t j = -l->before; j <= l->behind; j++) {
                    int64_t from = row + j;
                    if (from < s->offset[b] || from >= s->offset[b + 1]) continue;
                    for (int64_t i = 0; i < s->n; i++)
                        sum += (double)x[from * s->n + i] * (double)l->w[((j + l->before) * s->n + i) * s->d + o];
                }
                y[row * s->d + o] = (float)sum;
            }
}

static inline void reference_conv_back(const layer_shape *s, const conv_layer *l, const float *x, const float *dy,
                                       float *dx, float *dw)
{
    int64_t weights = (l->before + 1 + l->behind) * s->n * s->d;
    double *block = calloc((size_t)(s->rows * s->n + weights) + 1, sizeof *block), *in_x = block,
           *in_w = block + s->rows * s->n;
    if (!block) abort();
    for (int64_t b = 0; b < s->sentences; b++)
        for (int64_t row = s->offset[b]; row < s->offset[b + 1]; row++)
            for (int64_t j = -l->before; j <= l->behind; j++) {
                int64_t from = row + j;
                if (from < s->offset[b] || from >= s->offset[b + 1]) continue;
                for (int64_t i = 0; i < s->n; i++)
                    for (int64_t o = 0; o < s->d; o++) {
                        int64_t at = ((j + l->before) * s->n + i) * s->d + o;
                        in_w[at] += (double)x[from * s->n + i] * (double)dy[row * s->d + o];
                        in_x[from * s->n + i] += (double)l->w[at] * (double)dy[row * s->d + o];
                    }
            }
    layer_store(dx, in_x, s->rows * s->n);
    layer_store(dw, in_w, weights);
    free(block);
}
#endif
