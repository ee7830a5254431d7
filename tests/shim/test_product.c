/* test_product.c - LINEAR, LINEAR_DX, LINEAR_DW and MATMUL of the CUDA backend against the CPU's, and the products that
 * they call. In the emulation our own kernels multiply; on a GPU cuBLASLt does, unless ABLATE_PRODUCT is `own`. */
#include "tensor/cuda/product.h"
#include "shim_test.h"

static const dtype types[] = {F32, BF16};
static const view none = {.param = -1};
static view matrix(dtype type, int64_t rows, int64_t width) { return randoms(tensor(type, 1, 1, rows, width)); }

/* ---- rows times a learned matrix ---- */

static void test_linear(dtype type, int64_t rows, int64_t n, int64_t k, int turned, int bias, int relu)
{
    char what[160];
    snprintf(what, sizeof what, "linear %s %lld x %lld x %lld turned %d bias %d relu %d", dtype_name(type),
             (long long)rows, (long long)n, (long long)k, turned, bias, relu);
    call c = {.op = OP_LINEAR, .n_in = 3, .n_out = 1, .a = {.LINEAR = {.transposed = turned, .relu = relu}}};
    c.in[0] = matrix(type, rows, k), c.in[1] = turned ? matrix(F32, n, k) : matrix(F32, k, n);
    c.in[2] = bias ? matrix(F32, 1, n) : none, c.out[0] = tensor(type, 1, 1, rows, n);
    /* in bf16 the CUDA backend rounds the bias, the CPU does not: they differ by at most 2 / 256 */
    check_call(what, cpu_LINEAR, cuda_LINEAR, &c, type == F32 ? 1e-6 : bias && k < 16 ? 8e-3 : 1e-3);
    release_views(&c);
}

enum { NO_BASE, IN_PLACE, ELSEWHERE };
static void test_linear_dx(dtype type, int64_t rows, int64_t n, int64_t k, int turned, int base)
{
    char what[160];
    snprintf(what, sizeof what, "linear_dx %s %lld x %lld x %lld turned %d base %d", dtype_name(type), (long long)rows,
             (long long)n, (long long)k, turned, base);
    call c = {.op = OP_LINEAR_DX, .n_in = 4, .n_out = 1, .a = {.LINEAR = {.transposed = turned}}};
    c.in[0] = matrix(type, rows, n), c.in[1] = turned ? matrix(F32, n, k) : matrix(F32, k, n);
    c.in[2] = base ? matrix(type, rows, k) : none;
    /* the output of a ReLU: about half of the elements are 0 or below */
    c.in[3] = rng_below(&dice, 2) ? matrix(type, rows, k) : none;
    c.out[0] = base == IN_PLACE ? c.in[2] : tensor(type, 1, 1, rows, k);
    /* the CPU's sum begins with the base, so a sum near 0 is rounded differently */
    check_call(what, cpu_LINEAR_DX, cuda_LINEAR_DX, &c, type == F32 ? base ? 1e-5 : 1e-6 : 1e-3);
    release_views(&c);
}

static void test_linear_dw(dtype type, int64_t rows, int64_t n, int64_t k, int turned)
{
    char what[160];
    snprintf(what, sizeof what, "linear_dw %s %lld x %lld x %lld turned %d", dtype_name(type), (long long)rows,
             (long long)n, (long long)k, turned);
    call c = {.op = OP_LINEAR_DW, .n_in = 2, .n_out = 2, .a = {.LINEAR = {.transposed = turned}}};
    c.in[0] = matrix(type, rows, k), c.in[1] = matrix(type, rows, n);
    c.out[0] = turned ? tensor(F32, 1, 1, n, k) : tensor(F32, 1, 1, k, n);
    c.out[1] = rng_below(&dice, 2) ? tensor(F32, 1, 1, 1, n) : none;
    check_call(what, cpu_LINEAR_DW, cuda_LINEAR_DW, &c, 2e-6);
    release_views(&c);
}

