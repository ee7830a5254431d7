/* test_generic.c - elementwise operations, sums, softmax and products of the CPU against naive loops in
 * double. */
#include "tensors.h"

/* ---- elementwise ---- */

static double binary(op o, double a, double b)
{
    switch (o) {
    case OP_ADD: return a + b;
    case OP_SUB: return a - b;
    case OP_MUL: return a * b;
    case OP_DIV: return a / b;
    case OP_MINIMUM: return b < a ? b : a;
    default: return a < b;
    }
}

/* y = x0 o x1. Axes have length 1 where `ones` has a bit: bits 0 to 3 for x0, 4 to 7 for x1. */
static void check_binary(kernel f, op o, dtype ta, dtype tb, dtype ty, const int64_t d[4], unsigned ones, bool in_place)
{
    int64_t da[4], db[4];
    for (int i = 0; i < 4; i++) {
        da[i] = ones >> i & 1 ? 1 : d[i];
        db[i] = ones >> (4 + i) & 1 ? 1 : d[i];
    }
    view x0 = randoms(tensor(ta, da[0], da[1], da[2], da[3])), x1 = randoms(tensor(tb, db[0], db[1], db[2], db[3]));
    if (o == OP_DIV)
        for (int64_t i = 0; i < size_of(&x1); i++) set(&x1, i, get(&x1, i) + (get(&x1, i) < 0 ? -1 : 1));
    view y = tensor(ty, da[0] > db[0] ? da[0] : db[0], da[1] > db[1] ? da[1] : db[1], da[2] > db[2] ? da[2] : db[2],
                    da[3] > db[3] ? da[3] : db[3]);
    double *expected = xmalloc((size_t)size_of(&y) * sizeof *expected);
    EACH(y) expected[place(&y, a, b, d, e)] = binary(o, at(&x0, a, b, d, e), at(&x1, a, b, d, e));
    view out = in_place ? x0 : y;
    CHECK_INT(run_op(f, o, NULL, 2, (view[]){x0, x1}, &out), 0);
    compare(o, &out, expected, allowed(ty, 2e-7), in_place ? "in place" : "broadcast");
    free(expected);
    RELEASE(x0, x1, y);
}

static void test_binary(void)
{
    static const struct {
        kernel f;
        op o;
    } ops[] = {{cpu_ADD, OP_ADD}, {cpu_SUB, OP_SUB},         {cpu_MUL, OP_MUL},
               {cpu_DIV, OP_DIV}, {cpu_MINIMUM, OP_MINIMUM}, {cpu_LESS_THAN, OP_LESS_THAN}};
    for (size_t i = 0; i < LENGTH(ops); i++)
        for (int t = F32; t <= F64; t++) {
            for (unsigned ones = 0; ones < 256; ones++)
                check_binary(ops[i].f, ops[i].o, t, t, t,
                             (int64_t[4]){2, 3, 1 + (int64_t)rng_below(&dice, 4), length()}, ones, false);
            for (int n = 0; n < 20; n++)
                check_binary(ops[i].f, ops[i].o, t, t, t, (int64_t[4]){length(), 1, length(), length()}, 0,
                             ops[i].o <= OP_MUL);
            /* usual patterns, on tensors large enough for all threads */
            static const unsigned usual[] = {0x00, 0x70, 0x80, 0xf0, 0x0f, 0x07, 0x40, 0x30};
            for (size_t n = 0; n < LENGTH(usual); n++)
                check_binary(ops[i].f, ops[i].o, t, t, t, (int64_t[4]){4, 8, 37, 41}, usual[n], false);
            check_binary(ops[i].f, ops[i].o, t, t, t, (int64_t[4]){3, 5, 67, 71}, 0xe0, ops[i].o <= OP_MUL);
        }
    static const dtype mixed[][3] = {{BF16, BF16, BF16}, {BF16, F32, F32}, {F32, BF16, F32},
                                     {F32, BF16, BF16},  {F64, F32, F64},  {BF16, F64, F64}};
    for (size_t i = 0; i < 3; i++)
        for (size_t m = 0; m < LENGTH(mixed); m++)
            for (unsigned ones = 0; ones < 256; ones += 5)
                check_binary(ops[i].f, ops[i].o, mixed[m][0], mixed[m][1], mixed[m][2],
                             (int64_t[4]){2, 3, length(), 300}, ones, m == 0 && !ones);
    view x = tensor(F32, 1, 1, 1, 4), id = tensor(I32, 1, 1, 1, 4);
    CHECK_INT(RUN(ADD, NULL, &x, x, id), -1);
    CHECK_HAS(call_error.text, "no kernel from");
    RELEASE(x, id);
}

