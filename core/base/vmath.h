/* vmath.h - exp, log, tanh, sigmoid, erf, sin and cos of floats, log of doubles, and bf16, for inner loops.
 *
 * They have no branches and no calls, so loops over them are vectorised (-O3 -fno-math-errno -fno-trapping-math).
 * Errors are given in units in the last place (ulp) of the float result, as the largest over all finite arguments,
 * with and without fused multiply-add; tests/unit/base/test_vmath.c checks them. NaN gives NaN. The rounding mode must
 * be to nearest, the default. Polynomials: Moshier's Cephes library, single precision (expf, logf, tanhf, sinf).
 */
#ifndef ABLATE_VMATH_H
#define ABLATE_VMATH_H
#include <stdint.h>

typedef union {
    float f;
    uint32_t u;
} float_word;
static inline uint32_t float_bits(float x) { return (float_word){.f = x}.u; }
static inline float float_of_bits(uint32_t u) { return (float_word){.u = u}.f; }

/* Returns e^x / 2^n, 0.7 to 1.42; n = the bits of *shifted less VEXP_ZERO. */
#define VEXP_ZERO 0x4b400000u
static inline float vexp_partsf(float x, float *shifted)
{
    /* x = n ln 2 + r, |r| <= ln(2)/2. Adding 1.5 * 2^23 rounds to an integer. */
    *shifted = x * 1.44269504088896341f + 12582912.0f;
    float n = *shifted - 12582912.0f;
    float r = x - n * 0.693359375f; /* ln 2 in two parts; the first has so few bits that its product with n is exact */
    r = r - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    return p * (r * r) + r + 1.0f;
}

/* e^x within 2 ulp; 0 below -103.98 (and for -infinity), infinity above 88.73; results below 1.2e-38 are
 * subnormal and lose digits. */
static inline float vexpf(float x)
{
    x = x < -104.0f ? -104.0f : x; /* the operands in this order let NaN pass */
    x = x > 89.0f ? 89.0f : x;
    float shifted, p = vexp_partsf(x, &shifted);
    /* times 2^n in two steps, because 2^n itself can exceed the range of normal numbers at both ends */
    int32_t power = (int32_t)(float_bits(shifted) - VEXP_ZERO), half = power >> 1;
    return p * float_of_bits((uint32_t)(half + 127) << 23) * float_of_bits((uint32_t)(power - half + 127) << 23);
}
/* vexpf for x <= 0, with equal bits in fewer steps: 2^n can be too small, 2^(n + 64) never. */
static inline float vexp_belowf(float x)
{
    x = x < -104.0f ? -104.0f : x;
    float shifted, p = vexp_partsf(x, &shifted);
    return p * float_of_bits((float_bits(shifted) - VEXP_ZERO + 64 + 127) << 23) * 0x1p-64f;
}

/* Natural logarithm within 2 ulp, for subnormal arguments too; log(0) = -infinity, NaN below 0,
 * log(infinity) = infinity. */