/* Three products in one call, as views of all three: rows and results follow one another. */
enum { TOGETHER = 3 };
static call one_of(const call *all, int i)
{
    call c = *all;
    view *v[4] = {&c.in[0], &c.in[1], &c.out[0], &c.out[1]};
    for (int k = 0; k < 4; k++) {
        int axis = k == 2 ? 1 : 2;
        v[k]->dim[axis] /= TOGETHER;
        c.stride[k] = bytes_of_view(v[k]);
        if (v[k]->data) v[k]->data = (char *)v[k]->data + i * c.stride[k];
    }
    return c;
}
static int cpu_three(const call *all, err *e)
{
    int bad = 0;
    for (int i = 0; i < TOGETHER && !bad; i++) {
        call c = one_of(all, i);
        bad = cpu_LINEAR_DW(&c, e);
    }
    return bad;
}
static int cuda_three(const call *all, err *e)
{
    call c = one_of(all, 0);
    c.batch = TOGETHER;
    return cuda_LINEAR_DW(&c, e);
}
static void test_three_dw(dtype type, int64_t rows, int64_t n, int64_t k, int turned, bool sums)
{
    char what[160];
    snprintf(what, sizeof what, "three linear_dw %s %lld x %lld x %lld turned %d sums %d", dtype_name(type),
             (long long)rows, (long long)n, (long long)k, turned, sums);
    call c = {.op = OP_LINEAR_DW, .n_in = 2, .n_out = 2, .a = {.LINEAR = {.transposed = turned}}};
    c.in[0] = matrix(type, TOGETHER * rows, k), c.in[1] = matrix(type, TOGETHER * rows, n);
    c.out[0] = turned ? tensor(F32, 1, TOGETHER, n, k) : tensor(F32, 1, TOGETHER, k, n);
    c.out[1] = sums ? tensor(F32, 1, 1, TOGETHER, n) : none;
    check_call(what, cpu_three, cuda_three, &c, 2e-6);
    release_views(&c);
}

/* The three products of a vocabulary whose rows of logits have padding, which must be neither read nor written. */
static void test_padded(dtype type, int64_t rows, int64_t words, int64_t k, int64_t padding)
{
    char what[3][80];
    static const char *const names[3] = {"linear", "linear_dx", "linear_dw"};
    for (int i = 0; i < 3; i++)
        snprintf(what[i], sizeof what[i], "%s %s %lld x %lld x %lld padding %lld", names[i], dtype_name(type),
                 (long long)rows, (long long)words, (long long)k, (long long)padding);
    view logits = matrix(type, rows, words);
    call c = {.op = OP_LINEAR, .n_in = 3, .n_out = 1, .a = {.LINEAR = {.transposed = 1, .padding = padding}}};
    c.in[0] = matrix(type, rows, k), c.in[1] = matrix(F32, words, k), c.in[2] = none,
    c.out[0] = tensor(type, 1, 1, rows, words + padding);
    without = (without_padding){cpu_LINEAR, {&c.out[0]}, padding};
    check_call(what[0], cpu_without_padding, cuda_LINEAR, &c, type == F32 ? 1e-6 : 1e-3);
    release_views(&c);
    c.op = OP_LINEAR_DX, c.in[0] = padded(&logits, padding), c.in[1] = matrix(F32, words, k),
    c.out[0] = tensor(type, 1, 1, rows, k);
    without = (without_padding){cpu_LINEAR_DX, {&c.in[0]}, padding};
    check_call(what[1], cpu_without_padding, cuda_LINEAR_DX, &c, type == F32 ? 1e-6 : 1e-3);
    release_views(&c);
    c.op = OP_LINEAR_DW, c.n_in = 2, c.in[0] = matrix(type, rows, k), c.in[1] = padded(&logits, padding),
    c.out[0] = tensor(F32, 1, 1, words, k);
    without = (without_padding){cpu_LINEAR_DW, {&c.in[1]}, padding};
    check_call(what[2], cpu_without_padding, cuda_LINEAR_DW, &c, 2e-6);
    release_views(&c);
    free(logits.data);
}

static void test_linears(void)
{
    static const int64_t shapes[][3] = {{1, 1, 1},      {5, 7, 3},   {64, 64, 32}, {65, 66, 33},
                                        {100, 37, 131}, {3, 136, 8}, {0, 9, 4},    {128, 8, 72}};
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < LENGTH(shapes); i++)
            for (int turned = 0; turned < 2; turned++) {
                const int64_t *s = shapes[i];
                int other = (int)(rng_below(&dice, 6));
                test_linear(types[t], s[0], s[1], s[2], turned, other % 2, other / 2 % 2);
                test_linear(types[t], s[0], s[1], s[2], turned, !(other % 2), other / 2 % 2);
                test_linear_dx(types[t], s[0], s[1], s[2], turned, other % 3);
                test_linear_dx(types[t], s[0], s[1], s[2], turned, (other + 1) % 3);
                test_linear_dw(types[t], s[0], s[1], s[2], turned);
                test_three_dw(types[t], s[0], s[1], s[2], turned, other % 2);
            }
}