static double function(int f, double x)
{
    switch (f) {
    case AB_EXP: return exp(x);
    case AB_LOG: return log(x);
    case AB_TANH: return tanh(x);
    case AB_SIGMOID: return 1 / (1 + exp(-x));
    case AB_RELU: return x > 0 ? x : 0;
    case AB_SQRT: return sqrt(x);
    case AB_SQUARE: return x * x;
    case AB_ABS: return fabs(x);
    case AB_SIGN: return (x > 0) - (x < 0);
    case AB_COS: return cos(x);
    case AB_SIN: return sin(x);
    case AB_ELU1: return x > 0 ? x + 1 : exp(x);
    case AB_SILU: return x / (1 + exp(-x));
    case AB_ERF: return erf(x);
    case AB_FLOOR: return floor(x);
    default: return 1 / x;
    }
}
static double slope(int f, double x)
{
    double h = 1e-5;
    return f == AB_SIGN || f == AB_FLOOR ? 0 : (function(f, x + h) - function(f, x - h)) / (2 * h);
}

/* Sines and cosines of numbers of every size, in place too; a large number in a row changes no bit of its
 * neighbours. */
static void test_far(void)
{
    enum { MANY = 777 };
    for (int f = AB_COS; f <= AB_SIN; f++) {
        view x = tensor(F32, 1, 1, 1, MANY), y = like(F32, &x), dy = randoms(like(F32, &x)), dx = like(F32, &x),
             near = like(F32, &x), near_y = like(F32, &x);
        for (int i = 0; i < MANY; i++) {
            double v = (rng_uniform(&dice) - 0.5) * pow(2, 40 * rng_uniform(&dice) - 10 + (i % 5 ? 0 : 80));
            set(&x, i, v), set(&near, i, fabs(get(&x, i)) < 1e6 ? get(&x, i) : 0);
        }
        attr a = {.MAP = {.function = f}};
        CHECK_INT(RUN(MAP, &a, &y, x), 0);
        CHECK_INT(RUN(MAP, &a, &near_y, near), 0);
        CHECK_INT(RUN(MAP_BACK, &a, &dx, x, y, dy), 0);
        int kept = 0;
        for (int i = 0; i < MANY; i++) {
            CHECK_NEAR(get(&y, i), function(f, get(&x, i)), 6e-8);
            CHECK_NEAR(get(&dx, i), (f == AB_SIN ? cos(get(&x, i)) : -sin(get(&x, i))) * get(&dy, i), 3e-7);
            kept += get(&near, i) != 0 && get(&near_y, i) == get(&y, i);
        }
        CHECK(kept > MANY / 3);
        for (int i = 0; i < MANY; i++) CHECK(get(&near, i) == 0 || get(&near_y, i) == get(&y, i));
        CHECK_INT(RUN(MAP, &a, &x, x), 0);
        CHECK(same_bits(&x, &y));
        set(&x, 0, INFINITY), set(&x, 1, NAN);
        CHECK_INT(RUN(MAP, &a, &y, x), 0);
        CHECK(isnan(get(&y, 0)) && isnan(get(&y, 1)));
        RELEASE(x, y, dy, dx, near, near_y);
    }
}

