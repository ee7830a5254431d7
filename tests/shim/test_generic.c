/* test_generic.c - elementwise operations, sums and softmax of the CUDA backend against the CPU's. */
#include "shim_test.h"

/* Checks one call, which owns and frees the views. */
static void check(const char *what, op o, kernel cpu, kernel gpu, attr a, int n_in, const view *in, view out,
                  double tolerance)
{
    call k = {.op = o, .n_in = n_in, .n_out = 1, .a = a, .training = true, .seed = 0x123456789abcdefULL, .step = 77};
    for (int i = 0; i < n_in; i++) k.in[i] = in[i];
    k.out[0] = out;
    check_call(what, cpu, gpu, &k, tolerance);
    release_views(&k);
}

/* ---- elementwise ---- */

static const struct {
    const char *name;
    op o;
    kernel cpu, gpu;
} binary[] = {{"ADD", OP_ADD, cpu_ADD, cuda_ADD},
              {"SUB", OP_SUB, cpu_SUB, cuda_SUB},
              {"MUL", OP_MUL, cpu_MUL, cuda_MUL},
              {"DIV", OP_DIV, cpu_DIV, cuda_DIV},
              {"MINIMUM", OP_MINIMUM, cpu_MINIMUM, cuda_MINIMUM},
              {"LESS_THAN", OP_LESS_THAN, cpu_LESS_THAN, cuda_LESS_THAN}};

static view tensor_of(dtype t, const int64_t d[4]) { return tensor(t, d[0], d[1], d[2], d[3]); }

/* Axes of a and b have length 1 where `ones` has a bit: bits 0 to 3 for a, 4 to 7 for b. */
static void check_binary(int i, dtype t, const int64_t d[4], unsigned ones, bool in_place)
{
    int64_t da[4], db[4], dy[4];
    char what[128];
    for (int a = 0; a < 4; a++) {
        da[a] = ones >> a & 1 ? 1 : d[a], db[a] = ones >> (4 + a) & 1 ? 1 : d[a];
        dy[a] = da[a] > db[a] ? da[a] : db[a];
    }
    view a = randoms(tensor_of(t, da)), b = randoms(tensor_of(t, db));
    if (binary[i].o == OP_DIV)
        for (int64_t j = 0; j < size_of(&b); j++) set(&b, j, get(&b, j) + (get(&b, j) < 0 ? -1 : 1));
    if (binary[i].o == OP_MINIMUM || binary[i].o == OP_LESS_THAN) /* makes some elements equal */
        for (int64_t j = 0; j < size_of(&a) && j < size_of(&b); j += 3) set(&a, j, get(&b, j));
    snprintf(what, sizeof what, "%s %s [%d,%d,%d,%d] ones %02x%s", binary[i].name, dtype_name(t), (int)d[0], (int)d[1],
             (int)d[2], (int)d[3], ones, in_place ? " in place" : "");
    check(what, binary[i].o, binary[i].cpu, binary[i].gpu, (attr){0}, 2, (view[]){a, b},
          in_place ? a : tensor_of(t, dy), 1e-7);
}

static void check_where(const int64_t d[4], unsigned ones)
{
    view in[3];
    char what[96];
    for (int k = 0; k < 3; k++) {
        int64_t axes[4];
        for (int a = 0; a < 4; a++) axes[a] = ones >> (4 * k + a) & 1 ? 1 : d[a];
        in[k] = randoms(tensor_of(F32, axes));
        for (int64_t j = 0; j < size_of(&in[k]); j++)
            if (k == 0) set(&in[k], j, get(&in[k], j) > 0);
    }
    snprintf(what, sizeof what, "WHERE [%d,%d,%d,%d] ones %03x", (int)d[0], (int)d[1], (int)d[2], (int)d[3], ones);
    check(what, OP_WHERE, cpu_WHERE, cuda_WHERE, (attr){0}, 3, in, tensor_of(F32, d), 0);
}

