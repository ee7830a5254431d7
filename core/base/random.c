/* random.c - Philox4x32 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3, SC 2011)
 * for numbers by position; xoroshiro128++ (Blackman and Vigna 2021) for numbers in sequence. */
#include "base/base.h"
#include <math.h>

void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t a = (uint64_t)0xd2511f53 * c0, b = (uint64_t)0xcd9e8d57 * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9e3779b9;
        k1 += 0xbb67ae85;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

static uint64_t left(uint64_t x, int n) { return x << n | x >> (64 - n); }

/* splitmix64: sends neighbouring seeds to distant states. */
static uint64_t scatter(uint64_t *x)
{
    uint64_t z = *x += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

rng rng_seed(uint64_t seed, uint64_t stream)
{
    uint64_t x = scatter(&seed) ^ left(scatter(&stream), 32);
    rng r;
    r.s[0] = scatter(&x);
    r.s[1] = scatter(&x); /* never both 0: splitmix64 returns 0 for one state only */
    return r;
}

uint64_t rng_next(rng *r)
{
    uint64_t s0 = r->s[0], s1 = r->s[1], result = left(s0 + s1, 17) + s0;
    s1 ^= s0;
    r->s[0] = left(s0, 49) ^ s1 ^ s1 << 21;
    r->s[1] = left(s1, 28);
    return result;
}

/* Lemire (2019): the upper half of a product; rejects the values that would bias it. */
uint64_t rng_below(rng *r, uint64_t n)
{
    if (!n) broken("rng_below: no number is below 0");
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)rng_next(r) * n;
    if ((uint64_t)product < n) {
        uint64_t surplus = -n % n;
        while ((uint64_t)product < surplus) product = (wide)rng_next(r) * n;
    }
    return (uint64_t)(product >> 64);
}

void rng_shuffle(rng *r, int64_t *a, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)rng_below(r, i);
        int64_t kept = a[i - 1];
        a[i - 1] = a[j], a[j] = kept;
    }
}

double rng_uniform(rng *r) { return (double)(rng_next(r) >> 11) * 0x1p-53; }

/* Box and Muller (1958). Discards the second number, so that the two words remain the whole state. */
double rng_normal(rng *r)
{
    double u = 1 - rng_uniform(r), v = rng_uniform(r);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}
