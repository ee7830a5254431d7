/* test_int8.c - products in int8: sums of integers equal those of a plain loop exactly, at every instruction set, with
 * VNNI and without; a row's product has the same bits whatever the numbers of rows and threads. */
#include "fused_case.h"
#include <omp.h>

enum { MOST = 130 };
/* k, n; some k exceed a block */
static const int64_t shapes[][2] = {{1, 1}, {7, 33}, {24, 40}, {131, 65}, {130, 300}, {1700, 9}};

typedef struct {
    view x, w, b;
    bool transposed;
    int64_t k, n;
    double *x_scale, *w_scale; /* [MOST], [n] */
    int32_t *sum;              /* [MOST,n], sums of integers */
} example;

static double weight(const example *c, int64_t i, int64_t j)
{
    return get(&c->w, c->transposed ? j * c->k + i : i * c->n + j);
}

/* Rounds v [n] to integers q in -127 .. 127 and returns the value of one unit. As the kernels do: v (254 / max) in
 * floats, truncated to an integer, halved away from 0. */
static double rounded(int64_t n, const float *v, int32_t *q)
{
    float max = 0;
    for (int64_t i = 0; i < n; i++) max = fmaxf(max, fabsf(v[i]));
    for (int64_t i = 0; i < n; i++) {
        float twice = max > 0 ? truncf(v[i] * (254 / max)) : 0;
        q[i] = (int32_t)(twice < 0 ? -floorf((1 - twice) / 2) : floorf((1 + twice) / 2));
    }
    return (double)(max / 127);
}

static example new_example(int64_t k, int64_t n, bool transposed)
{
    example c = {.x = random_view(F32, MOST, k, 1),
                 .w = random_view(F32, transposed ? n : k, transposed ? k : n, 2),
                 .b = random_view(F32, 1, n, 3),
                 .transposed = transposed,
                 .k = k,
                 .n = n};
    c.w.param = 0;
    /* a row of zeros, and a row of the largest values */
    for (int64_t i = 0; i < k; i++) set(&c.x, i, 0), set(&c.x, k + i, i % 2 ? 3 : -3);
    for (int64_t i = 0; i < k; i++) set(&c.w, transposed ? i : i * n, i % 2 ? 2 : -2);
    c.x_scale = xcalloc(MOST, sizeof *c.x_scale), c.w_scale = xcalloc((size_t)n, sizeof *c.w_scale);
    c.sum = xcalloc((size_t)(MOST * n), sizeof *c.sum);
    int32_t *qx = xcalloc((size_t)(MOST * k), sizeof *qx), *qw = xcalloc((size_t)k, sizeof *qw);
    float *column = xcalloc((size_t)k, sizeof *column);
    for (int64_t r = 0; r < MOST; r++) c.x_scale[r] = rounded(k, (float *)c.x.data + r * k, qx + r * k);
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < k; i++) column[i] = (float)weight(&c, i, j);
        c.w_scale[j] = rounded(k, column, qw);
        for (int64_t r = 0; r < MOST; r++)
            for (int64_t i = 0; i < k; i++) c.sum[r * n + j] += qx[r * k + i] * qw[i];
    }
    free(qx), free(qw), free(column);
    return c;
}

static view product_of(const example *c, int64_t rows, bool bias, bool relu, params *p)
{
    view y = new_view(F32, rows, c->n), none = {0};
    call k = {.op = OP_LINEAR,
              .n_in = 3,
              .n_out = 1,
              .in = {c->x, c->w, bias ? c->b : none},
              .out = {y},
              .a.LINEAR = {.transposed = c->transposed, .relu = relu},
              .params = p};
    k.in[0].dim[2] = rows;
    RUN(LINEAR, k);
    return y;
}