static inline float vlogf(float x)
{
    float up = x < 0x1p-126f ? x * 0x1p23f : x;
    /* up = 2^e m, sqrt(1/2) <= m < sqrt(2) */
    uint32_t u = float_bits(up) - 0x3f3504f3u;
    float e = (float)((int32_t)u >> 23) - (x < 0x1p-126f ? 23.0f : 0.0f);
    float m = float_of_bits((u & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    float z = m * m;
    float p = 7.0376836292e-2f;
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    p = p * m * z + e * -2.12194440e-4f - 0.5f * z;
    float y = m + p + e * 0.693359375f;
    y = x == 0.0f ? -__builtin_inff() : y;
    y = x < __builtin_inff() ? y : x; /* infinity and NaN stay as they are */
    return x < 0.0f ? __builtin_nanf("") : y;
}

/* Hyperbolic tangent within 2 ulp; exactly -1 and 1 at the ends. */
static inline float vtanhf(float x)
{
    float a = float_of_bits(float_bits(x) & 0x7fffffffu);
    float z = a * a;
    float p = -5.70498872745e-3f;
    p = p * z + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    float small = p * z * a + a;
    float large = 1.0f - 2.0f / (vexpf(2.0f * a) + 1.0f);
    return float_of_bits(float_bits(a < 0.625f ? small : large) | (float_bits(x) & 0x80000000u));
}

/* 1 / (1 + e^-x) within 3 ulp. */
static inline float vsigmoidf(float x)
{
    float e = vexp_belowf(float_of_bits(float_bits(x) | 0x80000000u)); /* exp(-|x|) never overflows */
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

/* Error function within 3 ulp; exactly -1 and 1 at the ends. */
static inline float verff(float x)
{
    float a = float_of_bits(float_bits(x) & 0x7fffffffu), t = a > 4.0f ? 4.0f : a, z = t * t;
    /* below 0.93 an odd polynomial, above it 1 - exp(polynomial); both minimise the largest error */
    float p = -5.96761703e-4f;
    p = p * z + 4.99119423e-3f;
    p = p * z - 2.67681349e-2f;
    p = p * z + 1.12819925e-1f;
    p = p * z - 3.76125336e-1f;
    p = p * z + 1.28379166e-1f;
    float q = (-1.72853470e-5f * t + 3.83197126e-4f) * z + (-3.88396438e-3f * t + 2.42546219e-2f);
    q = q * t - 1.06777877e-1f;
    q = q * t - 6.34846687e-1f;
    q = q * t - 1.28717512e-1f;
    q = q * t - t;
    float y = a < 0.927734375f ? p * a + a : 1.0f - vexp_belowf(q);
    y = a == a ? y : a;
    return float_of_bits(float_bits(y) | (float_bits(x) & 0x80000000u));
}

typedef union {
    double f;
    uint64_t u;
} double_word;
static inline uint64_t double_bits(double x) { return (double_word){.f = x}.u; }
static inline double double_of_bits(uint64_t u) { return (double_word){.u = u}.f; }

/* Natural logarithm of a normal double above 0, within 1 ulp. Uses no table, whose reads would cost more than the
 * arithmetic. */
static inline double vlog_normal(double x)
{
    /* x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2); log(1 + f) = 2 artanh(s) = f - (f^2/2 - s (f^2/2 + r)) */
    uint64_t u = double_bits(x) - 0x3fe6a09e667f3bcdu;
    double e = (double)((int64_t)u >> 52), f = double_of_bits((u & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1;
    double s = f / (2 + f), w = s * s, half = f * f / 2, r = 2.0 / 23;
    r = r * w + 2.0 / 21;
    r = r * w + 2.0 / 19;
    r = r * w + 2.0 / 17;
    r = r * w + 2.0 / 15;
    r = r * w + 2.0 / 13;
    r = r * w + 2.0 / 11;
    r = r * w + 2.0 / 9;
    r = r * w + 2.0 / 7;
    r = r * w + 2.0 / 5;
    r = (r * w + 2.0 / 3) * w;
    /* ln 2 in two parts; the first has so few bits that its product with e is exact */
    return e * 0x1.62e42feep-1 - (half - (s * (half + r) + e * 0x1.a39ef35793c76p-33) - f);
}

/* The largest argument of vsinf and vcosf. */
#define VSIN_MOST 1e6f

/* sin(x + quarters pi/2), within 0.6 ulp for |x| up to VSIN_MOST; -0 stays -0. In double: x = n pi/2 + r with |r| <=
 * pi/4. pi/2 has two parts (Cody and Waite); the first has 33 bits, so that its product with n < 2^20 is exact. The
 * error of r is at most 2^-53 |r|, and n 2^-87 from the digits that both parts lack. */
static inline float vsin_quartersf(float x, uint64_t quarters)
{
    double shifted = (double)x * 0.63661977236758134 + 0x1.8p52, n = shifted - 0x1.8p52;
    double r = (double)x - n * 0x1.921fb5440p0 - n * 0x1.0b4611a626331p-34;
    double z = r * r, s = -1.9515295891e-4, c = 2.443315711809948e-5;
    s = s * z + 8.3321608736e-3;
    s = s * z - 1.6666654611e-1;
    s = (s * z + 1.0) * r;
    c = c * z - 1.388731625493765e-3;
    c = c * z + 4.166664568298827e-2;
    c = c * z - 0.5;
    c = c * z + 1.0;
    uint64_t turned = double_bits(shifted) + quarters, odd = 0 - (turned & 1);
    uint64_t y = (double_bits(s) & ~odd) | (double_bits(c) & odd);
    return (float)double_of_bits(y ^ (turned & 2) << 62);
}
static inline float vsinf(float x) { return vsin_quartersf(x, 0); }
static inline float vcosf(float x) { return vsin_quartersf(x, 1); }

/* ---- bf16: the upper half of a float ---- */

typedef uint16_t bf16;

static inline float from_bf16(bf16 h) { return float_of_bits((uint32_t)h << 16); }

/* Rounds to nearest, ties to even; overflow gives infinity; NaN keeps its sign and upper bits and becomes quiet. */
static inline bf16 to_bf16(float x)
{
    uint32_t u = float_bits(x), rounded = (u + 0x7fffu + ((u >> 16) & 1)) >> 16, quiet = u >> 16 | 0x40u;
    return (bf16)((u & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}
#endif
