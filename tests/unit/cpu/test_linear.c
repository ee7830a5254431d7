/* test_linear.c - linear maps of rows against loops in double. */
#include "fused_case.h"

static params store = {.version = 1};

/* Returns the elements of a matrix [rows,width], or of its transpose, in double; the caller frees them. */
static double *numbers(const view *v, bool transposed)
{
    int64_t rows = v->dim[2], width = v->dim[3];
    double *x = xcalloc((size_t)(rows * width) + 1, sizeof *x);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < width; i++) x[transposed ? i * rows + r : r * width + i] = get(v, r * width + i);
    return x;
}

/* y [rows,n] += a [rows,k] b [k,n]. Not instrumented, since it took a third of this test's time under sanitizers. */
__attribute__((no_sanitize("address", "undefined"), noinline)) static void
add_product(double *y, const double *a, const double *b, int64_t rows, int64_t k, int64_t n)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < k; i++) {
            double x = a[r * k + i];
            _Pragma("omp simd") for (int64_t j = 0; j < n; j++) y[r * n + j] += x * b[i * n + j];
        }
}

/* y = relu(x w + b) by loops */
static view linear_by_loops(const view *x, const view *w, const view *b, bool transposed, bool relu, const view *base)
{
    int64_t k = x->dim[3], n = w->dim[transposed ? 2 : 3], rows = x->dim[2];
    view y = new_view(F64, rows, n);
    double *sum = y.data, *left = numbers(x, false), *right = numbers(w, transposed);
    for (int64_t i = 0; i < rows * n; i++) sum[i] = b ? get(b, i % n) : base ? get(base, i) : 0;
    add_product(sum, left, right, rows, k, n);
    for (int64_t i = 0; i < rows * n && relu; i++) sum[i] = sum[i] < 0 ? 0 : sum[i];
    free(left);
    free(right);
    return y;
}

/* Checks four ways: with or without bias, with or without ReLU. */
static void check_forward(dtype type, int64_t rows, int64_t n, int64_t k, bool transposed, int32_t param)
{
    view x = random_view(type, rows, k, 1), w = random_view(sums_of(type), transposed ? n : k, transposed ? k : n, 2);
    view b = random_view(sums_of(type), 1, n, 3), y = new_view(type, rows, n), again = new_view(type, rows, n);
    view product = linear_by_loops(&x, &w, NULL, transposed, false, NULL), want = new_view(F64, rows, n);
    w.param = param;
    for (int way = 0; way < 4; way++) {
        bool relu = way & 1, bias = way & 2;
        call c = {.op = OP_LINEAR,
                  .n_in = 3,
                  .n_out = 1,
                  .in = {x, w, bias ? b : (view){0}},
                  .out = {y},
                  .a.LINEAR = {.transposed = transposed, .relu = relu},
                  .params = &store};
        RUN(LINEAR, c);
        for (int64_t i = 0; i < rows * n; i++) {
            double sum = get(&product, i) + (bias ? get(&b, i % n) : 0);
            set(&want, i, relu && sum < 0 ? 0 : sum);
        }
        CHECK_ROWS(y, want, tolerance(type));
        c.out[0] = again;
        RUN(LINEAR, c);
        CHECK_SAME_BITS(y, again);
        cpu_release_params(&store);
    }
    free_views((view[]){x, w, b, y, again, want, product}, 7);
}

