#include "base/distribution.h"
#include <math.h>

double normal_tail(double z) { return 0.5 * erfc(z / sqrt(2)); }

/* ---- incomplete beta ---- */

/* I_x(a, b) by its continued fraction (Lentz; Press et al., Numerical Recipes 6.4). It converges fast for
 * x < (a + 1) / (a + b + 2). */
static double beta_fraction(double x, double a, double b)
{
    const double tiny = 1e-300;
    int sign; /* lgamma itself writes a global variable */
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), f = d;
    for (int m = 1; m < 1000; m++) {
        double k = m, step = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k));
        d = 1 + step * d, c = 1 + step / c;
        if (fabs(d) < tiny) d = tiny;
        if (fabs(c) < tiny) c = tiny;
        d = 1 / d, f *= d * c;
        step = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1));
        d = 1 + step * d, c = 1 + step / c;
        if (fabs(d) < tiny) d = tiny;
        if (fabs(c) < tiny) c = tiny;
        d = 1 / d;
        double change = d * c;
        f *= change;
        if (fabs(change - 1) < 1e-16) break;
    }
    double log_beta = lgamma_r(a, &sign) + lgamma_r(b, &sign) - lgamma_r(a + b, &sign);
    return f * exp(a * log(x) + b * log1p(-x) - log_beta) / a;
}

/* The regularised incomplete beta function I_x(a, b). */
static double incomplete_beta(double x, double a, double b)
{
    if (!(a > 0 && b > 0) || isnan(x)) return NAN;
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    return x < (a + 1) / (a + b + 2) ? beta_fraction(x, a, b) : 1 - beta_fraction(1 - x, b, a);
}

/* ---- t and F ---- */

double t_tail(double t, double df)
{
    if (!(df > 0) || isnan(t)) return NAN;
    if (isinf(df)) return normal_tail(t);
    /* P(|T| > |t|) = I_{df / (df + t²)}(df / 2, 1 / 2). Near t = 0, 1 - I with exchanged arguments is more precise. */
    double t2 = t * t, outside = t2 < df ? 1 - incomplete_beta(t2 / (df + t2), 0.5, df / 2)
                                         : incomplete_beta(df / (df + t2), df / 2, 0.5);
    return t > 0 ? outside / 2 : 1 - outside / 2;
}

double f_tail(double f, double df1, double df2)
{
    if (!(df1 > 0 && df2 > 0 && f >= 0)) return NAN;
    return incomplete_beta(df2 / (df2 + df1 * f), df2 / 2, df1 / 2);
}

/* ---- quantiles: the tail function inverted ---- */

typedef double (*tail_function)(double x, double df);
static double normal_tail_df(double z, double df) { return (void)df, normal_tail(z); }

/* Returns x >= 0 with tail(x) = p <= 1/2: doubling brackets x, bisection on log(tail) narrows it to about one ulp. */
static double invert_tail(tail_function tail, double p, double df)
{
    double low = 0, high = 1;
    while (tail(high, df) > p && high < 1e300) low = high, high *= 2;
    for (int i = 0; i < 200; i++) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high) break;
        if (tail(middle, df) > p)
            low = middle;
        else
            high = middle;
    }
    return low + (high - low) / 2;
}

static double upper(tail_function tail, double p, double df)
{
    if (!(p >= 0 && p <= 1)) return NAN;
    if (p == 0) return INFINITY;
    if (p == 1) return -INFINITY;
    return p <= 0.5 ? invert_tail(tail, p, df) : -invert_tail(tail, 1 - p, df);
}

double normal_upper(double p) { return upper(normal_tail_df, p, 0); }
double t_upper(double p, double df)
{
    if (!(df > 0)) return NAN;
    return isinf(df) ? normal_upper(p) : upper(t_tail, p, df);
}

/* ---- digamma, trigamma: recurrence up to x >= 20, then the asymptotic series (Abramowitz and Stegun 6.3.18, 6.4.12)
 * ---- */

enum { ASYMPTOTIC = 20 };

double digamma(double x)
{
    double sum = 0;
    if (!(x > 0)) return NAN;
    for (; x < ASYMPTOTIC; x++) sum -= 1 / x;
    double y = 1 / (x * x);
    return sum + log(x) - 0.5 / x - y * (1. / 12 - y * (1. / 120 - y * (1. / 252 - y * (1. / 240 - y / 132))));
}

double trigamma(double x)
{
    double sum = 0;
    if (!(x > 0)) return NAN;
    for (; x < ASYMPTOTIC; x++) sum += 1 / (x * x);
    double y = 1 / (x * x);
    return sum + 1 / x + y / 2 + y / x * (1. / 6 - y * (1. / 30 - y * (1. / 42 - y * (1. / 30 - y * 5. / 66))));
}

/* Newton's method on 1 / trigamma, which is nearly linear (Smyth 2004, appendix). */
double trigamma_inverse(double y)
{
    if (!(y > 0)) return NAN;
    if (y > 1e7) return 1 / sqrt(y);
    if (y < 1e-6) return 1 / y;
    double x = 0.5 + 1 / y;
    for (int i = 0; i < 50; i++) {
        double h = 1e-4 * x, now = trigamma(x), slope = (trigamma(x + h) - trigamma(x - h)) / (2 * h);
        double step = now * (1 - now / y) / slope;
        x += step;
        if (fabs(step) < 1e-14 * x) break;
    }
    return x;
}