/* A row has the same bits among any number of others. */
static void test_exact(dtype type, int64_t n, int64_t k)
{
    enum { ROWS = 150 };
    static const int64_t some[] = {1, 2, 17, 64, 65, 128, 149};
    view x = matrix(type, ROWS, k), w = matrix(F32, k, n), b = matrix(F32, 1, n), y = tensor(type, 1, 1, ROWS, n),
         z = tensor(type, 1, 1, ROWS, n);
    call c = {.op = OP_LINEAR, .n_in = 3, .n_out = 1, .batch_invariant = true};
    c.in[0] = x, c.in[1] = w, c.in[2] = b, c.out[0] = y;
    size_t one = dtype_size(type), row = (size_t)n * one;
    for (int i = 0; i < 3; i++) c.in[i].data = gpu_copy_of(c.in[i].data, bytes_of_view(&c.in[i]));
    c.out[0].data = gpu_alloc(bytes_of_view(&y));
    err e = {{0}};
    CHECK_THAT(!cuda_LINEAR(&c, &e), "exact rows: %s", e.text);
    gpu_copy_out(y.data, c.out[0].data, bytes_of_view(&y));
    void *all = c.in[0].data;
    for (size_t i = 0; i < LENGTH(some); i++) {
        int64_t from = ROWS - some[i];
        size_t skip = (size_t)from * (size_t)k * one;
        c.in[0].dim[2] = c.out[0].dim[2] = some[i];
        c.in[0].data = gpu_copy_of((char *)x.data + skip, (size_t)(some[i] * k) * one);
        CHECK_THAT(!cuda_LINEAR(&c, &e), "exact rows: %s", e.text);
        gpu_copy_out(z.data, c.out[0].data, (size_t)some[i] * row);
        char what[64];
        snprintf(what, sizeof what, "%s, the last %lld of %d rows", dtype_name(type), (long long)some[i], ROWS);
        check_same_bits(what, z.data, (char *)y.data + (size_t)from * row, (size_t)some[i] * row);
        gpu_release(c.in[0].data);
    }
    gpu_release(all), gpu_release(c.in[1].data), gpu_release(c.in[2].data), gpu_release(c.out[0].data);
    free(x.data), free(w.data), free(b.data), free(y.data), free(z.data);
}

/* Weights that are parameters are read from a stored bf16 copy; other matrices are cast at each call. */
static void test_as_bf16(void)
{
    enum { N = 40, AT = 16 };
    param one = {.at = AT, .count = N};
    params s = {.p = &one, .n = 1, .total = AT + N, .shadow = gpu_alloc(2 * (AT + N))};
    view v = matrix(F32, 5, 8), b = matrix(F32, 1, 33), h = tensor(BF16, 1, 1, 5, 8);
    call c = {.op = OP_LINEAR, .n_in = 3, .n_out = 1, .params = &s, .in = {h, v, b}};
    err e = {{0}};
    c.in[1].param = 0;
    const char *expected = (char *)s.shadow + 2 * AT, *found = cuda_as_bf16(&c, 1, &e);
    CHECK_THAT(found == expected, "a parameter in bf16: found %p, expected %p (%s)", (const void *)found,
               (const void *)expected, e.text);
    found = cuda_as_bf16(&c, 0, &e);
    CHECK_THAT(found == h.data, "a bf16 input: found %p, expected %p (%s)", (const void *)found, h.data, e.text);
    c.in[1].param = -1;
    for (int i = 1; i < 3; i++) c.in[i].data = gpu_copy_of(c.in[i].data, bytes_of_view(&c.in[i]));
    const void *cast[2];
    for (int i = 1; i < 3; i++) cast[i - 1] = cuda_as_bf16(&c, i, &e);
    for (int i = 1; i < 3; i++) { /* the bf16 copies of inputs 1 and 2 exist at the same time */
        const view *from = i == 1 ? &v : &b;
        uint16_t back[40];
        gpu_copy_out(back, cast[i - 1], (size_t)size_of(from) * 2);
        for (int64_t j = 0; j < size_of(from); j++) {
            uint16_t wanted = bf16_of_float((float)get(from, j));
            CHECK_THAT(back[j] == wanted, "input %d cast to bf16, element %lld: found %04x, expected %04x", i,
                       (long long)j, back[j], wanted);
        }
        gpu_release(c.in[i].data);
    }
    view ids = {.data = h.data, .dim = {1, 1, 1, 3}, .type = I32, .param = -1};
    c.in[1] = ids;
    CHECK_THAT(!cuda_as_bf16(&c, 1, &e) && strstr(e.text, "int32, expected bf16 or fp32"), "ids as bf16: found \"%s\"",
               e.text);
    gpu_release(s.shadow);
    free(v.data), free(b.data), free(h.data);
}

