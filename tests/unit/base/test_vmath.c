/* test_vmath.c - vector functions against libm in double precision, over floats of every size and sign. */
#include "base/vmath.h"
#include "test.h"

/* Returns the error of `found`, in units of the last place of the float nearest to the true value. */
static double ulps(float found, double true_value)
{
    if (isnan(true_value)) return isnan(found) ? 0 : INFINITY;
    if (isinf((float)true_value) || isinf(found)) return (float)true_value == found ? 0 : INFINITY;
    double size = fabs(true_value) < 0x1p-126 ? 0x1p-126 : fabs(true_value);
    int exponent;
    frexp(size, &exponent);
    return fabs(found - true_value) / ldexp(1, exponent - 24);
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* Checks one float in 997 of all 2^32; 997 is prime, so every exponent and all low bits occur. */
static void whole_range(const char *name, float (*f)(float), double (*exact)(double), double allowed)
{
    double worst = 0;
    float at = 0;
    for (uint64_t u = 0; u <= UINT32_MAX; u += 997) {
        float x = float_of_bits((uint32_t)u);
        double d = ulps(f(x), exact(x));
        if (d > worst) worst = d, at = x;
    }
    printf("%s: largest error %.3f ulp, at %a\n", name, worst, (double)at);
    CHECK_NEAR(worst, 0, allowed);
}

/* Checks a function up to VSIN_MOST, and at floats next to multiples of pi/2, where the argument's remainder is almost
 * 0. */
static void near_range(const char *name, float (*f)(float), double (*exact)(double), double allowed)
{
    double worst = 0;
    float at = 0, most = VSIN_MOST;
    for (uint64_t u = 0; u <= float_bits(most); u += 97) {
        float x = float_of_bits((uint32_t)u | (u % 2 ? 0x80000000u : 0));
        double d = ulps(f(x), exact((double)x));
        if (d > worst) worst = d, at = x;
    }
    for (int n = 1; n * 1.5707963267948966 < (double)VSIN_MOST; n++) {
        float x = (float)(n * 1.5707963267948966);
        double d = ulps(f(x), exact((double)x));
        if (d > worst) worst = d, at = x;
    }
    printf("%s: largest error %.3f ulp, at %a\n", name, worst, (double)at);
    CHECK_NEAR(worst, 0, allowed);
}

static void ends(void)
{
    CHECK(vexpf(-INFINITY) == 0 && vexpf(INFINITY) == INFINITY && isnan(vexpf(NAN)));
    CHECK(vexpf(0) == 1 && vexpf(-0.0f) == 1 && vexpf(-1000) == 0 && vexpf(1000) == INFINITY);
    CHECK(vexpf(88.7f) < INFINITY && vexpf(-103) > 0);
    CHECK(vlogf(1) == 0 && vlogf(0) == -INFINITY && vlogf(-0.0f) == -INFINITY && vlogf(INFINITY) == INFINITY);
    CHECK(isnan(vlogf(-1)) && isnan(vlogf(-INFINITY)) && isnan(vlogf(NAN)));
    CHECK_NEAR(vlogf(0x1p-149f), log(0x1p-149), 1e-5);
    CHECK(vtanhf(INFINITY) == 1 && vtanhf(-INFINITY) == -1 && isnan(vtanhf(NAN)) && vtanhf(0) == 0);
    CHECK(signbit(vtanhf(-0.0f)) && vtanhf(20) == 1 && vtanhf(-20) == -1 && vtanhf(1e-20f) == 1e-20f);
    CHECK(vsigmoidf(0) == 0.5f && vsigmoidf(INFINITY) == 1 && vsigmoidf(-INFINITY) == 0 && isnan(vsigmoidf(NAN)));
    CHECK(vsigmoidf(-95) > 0);
    CHECK(vsinf(0) == 0 && signbit(vsinf(-0.0f)) && vsinf(1e-45f) == 1e-45f && vcosf(0) == 1);
}

/* Compares vlog_normal with libm's log at four million positive doubles, a quarter of them near 1. */
static void logarithms(void)
{
    double worst = 0, at = 0;
    for (uint64_t k = 0; k < 4000000; k++) {
        uint64_t u = 0x0010000000000000u + k * 2303235435599u % 0x7fe0000000000000u;
        double x = k % 4 ? double_of_bits(u) : 1 + (double)((int64_t)(k / 4) - 500000) * 0x1p-22;
        double y = log(x), d = fabs(vlog_normal(x) - y) / (fabs(nextafter(y, INFINITY) - y));
        if (d > worst) worst = d, at = x;
    }
    printf("vlog_normal: %.0f ulp from libm's, at %a\n", worst, at);
    CHECK_NEAR(worst, 0, 1);
}

/* Returns the nearest of the three bf16 around a float, found by distance; if two are equally near, the even one. */
static bf16 nearest_bf16(float x)
{
    uint16_t best = 0;
    double least = INFINITY;
    for (int step = -1; step <= 1; step++) {
        uint32_t upper = (float_bits(x) >> 16) + (uint32_t)step;
        if (upper > 0xffff || ((upper ^ float_bits(x) >> 16) & 0x8000)) continue;
        /* infinity counts as one step past the largest number: from half a step on, numbers round to infinity */
        double value =
            (upper & 0x7fff) == 0x7f80 ? (upper & 0x8000 ? -0x1p128 : 0x1p128) : (double)from_bf16((bf16)upper);
        if (isnan(value)) continue;
        double d = fabs(value - (double)x);
        if (d < least || (d == least && !(upper & 1))) least = d, best = (uint16_t)upper;
    }
    return best;
}

static void halves(void)
{
    int changed = 0, wrong = 0;
    for (uint32_t h = 0; h <= 0xffff; h++) {
        float x = from_bf16((bf16)h);
        if (isnan(x))
            changed += to_bf16(x) != (h | 0x40);
        else
            changed += to_bf16(x) != h;
    }
    CHECK_INT(changed, 0);
    for (uint64_t u = 0; u <= UINT32_MAX; u += 4099) {
        float x = float_of_bits((uint32_t)u);
        if (isnan(x))
            wrong += !isnan(from_bf16(to_bf16(x)));
        else if (isinf(x))
            wrong += from_bf16(to_bf16(x)) != x;
        else
            wrong += to_bf16(x) != nearest_bf16(x);
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(to_bf16(float_of_bits(0x3f808000)), 0x3f80); /* a tie, down to even */
    CHECK_INT(to_bf16(float_of_bits(0x3f818000)), 0x3f82); /* a tie, up to even */
    CHECK_INT(to_bf16(float_of_bits(0x3f808001)), 0x3f81);
    CHECK_INT(to_bf16(3.4e38f), 0x7f80);
    CHECK(isnan(from_bf16(to_bf16(float_of_bits(0x7f800001))))); /* cutting the low bits would give infinity */
    CHECK(isnan(from_bf16(to_bf16(float_of_bits(0xffffffff))))); /* plain rounding would give zero */
}

int main(void)
{
    whole_range("vexpf", vexpf, exp, 1.01);
    whole_range("vlogf", vlogf, log, 0.8);
    whole_range("vtanhf", vtanhf, tanh, 1.31);
    whole_range("verff", verff, erf, 1.5);
    whole_range("vsigmoidf", vsigmoidf, sigmoid, 2.32);
    near_range("vsinf", vsinf, sin, 0.6);
    near_range("vcosf", vcosf, cos, 0.6);
    logarithms();
    ends();
    halves();
    return test_end();
}