/* A row has the same bits if it is computed alone, in groups, and in another order. */
static void check_exact_rows(dtype type, int64_t n, int64_t k, bool transposed)
{
    enum { ROWS = 150 };
    view x = random_view(type, ROWS, k, 4), w = random_view(sums_of(type), transposed ? n : k, transposed ? k : n, 5),
         b = random_view(sums_of(type), 1, n, 6);
    view y = new_view(type, ROWS, n), part = new_view(type, ROWS, n), turned = new_view(type, ROWS, k);
    size_t x_row = (size_t)k * dtype_size(type), y_row = (size_t)n * dtype_size(type);
    w.param = 0;
    call c = {.op = OP_LINEAR,
              .n_in = 3,
              .n_out = 1,
              .in = {x, w, b},
              .out = {y},
              .a.LINEAR = {.transposed = transposed},
              .params = &store,
              .batch_invariant = true};
    RUN(LINEAR, c);
    view want = linear_by_loops(&x, &w, &b, transposed, false, NULL);
    CHECK_ROWS(y, want, tolerance(type));
    const int64_t sizes[] = {1, 2, 7, 64, 65};
    for (size_t s = 0; s < LENGTH(sizes); s++)
        for (int64_t r = 0; r < ROWS; r += sizes[s]) {
            int64_t rows = sizes[s] < ROWS - r ? sizes[s] : ROWS - r;
            c.in[0] = x, c.out[0] = part;
            c.in[0].data = (char *)x.data + (size_t)r * x_row;
            c.in[0].dim[2] = c.out[0].dim[2] = rows;
            RUN(LINEAR, c);
            CHECK_INT(memcmp(part.data, (char *)y.data + (size_t)r * y_row, (size_t)rows * y_row), 0);
        }
    for (int64_t r = 0; r < ROWS; r++)
        memcpy((char *)turned.data + (size_t)(ROWS - 1 - r) * x_row, (char *)x.data + (size_t)r * x_row, x_row);
    c.in[0] = turned, c.out[0] = part;
    RUN(LINEAR, c);
    int differ = 0;
    for (int64_t r = 0; r < ROWS; r++)
        differ +=
            memcmp((char *)part.data + (size_t)(ROWS - 1 - r) * y_row, (char *)y.data + (size_t)r * y_row, y_row) != 0;
    CHECK_INT(differ, 0);
    cpu_release_params(&store);
    free_views((view[]){x, w, b, y, part, turned, want}, 7);
}

static void check_gradients(dtype type, int64_t rows, int64_t n, int64_t k, bool transposed)
{
    view x = random_view(type, rows, k, 7), dy = random_view(type, rows, n, 8),
         w = random_view(sums_of(type), transposed ? n : k, transposed ? k : n, 9);
    view base = random_view(type, rows, k, 10), dx = new_view(type, rows, k), added = copy_as(&base, type);
    view dw = random_view(sums_of(type), w.dim[2], w.dim[3], 11), again = new_view(sums_of(type), w.dim[2], w.dim[3]);
    w.param = 3;
    call c = {.op = OP_LINEAR_DX,
              .n_in = 3,
              .n_out = 1,
              .in = {dy, w, {0}},
              .out = {dx},
              .a.LINEAR = {.transposed = transposed},
              .params = &store};
    RUN(LINEAR_DX, c);
    view want = linear_by_loops(&dy, &w, NULL, !transposed, false, NULL);
    CHECK_ROWS(dx, want, tolerance(type));
    c.in[2] = c.out[0] = added; /* in place */
    RUN(LINEAR_DX, c);
    view sum = linear_by_loops(&dy, &w, NULL, !transposed, false, &base);
    CHECK_ROWS(added, sum, tolerance(type));
    c.in[2] = (view){0}, c.in[3] = base, c.out[0] = dx, c.n_in = 4; /* base is the output of a ReLU */
    RUN(LINEAR_DX, c);
    for (int64_t i = 0; i < count(&want); i++)
        if (!(get(&base, i) > 0)) set(&want, i, 0);
    CHECK_ROWS(dx, want, tolerance(type));

    call g = {.op = OP_LINEAR_DW,
              .n_in = 2,
              .n_out = 1,
              .in = {x, dy},
              .out = {dw},
              .a.LINEAR = {.transposed = transposed},
              .params = &store};
    RUN(LINEAR_DW, g);
    view outer = new_view(F64, w.dim[2], w.dim[3]);
    double *one = numbers(transposed ? &dy : &x, true), *other = numbers(transposed ? &x : &dy, false);
    add_product(outer.data, one, other, outer.dim[2], rows, outer.dim[3]);
    free(one);
    free(other);
    CHECK_ROWS(dw, outer, type == F64 ? 1e-12 : 2e-5); /* bf16 factors, but F32 sums and result */
    view sums = new_view(sums_of(type), 1, n), columns = new_view(F64, 1, n);
    for (int64_t i = 0; i < rows * n; i++) set(&columns, i % n, get(&columns, i % n) + get(&dy, i));
    g.out[0] = again, g.out[1] = sums, g.n_out = 2;
    RUN(LINEAR_DW, g);
    CHECK_SAME_BITS(dw, again);
    CHECK_ROWS(sums, columns, type == F64 ? 1e-12 : 2e-5);
    cpu_release_params(&store);
    free_views((view[]){x, dy, w, base, dx, added, dw, again, want, sum, outer, sums, columns}, 13);
}