static void check_sums(const example *c, params *p)
{
    view y = product_of(c, MOST, false, false, p), with_bias = product_of(c, MOST, true, true, p);
    double worst = 0;
    int64_t wrong = -1;
    for (int64_t i = 0; i < MOST * c->n; i++) {
        double scale = c->x_scale[i / c->n] * c->w_scale[i % c->n], back = scale > 0 ? get(&y, i) / scale : 0;
        if (wrong < 0 && nearbyint(back) != c->sum[i]) wrong = i;
        worst = fmax(worst, fabs(get(&with_bias, i) - fmax(0, c->sum[i] * scale + get(&c->b, i % c->n))));
    }
    CHECK_INT(wrong, -1);
    if (wrong >= 0)
        printf("  k %d, n %d: row %d, column %d\n", (int)c->k, (int)c->n, (int)(wrong / c->n), (int)(wrong % c->n));
    CHECK_NEAR(worst, 0, 1e-5 * (double)(1 + c->k));
    free_views((view[]){y, with_bias}, 2);
}

static void check_any_rows(const example *c, params *p, const view *all)
{
    for (int threads = 1; threads <= 2; threads++) {
        omp_set_num_threads(threads);
        for (int64_t rows = 1; rows <= MOST; rows += rows < 17 ? 3 : 37) {
            view y = product_of(c, rows, true, true, p);
            CHECK(!memcmp(y.data, all->data, (size_t)(rows * c->n) * sizeof(float)));
            free(y.data);
        }
    }
}

static void check_shape(int64_t k, int64_t n, bool transposed)
{
    example c = new_example(k, n, transposed);
    view before = {0};
    for (int isa = 0; cpu_isa_name(isa); isa++) {
        err e = {""};
        if (cpu_isa_lacks(isa)) continue;
        CHECK_INT(cpu_use(cpu_isa_name(isa), &e), 0);
        for (int forbidden = 0; forbidden < 2; forbidden++) {
            cpu_forbid_vnni(forbidden);
            params p = {.version = 1, .int8 = true};
            check_sums(&c, &p);
            view all = product_of(&c, MOST, true, true, &p);
            check_any_rows(&c, &p, &all);
            if (before.data && isa > ISA_GENERIC) CHECK_SAME_BITS(all, before);
            free(before.data);
            before = isa > ISA_GENERIC ? all : (view){0};
            if (isa == ISA_GENERIC) free(all.data);
            cpu_release_params(&p);
        }
    }
    cpu_forbid_vnni(false);
    free(before.data);
    free_views((view[]){c.x, c.w, c.b}, 3);
    free(c.x_scale), free(c.w_scale), free(c.sum);
}

/* A row with NaN gives NaN. In training, or without the flag, values are not rounded. */
static void edges(void)
{
    example c = new_example(24, 40, false);
    params rounding = {.version = 1, .int8 = true}, plain = {.version = 1};
    view exact = product_of(&c, MOST, true, false, &plain), near = product_of(&c, MOST, true, false, &rounding);
    CHECK(memcmp(exact.data, near.data, (size_t)count(&exact) * sizeof(float)));
    double off = 0, size = 0;
    for (int64_t i = 0; i < count(&exact); i++)
        off += pow(get(&near, i) - get(&exact, i), 2), size += pow(get(&exact, i), 2);
    CHECK(off > 0 && sqrt(off / size) < 0.02);
    if (!(sqrt(off / size) < 0.02)) printf("  relative error %g\n", sqrt(off / size));
    set(&c.x, 5 * c.k + 3, NAN), set(&c.x, 6 * c.k + 3, INFINITY);
    view y = product_of(&c, MOST, true, false, &rounding);
    for (int64_t i = 0; i < count(&y); i++) CHECK_INT(isnan(get(&y, i)), i / c.n == 5 || i / c.n == 6);
    cpu_release_params(&rounding), cpu_release_params(&plain);
    free_views((view[]){exact, near, y, c.x, c.w, c.b}, 6);
    free(c.x_scale), free(c.w_scale), free(c.sum);
}

int main(void)
{
    for (size_t i = 0; i < LENGTH(shapes); i++)
        for (int transposed = 0; transposed < 2; transposed++) check_shape(shapes[i][0], shapes[i][1], transposed);
    edges();
    return test_end();
}