static void test_where(void)
{
    for (unsigned ones = 0; ones < 4096; ones += 17)
        if (!(ones & ones >> 4 & ones >> 8)) check_where((int64_t[4]){2, 3, 3, 8}, ones);
    check_where((int64_t[4]){1, 1, 37, 53}, 0);
}

static void test_binary(void)
{
    for (int i = 0; i < 6; i++) {
        for (unsigned ones = 0; ones < 256; ones += i ? 17 : 1) {
            check_binary(i, F32, (int64_t[4]){2, 3, 3, 8}, ones, false);
            check_binary(i, F32, (int64_t[4]){3, 2, 2, 5}, ones, false);
        }
        check_binary(i, F32, (int64_t[4]){1, 1, 1, 1}, 0, false);
        check_binary(i, F32, (int64_t[4]){1, 1, 37, 53}, 0, false);
        check_binary(i, F32, (int64_t[4]){1, 3, 1000, 7}, 0x40, false);
        check_binary(i, F32, (int64_t[4]){1, 1, 1000, 16}, 0x80, false);
        check_binary(i, F32, (int64_t[4]){1, 1, 1, 8195}, 0xf0, false);
        check_binary(i, F32, (int64_t[4]){1, 2, 0, 8}, 0, false);
    }
    for (int i = 0; i < 3; i++)
        check_binary(i, F32, (int64_t[4]){1, 2, 31, 9}, 0, true),
            check_binary(i, F32, (int64_t[4]){1, 2, 5, 64}, 0xe0, true);
    for (unsigned ones = 0; ones < 256; ones += 15) check_binary(0, BF16, (int64_t[4]){2, 2, 3, 16}, ones, false);
    check_binary(0, BF16, (int64_t[4]){1, 1, 31, 77}, 0, false);
    check_binary(0, BF16, (int64_t[4]){1, 1, 31, 77}, 0, true);
    check_binary(0, BF16, (int64_t[4]){1, 1, 31, 77}, 0x70, false);
    /* more elements than one launch has threads */
    check_binary(0, F32, (int64_t[4]){1, 1, 1, 270001}, 0, false);
    check_binary(0, F32, (int64_t[4]){1, 1, 300, 301}, 0x40, false);
}

static void test_one_input(void)
{
    static const int64_t lengths[] = {1, 3, 4, 31, 1024, 2049};
    for (size_t i = 0; i < LENGTH(lengths); i++) {
        int64_t n = lengths[i];
        view x = randoms(tensor(F32, 1, 1, 2, n)), y = randoms(tensor(F32, 1, 1, 2, n));
        check("MUL_SCALAR", OP_MUL_SCALAR, cpu_MUL_SCALAR, cuda_MUL_SCALAR, (attr){.MUL_SCALAR = {.by = -1.7}}, 1, &x,
              tensor(F32, 1, 1, 2, n), 1e-7);
        check("ADD_SCALAR in place", OP_ADD_SCALAR, cpu_ADD_SCALAR, cuda_ADD_SCALAR, (attr){.MUL_SCALAR = {.by = 0.3}},
              1, &y, y, 1e-7);
    }
    for (int f = AB_EXP; f <= AB_FLOOR; f++)
        for (size_t i = 0; i < LENGTH(lengths); i++) {
            int64_t n = lengths[i];
            bool positive = f == AB_LOG || f == AB_SQRT || f == AB_RECIP;
            char what[64];
            snprintf(what, sizeof what, "MAP %d, %d numbers", f, (int)n);
            double most = f == AB_TANH || f == AB_SIGMOID ? 3 : 8; /* for large inputs their gradients cancel */
            view x = randoms_in(tensor(F32, 1, 1, 1, n), positive ? 0.1 : -most, most);
            if (n > 2 && !positive) set(&x, 0, 0), set(&x, 1, -0.0);
            view x2 = tensor(F32, 1, 1, 1, n), y = tensor(F32, 1, 1, 1, n), dy = randoms(tensor(F32, 1, 1, 1, n));
            memcpy(x2.data, x.data, bytes_of_view(&x));
            call k = {.op = OP_MAP, .n_in = 1, .n_out = 1, .in = {x}, .out = {y}, .a = (attr){.MAP = {.function = f}}};
            err e = {{0}};
            cpu_MAP(&k, &e);
            check(what, OP_MAP, cpu_MAP, cuda_MAP, (attr){.MAP = {.function = f}}, 1, &x,
                  i % 2 ? x : tensor(F32, 1, 1, 1, n), 1e-6);
            snprintf(what, sizeof what, "MAP_BACK %d, %d numbers", f, (int)n);
            check(what, OP_MAP_BACK, cpu_MAP_BACK, cuda_MAP_BACK, (attr){.MAP = {.function = f}}, 3,
                  (view[]){x2, y, dy}, tensor(F32, 1, 1, 1, n), 4e-6);
        }
}

