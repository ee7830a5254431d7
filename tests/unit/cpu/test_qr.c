/* test_qr.c - QR: the columns of Q are orthonormal, a = Q R, and R is upper triangular without negative diagonal, also
 * if columns of `a` are linearly dependent. */
#include "tensors.h"

/* element [i,j] of matrix b in a view [..,m,n] */
static double el(const view *v, int64_t b, int64_t i, int64_t j) { return get(v, (b * v->dim[2] + i) * v->dim[3] + j); }

/* Dot product of column i of x and column j of y. */
static double product(const view *x, const view *y, int64_t b, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t k = 0; k < x->dim[2]; k++) sum += el(x, b, k, i) * el(y, b, k, j);
    return sum;
}

static void check_factor(const view *a, double allowed)
{
    view q = like(a->type, a);
    CHECK_INT(RUN(QR, NULL, &q, *a), 0);
    for (int64_t b = 0; b < a->dim[0] * a->dim[1]; b++)
        for (int64_t i = 0; i < a->dim[3]; i++)
            for (int64_t j = 0; j < a->dim[3]; j++) {
                CHECK_NEAR(product(&q, &q, b, i, j), i == j, allowed);
                double r = product(&q, a, b, i, j);
                if (i > j) CHECK_NEAR(r, 0, 4 * allowed);
                if (i == j) CHECK_THAT(r >= -allowed, "R[%d,%d] is %g, expected 0 or more", (int)i, (int)j, r);
            }
    for (int64_t b = 0; b < a->dim[0] * a->dim[1]; b++) /* a = Q (Q' a): Q spans all of a */
        for (int64_t i = 0; i < a->dim[2]; i++)
            for (int64_t j = 0; j < a->dim[3]; j++) {
                double sum = 0;
                for (int64_t k = 0; k < a->dim[3]; k++) sum += el(&q, b, i, k) * product(&q, a, b, k, j);
                CHECK_NEAR(sum, el(a, b, i, j), 4 * allowed);
            }
    RELEASE(q);
}

static void check_shapes(dtype t, double allowed)
{
    static const int64_t shape[][4] = {{1, 1, 1, 1}, {1, 1, 5, 1}, {2, 3, 4, 4}, {1, 1, 9, 3}, {1, 1, 40, 40}};
    for (size_t s = 0; s < LENGTH(shape); s++) {
        view a = randoms(tensor(t, shape[s][0], shape[s][1], shape[s][2], shape[s][3]));
        check_factor(&a, allowed);
        for (int64_t i = 0; i < a.dim[2] && s > 1; i++) /* the second column is twice the first */
            for (int64_t b = 0; b < a.dim[0] * a.dim[1]; b++)
                set(&a, (b * a.dim[2] + i) * a.dim[3] + 1, 2 * el(&a, b, i, 0));
        check_factor(&a, allowed);
        for (int64_t i = 0; i < size_of(&a); i++) set(&a, i, -2); /* all columns are equal */
        check_factor(&a, allowed);
        RELEASE(a);
    }
}

static void check_zeros(dtype t)
{
    view a = tensor(t, 1, 1, 4, 3), q = like(t, &a);
    for (int64_t i = 0; i < 12; i++) set(&a, i, 0);
    CHECK_INT(RUN(QR, NULL, &q, a), 0);
    for (int64_t i = 0; i < 4; i++)
        for (int64_t j = 0; j < 3; j++) CHECK_NEAR(el(&q, 0, i, j), i == j, 0);
    RELEASE(a, q);
}

int main(void)
{
    dice = rng_seed(1, 1);
    check_shapes(F64, 1e-13);
    check_shapes(F32, 1e-5);
    check_zeros(F64);
    check_zeros(F32);
    return test_end();
}