static void test_map(void)
{
    for (int f = AB_EXP; f <= AB_FLOOR; f++)
        for (int t = F32; t <= F64; t++)
            for (int n = 0; n < 12; n++) {
                view x = n < 11 ? randoms(any_tensor(t)) : randoms(tensor(t, 2, 3, 77, 81)), y = like(t, &x),
                     dy = randoms(like(t, &x)), dx = like(t, &x);
                double *expected = xmalloc((size_t)size_of(&x) * sizeof *expected);
                for (int64_t i = 0; i < size_of(&x); i++) {
                    double v = get(&x, i); /* away from the function's kinks and poles, or on one side of each */
                    if (f == AB_LOG || f == AB_SQRT) set(&x, i, fabs(v) + 0.1);
                    if (f == AB_RECIP || f == AB_RELU || f == AB_ABS || f == AB_ELU1)
                        set(&x, i, v + (v < 0 ? -0.2 : 0.2));
                }
                for (int64_t i = 0; i < size_of(&x); i++) expected[i] = function(f, get(&x, i));
                attr a = {.MAP = {.function = f}};
                CHECK_INT(RUN(MAP, &a, &y, x), 0);
                compare(OP_MAP, &y, expected, allowed(t, 5e-7), "");
                for (int64_t i = 0; i < size_of(&x); i++) expected[i] = slope(f, get(&x, i)) * get(&dy, i);
                CHECK_INT(RUN(MAP_BACK, &a, &dx, x, y, dy), 0);
                compare(OP_MAP_BACK, &dx, expected, t == F64 ? 1e-7 : 2e-5, "");
                CHECK_INT(RUN(MAP, &a, &x, x), 0);
                CHECK(same_bits(&x, &y));
                free(expected);
                RELEASE(x, y, dy, dx);
            }
    view x = tensor(F32, 1, 1, 1, 3), y = like(F32, &x);
    for (int i = 0; i < 3; i++) set(&x, i, (double[]){-INFINITY, INFINITY, NAN}[i]);
    CHECK_INT(RUN(MAP, &(attr){.MAP = {.function = AB_EXP}}, &y, x), 0);
    CHECK(get(&y, 0) == 0 && get(&y, 1) == INFINITY && isnan(get(&y, 2)));
    static const double far[][2] = {{0, 0.5}, {-0.0, 0.5}, {1e-45, 0.5}, {-1e-38, 0.5}, {200, 1}, {-200, 0}};
    for (size_t i = 0; i < LENGTH(far); i++) { /* SiLU's slope contains a quotient, which must not overflow */
        view u = tensor(F32, 1, 1, 1, 1), v = like(F32, &u), one = like(F32, &u), slope_of = like(F32, &u);
        set(&u, 0, far[i][0]), set(&one, 0, 1);
        attr silu = {.MAP = {.function = AB_SILU}};
        CHECK_INT(RUN(MAP, &silu, &v, u), 0);
        CHECK_INT(RUN(MAP_BACK, &silu, &slope_of, u, v, one), 0);
        CHECK_NEAR(get(&slope_of, 0), far[i][1], 1e-7);
        RELEASE(u, v, one, slope_of);
    }
    test_far();
    CHECK_INT(RUN(MAP, &(attr){.MAP = {.function = 99}}, &y, x), -1);
    CHECK_HAS(call_error.text, "99");
    RELEASE(x, y);
}

static void test_one_input(void)
{
    for (int t = F32; t <= BF16; t++)
        for (int n = 0; n < 20; n++) {
            view x = n ? randoms(any_tensor(t)) : randoms(tensor(t, 3, 5, 61, 67)), y = like(t, &x);
            double *expected = xmalloc((size_t)size_of(&x) * sizeof *expected);
            for (int64_t i = 0; i < size_of(&x); i++) expected[i] = 0.3f * get(&x, i);
            CHECK_INT(RUN(MUL_SCALAR, &(attr){.MUL_SCALAR = {.by = 0.3f}}, &y, x), 0);
            compare(OP_MUL_SCALAR, &y, expected, allowed(t, 1e-7), "");
            CHECK_INT(RUN(MUL_SCALAR, &(attr){.MUL_SCALAR = {.by = 0.3f}}, &x, x), 0);
            CHECK(same_bits(&x, &y));
            for (int64_t i = 0; i < size_of(&x); i++) expected[i] = get(&x, i) - 1.25;
            CHECK_INT(RUN(ADD_SCALAR, &(attr){.MUL_SCALAR = {.by = -1.25}}, &x, x), 0);
            compare(OP_ADD_SCALAR, &x, expected, allowed(t, 2e-7), "in place");
            for (int to = F32; to <= BF16; to++) {
                view z = like(to, &x);
                for (int64_t i = 0; i < size_of(&x); i++) set(&z, i, get(&x, i)), expected[i] = get(&z, i);
                memset(z.data, 0xff, (size_t)size_of(&z) * dtype_size(to));
                CHECK_INT(RUN(CAST, NULL, &z, x), 0);
                compare(OP_CAST, &z, expected, 0, dtype_name((dtype)t));
                RELEASE(z);
            }
            free(expected);
            RELEASE(x, y);
        }
}