static void test_relu_back(void)
{
    static const int64_t widths[] = {1, 7, 8, 33, 512};
    for (size_t i = 0; i < LENGTH(widths); i++)
        for (int t = F32; t <= BF16; t += BF16) {
            view y = randoms(tensor((dtype)t, 1, 1, 5, widths[i])), dy = randoms(tensor((dtype)t, 1, 1, 5, widths[i]));
            set(&y, 0, 0);
            check("RELU_BACK", OP_RELU_BACK, cpu_RELU_BACK, cuda_RELU_BACK, (attr){0}, 2, (view[]){y, dy},
                  tensor((dtype)t, 1, 1, 5, widths[i]), 0);
        }
    view y = randoms(tensor(BF16, 1, 1, 0, 8)), dy = tensor(BF16, 1, 1, 0, 8);
    check("RELU_BACK of no rows", OP_RELU_BACK, cpu_RELU_BACK, cuda_RELU_BACK, (attr){0}, 2, (view[]){y, dy},
          tensor(BF16, 1, 1, 0, 8), 0);
}

static void test_copies(void)
{
    static const dtype pairs[][2] = {{F32, F32}, {F32, BF16}, {BF16, F32}, {BF16, BF16}, {I32, I32}};
    static const int64_t lengths[] = {0, 1, 7, 8, 9, 1000, 4099};
    for (size_t p = 0; p < LENGTH(pairs); p++)
        for (size_t i = 0; i < LENGTH(lengths); i++) {
            int64_t n = lengths[i];
            char what[64];
            snprintf(what, sizeof what, "CAST %s to %s, %d numbers", dtype_name(pairs[p][0]), dtype_name(pairs[p][1]),
                     (int)n);
            view x = pairs[p][0] == I32 ? ids_below(tensor(I32, 1, 1, 1, n), 1000)
                                        : randoms(tensor(pairs[p][0], 1, 1, 1, n));
            check(what, OP_CAST, cpu_CAST, cuda_CAST, (attr){0}, 1, &x, tensor(pairs[p][1], 1, 1, 1, n), 0);
            view to = tensor(pairs[p][1], 1, 1, 1, n), value = tensor(pairs[p][0], 1, 1, 1, n);
            if (pairs[p][0] == I32)
                ids_below(value, 99);
            else
                randoms(value);
            bool state = i % 2;
            check(state ? "STATE_WRITE" : "ASSIGN", state ? OP_STATE_WRITE : OP_ASSIGN,
                  state ? cpu_STATE_WRITE : cpu_ASSIGN, state ? cuda_STATE_WRITE : cuda_ASSIGN, (attr){0}, 2,
                  (view[]){to, value}, to, 0);
        }
}

