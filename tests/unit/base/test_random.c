/* test_random.c - Philox equals a second implementation, which is checked with published numbers; the sequential
 * generator is repeatable and has the right distributions. */
#include "base/base.h"
#include "test.h"

/* Rounds as in the paper's figure: two multiplications, words exchanged. Written independently of
 * core/base/random.c. */
static void reference(int rounds, const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t x[4], k[2] = {key[0], key[1]};
    memcpy(x, counter, sizeof x);
    while (rounds--) {
        uint64_t left = UINT64_C(3528531795) * x[0], right = UINT64_C(3449720151) * x[2];
        uint32_t y[4] = {(uint32_t)(right / 4294967296) ^ x[1] ^ k[0], (uint32_t)(right % 4294967296),
                         (uint32_t)(left / 4294967296) ^ x[3] ^ k[1], (uint32_t)(left % 4294967296)};
        memcpy(x, y, sizeof x);
        k[0] += 2654435769u;
        k[1] += 3144134277u;
    }
    memcpy(out, x, sizeof x);
}

/* The authors' library Random123 publishes answers for philox4x32-10: the reference must give them, and ours must equal
 * the reference. */
static void known_answers(void)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } cases[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                 {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                  {0xffffffff, 0xffffffff},
                  {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                 {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                  {0xa4093822, 0x299f31d0},
                  {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        uint32_t ten[4], want[4], found[4];
        reference(10, cases[i].counter, cases[i].key, ten);
        reference(PHILOX_ROUNDS, cases[i].counter, cases[i].key, want);
        philox(cases[i].counter, cases[i].key, found);
        for (int k = 0; k < 4; k++) {
            CHECK_INT(ten[k], cases[i].out[k]);
            CHECK_INT(found[k], want[k]);
        }
    }
    rng r = rng_seed(1, 2);
    int differ = 0;
    for (int i = 0; i < 1000; i++) {
        uint32_t c[4], k[2], a[4], b[4];
        for (int j = 0; j < 4; j++) c[j] = (uint32_t)rng_next(&r);
        for (int j = 0; j < 2; j++) k[j] = (uint32_t)rng_next(&r);
        philox(c, k, a);
        reference(PHILOX_ROUNDS, c, k, b);
        differ += memcmp(a, b, sizeof a) != 0;
    }
    CHECK_INT(differ, 0);
    /* Recorded runs depend on these exact words: dropout draws from them. */
    uint32_t zero[4] = {0}, out[4];
    philox(zero, zero, out);
    CHECK_INT(out[0], 0x5f6fb709);
    CHECK_INT(out[1], 0x0d893f64);
    CHECK_INT(out[2], 0x4f121f81);
    CHECK_INT(out[3], 0x4f730a48);
}

/* Neighbouring counters, whichever word differs, give bits that look independent and balanced. */
static void spread(void)
{
    for (int word = 0; word < 4; word++) {
        uint32_t key[2] = {42, 0}, last[4] = {0};
        int64_t ones = 0, flips = 0, n = 20000;
        for (int64_t i = 0; i < n; i++) {
            uint32_t c[4] = {0}, out[4];
            c[word] = (uint32_t)i;
            philox(c, key, out);
            for (int k = 0; k < 4; k++) {
                ones += __builtin_popcount(out[k]);
                flips += __builtin_popcount(out[k] ^ last[k]);
                last[k] = out[k];
            }
        }
        CHECK_NEAR((double)ones / (double)(128 * n), 0.5, 0.002); /* 0.5 +- 6 standard errors */
        CHECK_NEAR((double)flips / (double)(128 * n), 0.5, 0.002);
    }
}

static void sequence(void)
{
    rng a = rng_seed(7, 1), b = rng_seed(7, 1), other = rng_seed(7, 2), swapped = rng_seed(1, 7);
    int equal = 0, collide = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t x = rng_next(&a);
        equal += x == rng_next(&b);
        collide += x == rng_next(&other);
        collide += x == rng_next(&swapped);
    }
    CHECK_INT(equal, 1000);
    CHECK_INT(collide, 0);
    rng known = {{1, 2}}; /* xoroshiro128++ by hand: rotl(1 + 2, 17) + 1 */
    CHECK_INT(rng_next(&known), 393217);
    CHECK_INT(known.s[0], ((int64_t)1 << 49) ^ 3 ^ ((int64_t)3 << 21));
    CHECK_INT(known.s[1], (int64_t)3 << 28);
    rng zero = rng_seed(0, 0);
    CHECK(zero.s[0] | zero.s[1]);
}

static void distributions(void)
{
    rng r = rng_seed(3, 0);
    enum { N = 200000 };
    int64_t count[7] = {0};
    double sum = 0, square = 0, third = 0, fourth = 0, mean = 0, low = 1, high = 0;
    for (int i = 0; i < N; i++) {
        uint64_t k = rng_below(&r, 7);
        CHECK(k < 7);
        count[k % 7]++;
        double u = rng_uniform(&r), z = rng_normal(&r);
        mean += u / N;
        low = fmin(low, u);
        high = fmax(high, u);
        sum += z / N;
        square += z * z / N;
        third += z * z * z / N;
        fourth += z * z * z * z / N;
    }
    for (int k = 0; k < 7; k++) CHECK_NEAR((double)count[k], N / 7.0, 6 * sqrt(N / 7.0));
    CHECK(low >= 0 && low < 1e-3 && high < 1 && high > 0.999);
    CHECK_NEAR(mean, 0.5, 0.004);
    CHECK_NEAR(sum, 0, 0.014);
    CHECK_NEAR(square, 1, 0.02);
    CHECK_NEAR(third, 0, 0.06);
    CHECK_NEAR(fourth, 3, 0.15);
    CHECK_INT(rng_below(&r, 1), 0);
    /* n is three quarters of 2^64: a plain product would give every third number twice as often as its neighbours. */
    uint64_t n = UINT64_C(3) << 62, every_third = 0;
    for (int i = 0; i < N; i++) {
        uint64_t k = rng_below(&r, n);
        CHECK(k < n);
        every_third += k % 3 == 0;
    }
    CHECK_NEAR((double)every_third / N, 1.0 / 3, 0.007);
}

int main(void)
{
    known_answers();
    spread();
    sequence();
    distributions();
    return test_end();
}