/* ---- MATMUL: batches, some of them repeated ---- */

static void test_matmul(const int64_t a[2], const int64_t b[2], int64_t m, int64_t n, int64_t k, int turn_a, int turn_b)
{
    char what[160];
    snprintf(what, sizeof what, "matmul [%lld,%lld] x [%lld,%lld], %lld x %lld x %lld, turned %d %d", (long long)a[0],
             (long long)a[1], (long long)b[0], (long long)b[1], (long long)m, (long long)n, (long long)k, turn_a,
             turn_b);
    call c = {.op = OP_MATMUL, .n_in = 2, .n_out = 1, .a = {.MATMUL = {.transpose_a = turn_a, .transpose_b = turn_b}}};
    c.in[0] = randoms(turn_a ? tensor(F32, a[0], a[1], k, m) : tensor(F32, a[0], a[1], m, k));
    c.in[1] = randoms(turn_b ? tensor(F32, b[0], b[1], n, k) : tensor(F32, b[0], b[1], k, n));
    c.out[0] = tensor(F32, a[0] > b[0] ? a[0] : b[0], a[1] > b[1] ? a[1] : b[1], m, n);
    check_call(what, cpu_MATMUL, cuda_MATMUL, &c, 2e-6);
    release_views(&c);
}

static void test_matmuls(void)
{
    static const int64_t batches[][2] = {{1, 1}, {2, 3}, {1, 3}, {2, 1}, {3, 1}};
    static const int pairs[][2] = {{0, 0}, {1, 1}, {1, 0}, {0, 1}, {1, 2}, {2, 1},
                                   {1, 3}, {3, 1}, {2, 3}, {3, 2}, {2, 4}};
    for (size_t p = 0; p < LENGTH(pairs); p++) {
        const int64_t *a = batches[pairs[p][0]], *b = batches[pairs[p][1]];
        int64_t lengths[3];
        for (int i = 0; i < 3; i++) lengths[i] = 1 + (int64_t)rng_below(&dice, 70);
        int64_t other[2] = {b[0] == 3 && a[0] == 1 ? 3 : b[0], b[1]};
        for (int turns = 0; turns < 4; turns++)
            test_matmul(a, other, lengths[0], lengths[1], lengths[2], turns % 2, turns / 2);
    }
    test_matmul(batches[1], batches[0], 4, 16, 8, 0, 0);
    test_matmul(batches[1], batches[1], 4, 16, 0, 0, 0);
    err e = {{0}};
    view f = tensor(F32, 1, 1, 2, 3), h = tensor(BF16, 1, 1, 3, 2);
    call c = {.op = OP_MATMUL, .n_in = 2, .n_out = 1, .in = {f, h}, .out = {f}};
    CHECK_REFUSED(cuda_MATMUL(&c, &e), &e, "MATMUL on the GPU: input 1 is bf16, expected fp32");
    e.text[0] = 0;
    c.in[1] = f;
    CHECK_REFUSED(cuda_MATMUL(&c, &e), &e, "do not match");
    free(f.data), free(h.data);
}

/* ---- the product that they call: strided rows, alpha, beta, types, against sums in double ---- */

/* A product's bits do not depend on how many products are in its batch. */
static void test_exact_batch(int64_t among, int64_t m, int64_t n, int64_t k, int turn_a, int turn_b)
{
    call c = {.op = OP_MATMUL, .n_in = 2, .n_out = 1, .a = {.MATMUL = {.transpose_a = turn_a, .transpose_b = turn_b}}};
    c.in[0] = randoms(tensor(F32, among, 2, turn_a ? k : m, turn_a ? m : k));
    c.in[1] = randoms(tensor(F32, among, 2, turn_b ? n : k, turn_b ? k : n));
    c.out[0] = tensor(F32, among, 2, m, n);
    check_alone("an exact batch", cuda_MATMUL, &c);
    release_views(&c);
}