static void test_dropout(void)
{
    static const int64_t lengths[] = {1, 7, 8, 17, 100, 4096 + 5};
    for (size_t i = 0; i < LENGTH(lengths); i++)
        for (int t = F32; t <= BF16; t += BF16)
            for (int in_place = 0; in_place < 2; in_place++) {
                view x = randoms(tensor((dtype)t, 1, 1, 1, lengths[i]));
                check("DROPOUT", OP_DROPOUT, cpu_DROPOUT, cuda_DROPOUT,
                      (attr){.DROPOUT = {.p = i % 2 ? 0.1 : 0.37, .place = 3 + (int64_t)i}}, 1, &x,
                      in_place ? x : tensor((dtype)t, 1, 1, 1, lengths[i]), 1e-7);
            }
    view x = randoms(tensor(F32, 1, 1, 3, 5)), y = randoms(tensor(BF16, 1, 1, 3, 5)),
         z = randoms(tensor(BF16, 1, 1, 3, 180001));
    check("long DROPOUT", OP_DROPOUT, cpu_DROPOUT, cuda_DROPOUT, (attr){.DROPOUT = {.p = 0.5, .place = 9}}, 1, &z,
          tensor(BF16, 1, 1, 3, 180001), 0);
    view w = randoms(tensor(F32, 1, 1, 3, 5));
    check("DROPOUT of less than one in 65536", OP_DROPOUT, cpu_DROPOUT, cuda_DROPOUT,
          (attr){.DROPOUT = {.p = 1e-5, .place = 9}}, 1, &w, tensor(F32, 1, 1, 3, 5), 0);
    check("DROPOUT 0", OP_DROPOUT, cpu_DROPOUT, cuda_DROPOUT, (attr){.DROPOUT = {.p = 0, .place = 3}}, 1, &x,
          tensor(F32, 1, 1, 3, 5), 0);
    check("DROPOUT 0 in place", OP_DROPOUT, cpu_DROPOUT, cuda_DROPOUT, (attr){.DROPOUT = {.p = 0, .place = 3}}, 1, &y,
          y, 0);
}

/* Inputs that do not begin at multiples of 16 bytes; sanitizers find kernels that read 16 bytes at once there. */
static void test_unaligned(void)
{
    enum { N = 40 };
    view x = randoms(tensor(F32, 1, 1, 1, N + 1)), y = tensor(F32, 1, 1, 1, N), z = tensor(F32, 1, 1, 1, N),
         v = {.dim = {1, 1, 1, N}, .type = F32};
    float *g = gpu_copy_of(x.data, bytes_of_view(&x)), *h = gpu_alloc(N * 4);
    for (int f = 0; f < 3; f++) {
        static const op what[] = {OP_ADD, OP_MUL_SCALAR, OP_MAP};
        call k = {.op = what[f], .n_in = f ? 1 : 2, .n_out = 1, .in = {v, v}, .out = {v}};
        if (k.op == OP_MUL_SCALAR) k.a.MUL_SCALAR.by = 1.5;
        if (k.op == OP_MAP) k.a.MAP.function = AB_TANH;
        kernel cpu = f == 0   ? cpu_ADD
                     : f == 1 ? cpu_MUL_SCALAR
                              : cpu_MAP,
               gpu = f == 0   ? cuda_ADD
                     : f == 1 ? cuda_MUL_SCALAR
                              : cuda_MAP;
        err e = {{0}};
        k.in[0].data = (float *)x.data + 1, k.in[1].data = x.data, k.out[0].data = y.data;
        CHECK_THAT(!cpu(&k, &e), "CPU: %s", e.text);
        k.in[0].data = g + 1, k.in[1].data = g, k.out[0].data = h;
        CHECK_THAT(!gpu(&k, &e), "GPU: %s", e.text);
        gpu_copy_out(z.data, h, N * 4);
        check_views("an unaligned input", &z, &y, 1e-6);
    }
    gpu_release(g), gpu_release(h);
    free(x.data), free(y.data), free(z.data);
}

/* ---- sums ---- */