/* ---- sums ---- */

static void check_sums(dtype t, const int64_t d[4], unsigned ones)
{
    int64_t s[4];
    for (int i = 0; i < 4; i++) s[i] = ones >> i & 1 ? 1 : d[i];
    view x = randoms(tensor(t, d[0], d[1], d[2], d[3])), y = tensor(t, s[0], s[1], s[2], s[3]), z = like(t, &x),
         again = like(t, &y);
    double *expected = xcalloc((size_t)size_of(&x), sizeof *expected);
    EACH(x) expected[place(&y, a, b, d, e)] += at(&x, a, b, d, e);
    CHECK_INT(RUN(SUM_TO, NULL, &y, x), 0);
    compare(OP_SUM_TO, &y, expected, allowed(t, 2e-6 * sqrt((double)size_of(&x) / (double)size_of(&y))), "");
    int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    CHECK_INT(RUN(SUM_TO, NULL, &again, x), 0);
    omp_set_num_threads(threads);
    CHECK(same_bits(&again, &y));
    EACH(x) expected[place(&x, a, b, d, e)] = at(&y, a, b, d, e);
    CHECK_INT(RUN(BROADCAST_TO, NULL, &z, y), 0);
    compare(OP_BROADCAST_TO, &z, expected, 0, "");
    free(expected);
    RELEASE(x, y, z, again);
}

static void test_sums(void)
{
    for (int t = F32; t <= F64; t++)
        for (unsigned ones = 0; ones < 16; ones++) {
            for (int n = 0; n < 10; n++)
                check_sums(t,
                           (int64_t[4]){1 + (int64_t)rng_below(&dice, 3), 1 + (int64_t)rng_below(&dice, 4), length(),
                                        length()},
                           ones);
            check_sums(t, (int64_t[4]){5, 4, 301, 13}, ones);
            check_sums(t, (int64_t[4]){1, 3, 33, 1057}, ones);
        }
    check_sums(F32, (int64_t[4]){1, 1, 1, 300001}, 15);
    check_sums(F32, (int64_t[4]){1, 1, 3000, 65}, 7);
}

/* ---- softmax ---- */

static void check_softmax(dtype t, view x, bool hide)
{
    view y = like(t, &x), dy = randoms(like(t, &x)), dx = like(t, &x);
    int64_t n = x.dim[3], rows = size_of(&x) / n;
    double *p = xmalloc((size_t)size_of(&x) * sizeof *p), *g = xmalloc((size_t)size_of(&x) * sizeof *g);
    for (int64_t r = 0; r < rows; r++) {
        int64_t i = r * n, seen = hide ? (int64_t)rng_below(&dice, (uint64_t)n + 1) : n;
        double sum = 0, mean = 0, most = -INFINITY;
        for (int64_t j = seen; j < n; j++) set(&x, i + j, -INFINITY);
        for (int64_t j = 0; j < seen; j++) most = fmax(most, get(&x, i + j));
        for (int64_t j = 0; j < seen; j++) sum += exp(get(&x, i + j) - most);
        for (int64_t j = 0; j < n; j++) p[i + j] = j < seen ? exp(get(&x, i + j) - most) / sum : 0;
        for (int64_t j = 0; j < n; j++) mean += p[i + j] * get(&dy, i + j);
        for (int64_t j = 0; j < n; j++) g[i + j] = p[i + j] * (get(&dy, i + j) - mean);
    }
    CHECK_INT(RUN(SOFTMAX, NULL, &y, x), 0);
    compare(OP_SOFTMAX, &y, p, allowed(t, 1e-6), "");
    int seen_through = 0;
    for (int64_t i = 0; i < size_of(&x); i++) seen_through += p[i] == 0 && get(&y, i) != 0;
    CHECK_INT(seen_through, 0);
    CHECK_INT(RUN(SOFTMAX_BACK, NULL, &dx, y, dy), 0);
    compare(OP_SOFTMAX_BACK, &dx, g, allowed(t, 1e-6), "");
    CHECK_INT(RUN(SOFTMAX, NULL, &x, x), 0);
    CHECK(same_bits(&x, &y));
    free(p);
    free(g);
    RELEASE(x, y, dy, dx);
}

