/* test_order.c - ids computed from numbers against slow plain formulas, and noise against its definition in op.h. */
#include "tensors.h"

/* ---- TOP_K ---- */

static bool before(double x, double y) { return x > y || (isnan(x) && !isnan(y)); }

/* Ids of the k largest (smallest) numbers in order: a number's rank is how many numbers come before it. */
static void places(const double *x, int64_t n, int64_t k, bool smallest, double *ids)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t rank = 0;
        for (int64_t j = 0; j < n; j++) {
            double a = smallest ? -x[j] : x[j], b = smallest ? -x[i] : x[i];
            rank += before(a, b) || (j < i && !before(b, a));
        }
        if (rank < k) ids[rank] = (double)i;
    }
}

static void check_top_k(dtype t, int64_t lines, int64_t n, int64_t k, bool smallest, bool odd)
{
    view x = randoms(tensor(t, 1, 1, lines, n)), y = tensor(I32, 1, 1, lines, k);
    double *expected = xmalloc((size_t)(lines * k + n) * sizeof *expected), *line = expected + lines * k;
    for (int64_t i = 0; i < lines * n && odd; i++) { /* many equal numbers, some NaN */
        double v = (double)rng_below(&dice, 7);
        set(&x, i, v == 6 ? NAN : v == 5 ? -INFINITY : v - 2);
    }
    for (int64_t r = 0; r < lines; r++) {
        for (int64_t i = 0; i < n; i++) line[i] = get(&x, r * n + i);
        places(line, n, k, smallest, expected + r * k);
    }
    attr a = {.TOP_K = {.k = k, .smallest = smallest}};
    CHECK_INT(RUN(TOP_K, &a, &y, x), 0);
    compare(OP_TOP_K, &y, expected, 0, smallest ? "smallest" : "largest");
    if (k == 1 && !smallest) { /* MAX is the value at rank 0, and this value gets the whole gradient */
        view most = tensor(t, 1, 1, lines, 1), dy = randoms(like(t, &most)), dx = like(t, &x);
        CHECK_INT(RUN(MAX, NULL, &most, x), 0);
        CHECK_INT(RUN(MAX_BACK, NULL, &dx, x, most, dy), 0);
        for (int64_t i = 0; i < lines * n; i++) {
            int64_t r = i / n, place = r * n + (int64_t)expected[r];
            bool equal = get(&most, r) == get(&x, place) || (isnan(get(&most, r)) && isnan(get(&x, place)));
            CHECK_THAT(equal, "MAX: found %g, expected %g", get(&most, r), get(&x, place));
            CHECK_NEAR(get(&dx, i), i == place ? get(&dy, r) : 0, 0);
        }
        RELEASE(most, dy, dx);
    }
    free(expected);
    RELEASE(x, y);
}

static void test_top_k(void)
{
    static const int64_t lines[][3] = {{1, 1, 1},     {3, 5, 1},  {3, 5, 5},  {2, 40, 16},  {2, 40, 17},
                                       {4, 100, 100}, {5, 33, 2}, {7, 37, 1}, {1, 700, 300}};
    for (size_t i = 0; i < LENGTH(lines); i++)
        for (int c = 0; c < 8; c++) check_top_k(c & 1 ? F64 : F32, lines[i][0], lines[i][1], lines[i][2], c & 2, c & 4);
}

/* ---- GATHER, SCATTER_ADD with ids per sentence and head ---- */

static void check_own_ids(dtype t, int64_t na, int64_t nb, bool own_a, bool own_b)
{
    int64_t nq = 3, nk = 4, n = 5;
    view x = randoms(tensor(t, na, nb, nq, n)), ids = ids_below(tensor(I32, own_a ? na : 1, own_b ? nb : 1, nq, nk), n),
         y = tensor(t, na, nb, nq, nk), p = randoms(like(t, &y)), sums = like(t, &x);
    double *picked = xcalloc((size_t)size_of(&y), sizeof *picked),
           *summed = xcalloc((size_t)size_of(&x), sizeof *summed);
    EACH(y)
    {
        int64_t id = (int64_t)get(&ids, (((own_a ? a : 0) * ids.dim[1] + (own_b ? b : 0)) * nq + d) * nk + e),
                row = (a * nb + b) * nq + d;
        picked[row * nk + e] = get(&x, row * n + id);
        summed[row * n + id] += get(&p, row * nk + e);
    }
    CHECK_INT(RUN(GATHER, NULL, &y, x, ids), 0);
    compare(OP_GATHER, &y, picked, 0, "by own ids");
    attr buckets = {.SCATTER_ADD = {.n = n}};
    CHECK_INT(RUN(SCATTER_ADD, &buckets, &sums, p, ids), 0);
    compare(OP_SCATTER_ADD, &sums, summed, t == F64 ? 1e-15 : 1e-6, "by own ids");
    free(picked);
    free(summed);
    RELEASE(x, ids, y, p, sums);
}

