/* ranks.c - P(A > B) over seeds, and the exact permutation tests. */
#include "metric/design.h"
#include <math.h>

enum { MOST_PERMUTED = 20 };

/* ---- P(A > B) ---- */

static double wins(double a, double b, double sign)
{
    bool good_a = isfinite(a), good_b = isfinite(b);
    if (!good_a || !good_b) return good_a == good_b ? 0.5 : good_a;
    return a == b ? 0.5 : sign * (a - b) > 0;
}

/* Variance of the estimate if the truth were theta (Newcombe 2006, method 5). */
static double variance_at(double theta, double n_a, double n_b)
{
    double n = (n_a + n_b) / 2 - 1;
    return theta * (1 - theta) / (n_a * n_b) * (1 + n * (1 - theta) / (2 - theta) + n * theta / (1 + theta));
}

/* The theta between the estimate and `end` (0 or 1) at which the estimate lies 1.96 standard errors off. */
static double limit(double estimate, double end, double n_a, double n_b)
{
    const double z = 1.959963984540054;
    double inside = estimate, outside = end;
    for (int i = 0; i < 200; i++) {
        double theta = (inside + outside) / 2, gap = estimate - theta;
        if (gap * gap <= z * z * variance_at(theta, n_a, n_b))
            inside = theta;
        else
            outside = theta;
    }
    return inside;
}

superiority superiority_interval(double theta, size_t n_a, size_t n_b)
{
    double a = (double)n_a, b = (double)n_b;
    return (superiority){theta, limit(theta, 0, a, b), limit(theta, 1, a, b)};
}

superiority superiority_of(const double *a, size_t n_a, const double *b, size_t n_b, double sign)
{
    double sum = 0;
    if (!n_a || !n_b) return (superiority){NAN, NAN, NAN};
    for (size_t i = 0; i < n_a; i++)
        for (size_t j = 0; j < n_b; j++) sum += wins(a[i], b[j], sign);
    return superiority_interval(sum / ((double)n_a * (double)n_b), n_a, n_b);
}

/* ---- permutations ---- */

static double tolerance(double x) { return 1e-9 * (1 + fabs(x)); }

/* Every choice of n_a among all values is a bit pattern with n_a ones. */
double permutation_p(const double *a, size_t n_a, const double *b, size_t n_b)
{
    double all[MOST_PERMUTED], total = 0, observed = 0;
    size_t n = n_a + n_b, as_large = 0, ways = 0;
    if (!n_a || !n_b || n > MOST_PERMUTED) return NAN;
    for (size_t i = 0; i < n; i++) {
        all[i] = i < n_a ? a[i] : b[i - n_a];
        total += all[i];
    }
    for (uint32_t chosen = 0; chosen < (uint32_t)1 << n; chosen++) {
        if ((size_t)__builtin_popcount(chosen) != n_a) continue;
        double sum = 0;
        for (size_t i = 0; i < n; i++) sum += chosen >> i & 1 ? all[i] : 0;
        double gap = fabs(sum / (double)n_a - (total - sum) / (double)n_b);
        if (!ways++) observed = gap; /* the lowest pattern is a itself */
        as_large += gap >= observed - tolerance(observed);
    }
    return (double)as_large / (double)ways;
}

double sign_flip_p(const double *d, size_t n)
{
    double observed = 0;
    size_t as_large = 0;
    if (!n || n > MOST_PERMUTED) return NAN;
    for (uint32_t flipped = 0; flipped < (uint32_t)1 << n; flipped++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) sum += flipped >> i & 1 ? -d[i] : d[i];
        if (!flipped) observed = fabs(sum);
        as_large += fabs(sum) >= observed - tolerance(observed);
    }
    return (double)as_large / (double)((uint32_t)1 << n);
}
