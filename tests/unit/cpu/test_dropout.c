/* test_dropout.c - dropout's decisions equal Philox's, have the right frequency, and depend on place, seed and step. */
#include "fused_case.h"

static call drop_call(const view *x, const view *y, double p, int64_t place, uint64_t seed, uint64_t step)
{
    return (call){.op = OP_DROPOUT,
                  .n_in = 1,
                  .n_out = 1,
                  .in = {*x},
                  .out = {*y},
                  .a = {.DROPOUT = {.p = p, .place = place}},
                  .training = true,
                  .seed = seed,
                  .step = step};
}

static void check_bits(dtype type, int64_t n, double p, int64_t place, uint64_t seed, uint64_t step)
{
    view x = random_view(type, 1, n, 1), y = new_view(type, 1, n), want = new_view(F64, 1, n), x2 = copy_as(&x, type),
         sum = new_view(F64, 1, n);
    call c = drop_call(&x, &y, p, place, seed, step);
    RUN(DROPOUT, c);
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (int64_t i = 0; i < n; i++) {
        uint32_t w[4],
            counter[4] = {(uint32_t)(i / 8), (uint32_t)((uint64_t)i / 8 >> 32), (uint32_t)place, (uint32_t)step};
        philox(counter, key, w);
        uint32_t word = w[i % 8 / 2] >> (i % 2 * 16) & 0xffff;
        set(&want, i, word >= (uint32_t)floor(p * 65536) ? get(&x, i) / (1 - p) : 0);
        set(&sum, i, get(&x, i) + get(&want, i));
    }
    for (int64_t i = 0; i < n; i++) CHECK_INT(get(&y, i) == 0, get(&want, i) == 0);
    CHECK_ROWS(y, want, tolerance(type));
    call add = c; /* x + dropout(x), in place */
    add.op = OP_DROPOUT_ADD, add.n_in = 2, add.in[0] = x2, add.in[1] = x, add.out[0] = x2;
    RUN(DROPOUT_ADD, add);
    CHECK_ROWS(x2, sum, tolerance(type));
    c.out[0] = x;
    RUN(DROPOUT, c);
    CHECK_SAME_BITS(x, y);
    free_views((view[]){x, y, want, x2, sum}, 5);
}

static double kept(const view *y)
{
    double n = 0;
    for (int64_t i = 0; i < count(y); i++) n += get(y, i) != 0;
    return n / (double)count(y);
}

int main(void)
{
    const int64_t sizes[] = {1, 7, 8, 63, 64, 65, 1024, 1031, 40000};
    for (size_t t = 0; t < LENGTH(row_types); t++)
        for (size_t s = 0; s < LENGTH(sizes); s++)
            check_bits(row_types[t], sizes[s], 0.1, 12, 0x123456789abcdefULL, 99);
    check_bits(F32, 100, 0.5, 0, 1, 0);
    check_bits(BF16, 100, 0.9, 1, 1ULL << 40, 1);

    enum { N = 1 << 18 };
    view ones = new_view(F32, 1, N), a = new_view(F32, 1, N), b = new_view(F32, 1, N);
    for (int64_t i = 0; i < N; i++) set(&ones, i, 1);
    call c = drop_call(&ones, &a, 0.1, 3, 7, 8);
    RUN(DROPOUT, c);
    CHECK_NEAR(kept(&a), 0.9, 5 * sqrt(0.09 / N)); /* five standard deviations */
    for (int other = 0; other < 3; other++) {      /* another place, seed or step gives other decisions */
        call d = drop_call(&ones, &b, 0.1, 3 + (other == 0), 7 + (other == 1), 8 + (other == 2));
        RUN(DROPOUT, d);
        double both = 0;
        for (int64_t i = 0; i < N; i++) both += get(&a, i) != 0 && get(&b, i) != 0;
        CHECK_NEAR(both / N, 0.81, 5 * sqrt(0.81 * 0.19 / N));
    }
    c.training = false;
    RUN(DROPOUT, c);
    CHECK_SAME_BITS(a, ones);
    free_views((view[]){ones, a, b}, 3);
    return test_end();
}