/* ---- TO_IDS ---- */

static void test_to_ids(void)
{
    static const double x[] = {0, 0.4, 0.5, 1.5, 2.5, -0.6, -3, 1e6, 3e9, -3e9, NAN, INFINITY};
    static const double expected[] = {0, 0, 0, 2, 2, -1, -3, 1e6, -1, -1, -1, -1};
    for (int t = F32; t <= F64; t++) {
        view v = tensor(t, 1, 1, 1, LENGTH(x)), y = tensor(I32, 1, 1, 1, LENGTH(x));
        for (size_t i = 0; i < LENGTH(x); i++) set(&v, (int64_t)i, x[i]);
        CHECK_INT(RUN(TO_IDS, NULL, &y, v), 0);
        compare(OP_TO_IDS, &y, expected, 0, "");
        RELEASE(v, y);
    }
}

/* ---- RANDOM ---- */

static void run_noise(view *y, int64_t place, bool normal, uint64_t seed, uint64_t step)
{
    call k = {.op = OP_RANDOM,
              .n_out = 1,
              .out = {*y},
              .a = {.RANDOM = {.place = place, .normal = normal}},
              .training = true,
              .seed = seed,
              .step = step};
    err e = {0};
    CHECK_INT(cpu_RANDOM(&k, &e), 0);
}

/* The first random numbers of place 7, computed from Philox by the formula. */
static void check_formula(dtype t, bool normal)
{
    view y = tensor(t, 1, 1, 1, 6);
    double expected[8];
    uint64_t seed = 0x123456789abcdefu;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t w[4];
        philox((uint32_t[4]){i, 0, 7, 11}, (uint32_t[2]){(uint32_t)seed, (uint32_t)(seed >> 32)}, w);
        for (int j = 0; j < 4; j++) {
            double u = (w[j / 2 * 2] / 512 + 0.5) / 8388608, v = (w[j / 2 * 2 + 1] / 512 + 0.5) / 8388608;
            double angle = 2 * 3.14159265358979323846 * v;
            expected[4 * i + (uint32_t)j] =
                !normal ? (w[j] / 512 + 0.5) / 8388608 : sqrt(-2 * log(u)) * (j % 2 ? sin(angle) : cos(angle));
        }
    }
    run_noise(&y, 7, normal, seed, 11);
    compare(OP_RANDOM, &y, expected, t == F64 ? 1e-15 : 1e-7, normal ? "normal" : "uniform");
    RELEASE(y);
}

/* Checks mean and variance; another place, step or seed gives other numbers. */
static void check_moments(bool normal)
{
    enum { N = 40000 };
    view y = tensor(F32, 1, 1, 1, N), z = tensor(F32, 1, 1, 1, N);
    double sum = 0, squares = 0, mean = normal ? 0 : 0.5, variance = normal ? 1 : 1.0 / 12;
    run_noise(&y, 1, normal, 5, 2);
    for (int64_t i = 0; i < N; i++) sum += get(&y, i), squares += (get(&y, i) - mean) * (get(&y, i) - mean);
    CHECK_NEAR(sum / N, mean, 4 * sqrt(variance / N));
    CHECK_NEAR(squares / N, variance, 0.03 * variance);
    static const struct {
        int64_t place;
        uint64_t seed, step;
    } others[] = {{2, 5, 2}, {1, 6, 2}, {1, 5, 3}, {1, 5 + (1ull << 32), 2}};
    for (size_t k = 0; k < LENGTH(others); k++) {
        int same_numbers = 0;
        run_noise(&z, others[k].place, normal, others[k].seed, others[k].step);
        for (int64_t i = 0; i < N; i++) same_numbers += get(&y, i) == get(&z, i);
        CHECK_NEAR(same_numbers, 0, 20);
    }
    RELEASE(y, z);
}

int main(void)
{
    dice = rng_seed(7, 3);
    test_top_k();
    for (int c = 0; c < 8; c++) check_own_ids(c & 1 ? F64 : F32, 2, 3, c & 2, c & 4);
    test_to_ids();
    for (int c = 0; c < 4; c++) check_formula(c & 1 ? F64 : F32, c & 2);
    check_moments(false), check_moments(true);
    return test_end();
}