static void test_strides(dtype type, dtype type_c, int exact)
{
    enum { M = 70, N = 37, K = 45, RELATIVE_POSITION = 3, BATCH = 2 };
    int turn_a = !exact && rng_below(&dice, 2), turn_b = (int)rng_below(&dice, 2);
    int64_t row_a = (turn_a ? M : K) + RELATIVE_POSITION, row_b = (turn_b ? K : N) + RELATIVE_POSITION,
            row_c = N + RELATIVE_POSITION, batch = exact ? 1 : BATCH;
    /* with a distance of 1, matrices do not begin at multiples of 16 bytes */
    int64_t rows_a = turn_a ? K : M, apart = (int64_t)rng_below(&dice, 2);
    view a = matrix(type, rows_a * batch + 1, row_a), b = matrix(type, turn_b ? N : K, row_b),
         c = matrix(type_c, M * batch, row_c);
    view bias = matrix(type_c, 1, N), back = tensor(type_c, 1, 1, M * batch, row_c),
         expected = tensor(type_c, 1, 1, M * batch, row_c);
    product p = {.m = M,
                 .n = N,
                 .k = K,
                 .row_a = row_a,
                 .row_b = row_b,
                 .row_c = row_c,
                 .turn_a = turn_a,
                 .turn_b = turn_b,
                 .batch = batch,
                 .step_a = rows_a * row_a + apart,
                 .step_b = 0,
                 .step_c = size_of(&c) / batch,
                 .type = (int)type,
                 .type_c = (int)type_c,
                 .alpha = 0.5f,
                 .beta = 2,
                 .relu = 1,
                 .exact = exact};
    p.a = gpu_copy_of(a.data, bytes_of_view(&a)), p.b = gpu_copy_of(b.data, bytes_of_view(&b));
    p.c = gpu_copy_of(c.data, bytes_of_view(&c)), p.bias = gpu_copy_of(bias.data, bytes_of_view(&bias));
    product_count before = product_counts();
    CHECK_THAT(!gpu_product(&p), "a product: %s", gpu_error());
    product_count after = product_counts();
    CHECK_THAT(after.own + after.library == before.own + before.library + 1, "products counted: found %lld, expected 1",
               (long long)(after.own + after.library - before.own - before.library));
    gpu_copy_out(back.data, p.c, bytes_of_view(&c));
    for (int64_t i = 0; i < M * batch; i++)
        for (int64_t j = 0; j < row_c; j++) {
            double sum = 0;
            const int64_t r = i % M, of = i / M * p.step_a;
            for (int64_t q = 0; q < K && j < N; q++)
                sum += get(&a, of + (turn_a ? q * row_a + r : r * row_a + q)) *
                       get(&b, turn_b ? j * row_b + q : q * row_b + j);
            double y = j < N ? fmax(0, 0.5 * sum + 2 * get(&c, i * row_c + j) + get(&bias, j)) : get(&c, i * row_c + j);
            set(&expected, i * row_c + j, y);
        }
    check_views("a product with strides", &back, &expected, type_c == F32 ? 1e-6 : 1e-4);
    gpu_release((void *)(uintptr_t)p.a), gpu_release((void *)(uintptr_t)p.b), gpu_release((void *)(uintptr_t)p.bias),
        gpu_release(p.c);
    free(a.data), free(b.data), free(c.data), free(bias.data), free(back.data), free(expected.data);
}

int main(void)
{
    start();
    err e = {{0}};
    if (product_open(&e)) {
        printf("%s\n", e.text);
        return 77;
    }
    printf("%s\n", product_library());
    test_linears();
    for (size_t t = 0; t < 2; t++) {
        test_padded(types[t], 65, 69, 24, 3);
        test_padded(types[t], 3, 131, 8, 5);
        test_exact(types[t], 70, 40);
        test_exact(types[t], 64, 129);
    }
    for (int turns = 0; turns < 4; turns++) {
        test_exact_batch(33, 1, 40, 16, turns & 1, turns >> 1);
        test_exact_batch(9, 17, 20, 70, turns & 1, turns >> 1);
    }
    test_as_bf16();
    test_matmuls();
    for (int i = 0; i < 8; i++) {
        test_strides(F32, F32, i == 7);
        test_strides(BF16, BF16, i == 7);
        test_strides(BF16, F32, i == 7);
    }
    product_count n = product_counts();
    printf("products by the library %lld, by our own kernels %lld\n", (long long)n.library, (long long)n.own);
    int rc = finish();
    product_close();
    return rc;
}