static void check_sums(const int64_t d[4], unsigned ones)
{
    int64_t dy[4];
    char what[128];
    for (int a = 0; a < 4; a++) dy[a] = ones >> a & 1 ? 1 : d[a];
    snprintf(what, sizeof what, "SUM_TO [%d,%d,%d,%d] ones %x", (int)d[0], (int)d[1], (int)d[2], (int)d[3], ones);
    /* x is positive, so that nothing cancels */
    view x = randoms_in(tensor_of(F32, d), 0.1, 1), y = randoms(tensor_of(F32, dy));
    check(what, OP_SUM_TO, cpu_SUM_TO, cuda_SUM_TO, (attr){0}, 1, &x, tensor_of(F32, dy), 2e-6);
    snprintf(what, sizeof what, "BROADCAST_TO [%d,%d,%d,%d] ones %x", (int)d[0], (int)d[1], (int)d[2], (int)d[3], ones);
    check(what, OP_BROADCAST_TO, cpu_BROADCAST_TO, cuda_BROADCAST_TO, (attr){0}, 1, &y, tensor_of(F32, d), 0);
}

static void test_exact_sums(int64_t among, int64_t summed, int64_t kept)
{
    char what[128];
    snprintf(what, sizeof what, "exact SUM_TO of %lld x %lld among %lld", (long long)summed, (long long)kept,
             (long long)among);
    call k = {.op = OP_SUM_TO, .n_in = 1, .n_out = 1};
    k.in[0] = randoms(tensor(F32, among, 1, summed, kept)), k.out[0] = tensor(F32, among, 1, 1, kept);
    check_alone(what, cuda_SUM_TO, &k);
    release_views(&k);
    snprintf(what, sizeof what, "exact SUM_TO of the last axis, %lld, among %lld", (long long)summed, (long long)among);
    k.in[0] = randoms(tensor(F32, among, 1, 1, summed)), k.out[0] = tensor(F32, among, 1, 1, 1);
    check_alone(what, cuda_SUM_TO, &k);
    release_views(&k);
}

static void test_sums(void)
{
    test_exact_sums(40, 600, 12);
    test_exact_sums(300, 1200, 5);
    test_exact_sums(30, 3000, 40);
    static const int64_t shapes[][4] = {{2, 3, 4, 5}, {3, 1, 7, 33}, {2, 2, 9, 64}, {2, 4, 5, 17}, {1, 2, 70, 3}};
    for (size_t i = 0; i < LENGTH(shapes); i++)
        for (unsigned ones = 0; ones < 16; ones++) check_sums(shapes[i], ones);
    static const struct {
        int64_t dim[4];
        unsigned ones;
    } long_ones[] = {{{1, 1, 1, 9000}, 8},  {{1, 1, 2, 12289}, 8}, {{1, 1, 300, 40}, 4},
                     {{1, 2, 1200, 3}, 5},  {{1, 2, 700, 1}, 4},   {{5, 1, 1, 300}, 9},
                     {{1, 1, 1, 70000}, 8}, {{1, 1, 700, 33}, 4},  {{2, 1, 300, 12}, 13}};
    for (size_t i = 0; i < LENGTH(long_ones); i++) check_sums(long_ones[i].dim, long_ones[i].ones);
    check_sums((int64_t[4]){1, 1, 0, 8}, 4);
}

/* ---- softmax ---- */

static void check_softmax(int64_t rows, int64_t n, bool in_place)
{
    char what[64];
    view x = randoms_in(tensor(F32, 1, 1, rows, n), -6, 6);
    for (int64_t r = 0; r < rows; r++) /* some rows see no key, some few */
        for (int64_t j = 0; j < n; j++)
            if (r % 4 == 1 || (r % 4 == 2 && rng_below(&dice, 3)) || (r % 4 == 3 && j > n / 2))
                set(&x, r * n + j, -INFINITY);
    view y = tensor(F32, 1, 1, rows, n), dy = randoms(tensor(F32, 1, 1, rows, n));
    call k = {.op = OP_SOFTMAX, .n_in = 1, .n_out = 1, .in = {x}, .out = {y}};
    err e = {{0}};
    cpu_SOFTMAX(&k, &e);
    snprintf(what, sizeof what, "SOFTMAX [%d,%d]", (int)rows, (int)n);
    check(what, OP_SOFTMAX, cpu_SOFTMAX, cuda_SOFTMAX, (attr){0}, 1, &x, in_place ? x : tensor(F32, 1, 1, rows, n),
          2e-6);
    snprintf(what, sizeof what, "SOFTMAX_BACK [%d,%d]", (int)rows, (int)n);
    check(what, OP_SOFTMAX_BACK, cpu_SOFTMAX_BACK, cuda_SOFTMAX_BACK, (attr){0}, 2, (view[]){y, dy},
          tensor(F32, 1, 1, rows, n), 2e-6);
}