static void test_softmax(void)
{
    for (int t = F32; t <= F64; t++) {
        for (int n = 0; n < 40; n++) check_softmax(t, randoms(any_tensor(t)), n % 2);
        check_softmax(t, randoms(tensor(t, 4, 8, 31, 37)), true);
        check_softmax(t, randoms(tensor(t, 1, 1, 3, 5003)), true);
        for (int n = 0; n < 20; n++) { /* hidden keys at the end change no bit */
            int64_t seen = length(), wide = seen + length();
            view x = randoms(tensor(t, 1, 1, 4, seen)), w = tensor(t, 1, 1, 4, wide), y = like(t, &x), v = like(t, &w);
            EACH(w) set(&w, place(&w, a, b, d, e), e < seen ? at(&x, 0, 0, d, e + 0) : -INFINITY);
            if (seen == 1) EACH(w) set(&w, place(&w, a, b, d, e), e ? -INFINITY : get(&x, d));
            CHECK_INT(RUN(SOFTMAX, NULL, &y, x) | RUN(SOFTMAX, NULL, &v, w), 0);
            int differ = 0;
            EACH(y) differ += get(&y, d * seen + e) != get(&v, d * wide + e);
            CHECK_INT(differ, 0);
            RELEASE(x, w, y, v);
        }
    }
    for (int n = 1; n < 40; n++) { /* NaN stays NaN, even if all other numbers are hidden */
        view x = tensor(F32, 1, 1, 1, n), y = like(F32, &x);
        for (int i = 0; i < n; i++) set(&x, i, i == n / 2 ? NAN : -INFINITY);
        CHECK_INT(RUN(SOFTMAX, NULL, &y, x), 0);
        CHECK(isnan(get(&y, n / 2)));
        set(&x, 0, 1);
        set(&x, n / 2, NAN);
        CHECK_INT(RUN(SOFTMAX, NULL, &y, x), 0);
        CHECK(isnan(get(&y, n / 2)));
        RELEASE(x, y);
    }
}

/* ---- product ---- */

static view product_of(const view *x, const view *y, int tx, int ty)
{
    view z = tensor(x->type, x->dim[0] > y->dim[0] ? x->dim[0] : y->dim[0],
                    x->dim[1] > y->dim[1] ? x->dim[1] : y->dim[1], x->dim[tx ? 3 : 2], y->dim[ty ? 2 : 3]);
    attr turns = {.MATMUL = {.transpose_a = tx, .transpose_b = ty}};
    CHECK_INT(RUN(MATMUL, &turns, &z, *x, *y), 0);
    return z;
}

static void check_product(dtype t, int64_t m, int64_t n, int64_t k, int tx, int ty, unsigned ones)
{
    int64_t d[2] = {2, 3}, dx[2], dy[2];
    for (int i = 0; i < 2; i++) dx[i] = ones >> i & 1 ? 1 : d[i], dy[i] = ones >> (2 + i) & 1 ? 1 : d[i];
    view x = randoms(tensor(t, dx[0], dx[1], tx ? k : m, tx ? m : k)),
         y = randoms(tensor(t, dy[0], dy[1], ty ? n : k, ty ? k : n));
    view z = product_of(&x, &y, tx, ty);
    double *expected = xcalloc((size_t)size_of(&z), sizeof *expected);
    EACH(z) for (int64_t i = 0; i < k; i++)
    {
        double u = get(&x, ((x.dim[0] > 1 ? a : 0) * x.dim[1] + (x.dim[1] > 1 ? b : 0)) * m * k +
                               (tx ? i * m + d : d * k + i));
        double v = get(&y, ((y.dim[0] > 1 ? a : 0) * y.dim[1] + (y.dim[1] > 1 ? b : 0)) * n * k +
                               (ty ? e * k + i : i * n + e));
        expected[((a * z.dim[1] + b) * m + d) * n + e] += u * v;
    }
    compare(OP_MATMUL, &z, expected, allowed(t, 1e-6 + 2e-7 * (double)k), "");
    free(expected);
    RELEASE(x, y, z);
}

