/* qr.c - QR: the orthogonal factor of matrices, by Householder's reflections (Golub and Van Loan, section 5.2), in
 * double precision whatever the type. Each sum has a fixed order; the innermost loops run along rows. */
#include "tensor/cpu/generic.h"
#include <math.h>
#include <stdlib.h>

typedef struct {
    const view *a, *y;
    int64_t m, n;
} factoring;

/* If the part of a column below the diagonal is shorter than this share of the part above, it counts as rounding. */
static const double LEFT_OVER = 1e-14;

/* Reflects rows [from, m) of columns [first, n) of x [m,n]: x -= tau v (v' x), v = column `from` of a. w: [n]. */
static void reflect(double *x, const double *a, double *w, double tau, int64_t m, int64_t n, int64_t from,
                    int64_t first)
{
    for (int64_t k = first; k < n; k++) w[k] = 0;
    for (int64_t i = from; i < m; i++)
        for (int64_t k = first; k < n; k++) w[k] += a[i * n + from] * x[i * n + k];
    for (int64_t i = from; i < m; i++) {
        double by = tau * a[i * n + from];
        for (int64_t k = first; k < n; k++) x[i * n + k] -= by * w[k];
    }
}

/* a [m,n] -> q [m,n]; overwrites a by the reflections' vectors. work: [3 n]. Of a column that depends on earlier
 * columns, only rounding errors are left: no reflection, because their square may underflow. */
static void orthogonal_factor(double *a, double *q, double *work, int64_t m, int64_t n)
{
    double *w = work, *tau = work + n, *sign = work + 2 * n;
    for (int64_t j = 0; j < n; j++) {
        double squares = 0, above = 0, *top = &a[j * n + j];
        for (int64_t i = 0; i < j; i++) above += a[i * n + j] * a[i * n + j];
        for (int64_t i = j; i < m; i++) squares += a[i * n + j] * a[i * n + j];
        double length = sqrt(squares),
               end = *top > 0 ? -length : length; /* R's diagonal; the sign avoids cancellation */
        tau[j] = 0, sign[j] = 1;
        if (length <= LEFT_OVER * sqrt(above)) continue;
        sign[j] = end < 0 ? -1 : 1;
        tau[j] = 1 / (squares + fabs(*top) * length);
        *top -= end;
        reflect(a, a, w, tau[j], m, n, j, j + 1);
    }
    for (int64_t i = 0; i < m; i++)
        for (int64_t k = 0; k < n; k++) q[i * n + k] = i == k;
    for (int64_t j = n - 1; j >= 0; j--) reflect(q, a, w, tau[j], m, n, j, j);
    for (int64_t i = 0; i < m; i++)
        for (int64_t k = 0; k < n; k++) q[i * n + k] *= sign[k];
}

static void factors(const void *job, int64_t from, int64_t to)
{
    const factoring *f = job;
    size_t each = (size_t)(f->m * f->n), size = dtype_size(f->a->type);
    double *a = xmalloc((2 * each + 3 * (size_t)f->n) * sizeof *a), *q = a + each;
    for (int64_t i = from; i < to; i++) {
        const char *x = (const char *)f->a->data + (size_t)i * each * size;
        char *y = (char *)f->y->data + (size_t)i * each * size;
        converter(F64, f->a->type)(a, x, (int64_t)each);
        orthogonal_factor(a, q, q + each, f->m, f->n);
        converter(f->a->type, F64)(y, q, (int64_t)each);
    }
    free(a);
}

int cpu_QR(const call *k, err *e)
{
    const view *a = &k->i.QR.a, *y = &k->o.QR.y;
    if (!is_real(a) || y->type != a->type) return wrong_type(k, e);
    factoring f = {a, y, a->dim[2], a->dim[3]};
    over_range(a->dim[0] * a->dim[1], 1, 4 * count_of(a) * f.n, factors, &f);
    return 0;
}