static void test_softmax(void)
{
    static const int64_t widths[] = {1,   2,   28,  31,  33,  64,  65,   127,  129,  132,
                                     256, 257, 260, 512, 513, 516, 1023, 1024, 1025, 2500};
    for (size_t i = 0; i < LENGTH(widths); i++)
        check_softmax(i % 4 ? 5 : 9, widths[i], i % 2), check_softmax(1, widths[i], false);
    check_softmax(0, 8, false);
}

/* Sentences of a padded batch may be empty: their queries see no key, and all weights are 0. */
static void test_nothing_seen(void)
{
    view s = randoms(tensor(F32, 3, 2, 4, 5)), q = ids_of(4, (int32_t[]){0, 1, 2, 3}),
         k = ids_of(5, (int32_t[]){0, 1, 2, 3, 4});
    view len = ids_of(3, (int32_t[]){0, 5, 2}), seen = tensor(F32, 3, 2, 4, 5), y = tensor(F32, 3, 2, 4, 5),
         dy = randoms(tensor(F32, 3, 2, 4, 5));
    view dx = tensor(F32, 3, 2, 4, 5);
    void *g_seen = gpu_alloc(bytes_of_view(&seen)), *g_y = gpu_alloc(bytes_of_view(&y)),
         *g_dx = gpu_alloc(bytes_of_view(&y));
    void *g_s = gpu_copy_of(s.data, bytes_of_view(&s)), *g_dy = gpu_copy_of(dy.data, bytes_of_view(&dy)),
         *g_q = gpu_copy_of(q.data, 16);
    void *g_k = gpu_copy_of(k.data, 20), *g_len = gpu_copy_of(len.data, 12);
    err e = {{0}};
    call mask = {.op = OP_MASK, .n_in = 4, .n_out = 1, .in = {s, q, k, len}, .out = {seen}};
    call soft = {.op = OP_SOFTMAX, .n_in = 1, .n_out = 1, .in = {seen}, .out = {y}};
    call back = {.op = OP_SOFTMAX_BACK, .n_in = 2, .n_out = 1, .in = {y, dy}, .out = {dx}};
    for (int device = 0; device < 2; device++) {
        if (device) {
            mask.in[0].data = g_s, mask.in[1].data = g_q, mask.in[2].data = g_k, mask.in[3].data = g_len,
            mask.out[0].data = g_seen;
            soft.in[0].data = g_seen, soft.out[0].data = g_y, back.in[0].data = g_y, back.in[1].data = g_dy,
            back.out[0].data = g_dx;
            CHECK_THAT(!cuda_MASK(&mask, &e) && !cuda_SOFTMAX(&soft, &e) && !cuda_SOFTMAX_BACK(&back, &e), "GPU: %s",
                       e.text);
            gpu_copy_out(y.data, g_y, bytes_of_view(&y));
            gpu_copy_out(dx.data, g_dx, bytes_of_view(&dx));
        } else {
            CHECK_THAT(!cpu_MASK(&mask, &e) && !cpu_SOFTMAX(&soft, &e) && !cpu_SOFTMAX_BACK(&back, &e), "CPU: %s",
                       e.text);
        }
        for (int64_t i = 0; i < 40; i++) {
            CHECK_THAT(get(&y, i) == 0, "%s: weight %d of a query that sees nothing: found %g, expected 0",
                       device ? "GPU" : "CPU", (int)i, get(&y, i));
            CHECK_THAT(get(&dx, i) == 0, "%s: gradient %d there: found %g, expected 0", device ? "GPU" : "CPU", (int)i,
                       get(&dx, i));
        }
        for (int64_t r = 8; r < 24; r++) {
            double sum = 0;
            for (int64_t j = 0; j < 5; j++) sum += get(&y, r * 5 + j);
            CHECK_THAT(fabs(sum - 1) < 1e-6, "%s: the weights of row %d sum to %.9g, expected 1",
                       device ? "GPU" : "CPU", (int)r, sum);
        }
    }
    release_views(&(call){.n_in = 8, .in = {s, q, k, len, seen, y, dy, dx}});
    void *all[] = {g_seen, g_y, g_dx, g_s, g_dy, g_q, g_k, g_len};
    for (size_t i = 0; i < LENGTH(all); i++) gpu_release(all[i]);
}