static void test_product(void)
{
    for (int t = F32; t <= F64; t++)
        for (int turned = 0; turned < 4; turned++) {
            for (unsigned ones = 0; ones < 16; ones++)
                for (int n = 0; n < 6; n++)
                    check_product(t, length(), length(), length(), turned & 1, turned >> 1, ones);
            check_product(t, 131, 70, 300, turned & 1, turned >> 1, 0xf);
            check_product(t, 35, 290, 513, turned & 1, turned >> 1, 0xf);
        }
    view x = tensor(F32, 1, 1, 2, 3), y = tensor(F32, 1, 1, 4, 2), z = tensor(F32, 1, 1, 2, 2);
    CHECK_INT(RUN(MATMUL, NULL, &z, x, y), -1);
    RELEASE(x, y, z);
}

/* Zeros appended to the inner axis, and the numbers of rows and columns, change no bit. */
static void test_product_bits(void)
{
    for (int t = F32; t <= F64; t++)
        for (int n = 0; n < 40; n++) {
            int64_t m = length() + 1, cols = length() + 1, k = length() + (n % 4 ? 0 : 400), pad = 1 + length();
            view x = randoms(tensor(t, 1, 1, m, k)), y = randoms(tensor(t, 1, 1, k, cols)),
                 z = product_of(&x, &y, 0, 0);
            view wide = tensor(t, 1, 1, m, k + pad), tall = tensor(t, 1, 1, k + pad, cols),
                 turned = tensor(t, 1, 1, cols, k);
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < k + pad; j++) set(&wide, i * (k + pad) + j, j < k ? get(&x, i * k + j) : 0);
            for (int64_t j = 0; j < (k + pad) * cols; j++) set(&tall, j, j < k * cols ? get(&y, j) : 0);
            for (int64_t i = 0; i < k; i++)
                for (int64_t j = 0; j < cols; j++) set(&turned, j * k + i, get(&y, i * cols + j));
            view padded = product_of(&wide, &tall, 0, 0), other = product_of(&x, &turned, 0, 1);
            CHECK(same_bits(&z, &padded));
            CHECK(same_bits(&z, &other));
            view last = tensor(t, 1, 1, 1, k),
                 column = tensor(t, 1, 1, 1, k); /* the last row and column of the product alone */
            for (int64_t j = 0; j < k; j++)
                set(&last, j, get(&x, (m - 1) * k + j)), set(&column, j, get(&y, j * cols + cols - 1));
            view alone = product_of(&last, &y, 0, 0), down = product_of(&x, &column, 0, 1);
            int differ = 0;
            for (int64_t j = 0; j < cols; j++) differ += get(&alone, j) != get(&z, (m - 1) * cols + j);
            for (int64_t i = 0; i < m; i++) differ += get(&down, i) != get(&z, i * cols + cols - 1);
            CHECK_INT(differ, 0);
            RELEASE(x, y, z, wide, tall, turned, padded, other, last, column, alone, down);
        }
}

/* ---- on tiles, from inside a parallel region ---- */

static void test_tiles(void)
{
    enum { N = 40000, TILE = 4096 };
    view p = randoms(tensor(F32, 1, 1, 1, N)), g = randoms(tensor(F32, 1, 1, 1, N)), y = like(F32, &p),
         lr = tensor(F32, 1, 1, 1, 1);
    set(&lr, 0, 0.125);
    int failures = 0;
#pragma omp parallel for reduction(+ : failures)
    for (int i = 0; i < N; i += TILE) {
        int64_t n = N - i < TILE ? N - i : TILE;
        call k = {.op = OP_MUL, .n_in = 2, .n_out = 1, .in = {g, lr}, .out = {y}};
        k.in[0].data = (float *)g.data + i;
        k.out[0].data = (float *)y.data + i;
        k.in[0].dim[3] = k.out[0].dim[3] = n;
        failures += cpu_MUL(&k, NULL) != 0;
        k.op = OP_SUB;
        k.in[0].data = (float *)p.data + i;
        k.in[1] = k.out[0];
        failures += cpu_SUB(&k, NULL) != 0;
    }
    CHECK_INT(failures, 0);
    double *expected = xmalloc(N * sizeof *expected);
    for (int i = 0; i < N; i++) expected[i] = get(&p, i) - 0.125 * get(&g, i);
    compare(OP_SUB, &y, expected, 2e-7, "tiles");
    free(expected);
    RELEASE(p, g, y, lr);
}

int main(void)
{
    dice = rng_seed(7, 1);
    test_binary();
    test_map();
    test_one_input();
    test_sums();
    test_softmax();
    test_product();
    test_product_bits();
    test_tiles();
    print_errors();
    return test_end();
}