/* Packed copies of a parameter are made anew for a new version and for another set of parameters with the same names. A
 * matrix that is no parameter is never kept. */
static void check_packs(dtype type)
{
    params other = {.version = 1};
    view x = random_view(type, 5, 24, 12), w = random_view(F32, 24, 20, 13), u = random_view(F32, 24, 20, 14),
         y = new_view(type, 5, 20);
    w.param = u.param = 7;
    call c = {.op = OP_LINEAR, .n_in = 3, .n_out = 1, .in = {x, w}, .out = {y}, .params = &store};
    RUN(LINEAR, c);
    view want = linear_by_loops(&x, &w, NULL, false, false, NULL);
    CHECK_ROWS(y, want, tolerance(type));
    for (int64_t i = 0; i < count(&w); i++) set(&w, i, 2 * get(&w, i));
    store.version++;
    RUN(LINEAR, c);
    for (int64_t i = 0; i < count(&want); i++) set(&want, i, 2 * get(&want, i));
    CHECK_ROWS(y, want, tolerance(type));
    c.in[1] = u, c.params = &other;
    RUN(LINEAR, c);
    view second = linear_by_loops(&x, &u, NULL, false, false, NULL);
    CHECK_ROWS(y, second, tolerance(type));
    c.in[1] = w, c.in[1].param = -1;
    RUN(LINEAR, c);
    CHECK_ROWS(y, want, tolerance(type));
    for (int64_t i = 0; i < count(&w); i++) set(&w, i, get(&w, i) / 2);
    RUN(LINEAR, c);
    for (int64_t i = 0; i < count(&want); i++) set(&want, i, get(&want, i) / 2);
    CHECK_ROWS(y, want, tolerance(type));
    cpu_release_params(&store);
    cpu_release_params(&other);
    free_views((view[]){x, w, u, y, want, second}, 6);
}

int main(void)
{
    const int64_t shapes[][3] = {{1, 1, 1},     {1, 48, 16},     {3, 20, 24},     {64, 64, 32},
                                 {70, 100, 36}, {129, 33, 65},   {192, 256, 128}, {200, 130, 512},
                                 {600, 70, 40}, {300, 40, 1100}, {257, 1090, 33}, {65, 48, 1024}};
    for (size_t t = 0; t < LENGTH(row_types); t++) {
        dtype type = row_types[t];
        if (type == BF16 && !cpu_has_bf16())
            printf("bf16 products without hardware for them: slow, tested all the same\n");
        for (size_t s = 0; s < LENGTH(shapes); s++) {
            const int64_t *d = shapes[s];
            check_forward(type, d[0], d[1], d[2], false, -1);
            check_forward(type, d[0], d[1], d[2], true, 1);
            check_gradients(type, d[0], d[1], d[2], false);
            check_gradients(type, d[0], d[1], d[2], true);
        }
        check_exact_rows(type, 40, 24, false);
        check_exact_rows(type, 128, 512, false);
        check_exact_rows(type, 1000, 64, true);
        if (type != F64) check_packs(type);
    }
    return test_end();
}