/* ---- refused calls ---- */

static int declines(const ab_run *r)
{
    (void)r;
    return -1;
}
static int doubles(const ab_run *r) /* out = 2 in, as a copy and a sum */
{
    (void)r;
    gpu_copy(r->out.data, r->in[0].data, (size_t)r->out.dim[3] * 4);
    return r->out.dtype == F32 && r->attr && r->stream == gpu_stream() ? 0 : -1;
}

static void test_words(void)
{
    view x = tensor(F64, 1, 1, 1, 4), y = tensor(F32, 1, 1, 1, 4), id = ids_below(tensor(I32, 1, 1, 1, 4), 4);
    call k = {.op = OP_ADD, .n_in = 2, .n_out = 1, .in = {x, y}, .out = {y}};
    err e = {{0}};
    CHECK_REFUSED(cuda_ADD(&k, &e), &e, "no kernel from fp64, fp32 to fp32");
    k.in[0] = id, e.text[0] = 0;
    CHECK_REFUSED(cuda_MUL(&k, &e), &e, "no kernel from int32, fp32 to fp32");
    k = (call){.op = OP_MAP, .n_in = 1, .n_out = 1, .in = {y}, .out = {y}, .a = (attr){.MAP = {.function = 99}}},
    e.text[0] = 0;
    CHECK_REFUSED(cuda_MAP(&k, &e), &e, "unknown function number 99");
    k = (call){.op = OP_CAST, .n_in = 1, .n_out = 1, .in = {x}, .out = {y}}, e.text[0] = 0;
    CHECK_REFUSED(cuda_CAST(&k, &e), &e, "no copy from fp64 to fp32");
    ab_op none = {.name = "mine"}, refuses = {.name = "mine", .cuda = declines},
          works = {.name = "mine", .cuda = doubles};
    k = (call){.op = OP_CALL, .n_in = 1, .n_out = 1, .in = {y}, .out = {y}, .call = &none}, e.text[0] = 0;
    CHECK_REFUSED(cuda_CALL(&k, &e), &e, "operation 'mine' has no CUDA kernel");
    k.call = &refuses, e.text[0] = 0;
    CHECK_REFUSED(cuda_CALL(&k, &e), &e, "the CUDA kernel of 'mine' declines fp32");
    float in[4] = {1, 2, 3, 4}, out[4];
    void *g = gpu_copy_of(in, sizeof in), *h = gpu_alloc(sizeof in);
    k.call = &works, k.call_attr = in, k.in[0].data = g, k.out[0].data = h;
    CHECK_THAT(!cuda_CALL(&k, &e), "a plugin's kernel: %s", e.text);
    gpu_copy_out(out, h, sizeof out);
    CHECK_THAT(out[3] == 4, "a plugin's kernel: found %g, expected 4", out[3]);
    gpu_release(g), gpu_release(h);
    free(x.data), free(y.data), free(id.data);
}

int main(void)
{
    start();
    test_binary();
    test_where();
    test_one_input();
    test_relu_back();
    test_copies();
    test_dropout();
    test_unaligned();
    test_sums();
    test_softmax();
    test_nothing_seen();
    test_words();
    return finish();
}
