/* ranks.c - P(A > B) over seeds, and the exact permutation tests. */
#include "lab/statistics/design.h"
#include "text/metric/stats.h"
#include "base/cleanup.h"
#include <math.h>
#include <string.h>

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

/* The sums of every subset of v[n]; sum[from[k]] .. sum[from[k + 1] - 1] are those of the subsets of k values. */
typedef struct {
    double sum[1 << (MOST_PERMUTED / 2 + 1)];
    size_t from[MOST_PERMUTED / 2 + 3];
} subsets;

static void sum_subsets(subsets *s, const double *v, size_t n)
{
    size_t at[MOST_PERMUTED / 2 + 3] = {0};
    memset(s->from, 0, sizeof s->from);
    for (uint32_t chosen = 0; chosen < (uint32_t)1 << n; chosen++) s->from[__builtin_popcount(chosen) + 1]++;
    for (size_t k = 0; k <= n; k++) s->from[k + 1] += s->from[k], at[k] = s->from[k];
    for (uint32_t chosen = 0; chosen < (uint32_t)1 << n; chosen++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) sum += chosen >> i & 1 ? v[i] : 0;
        s->sum[at[__builtin_popcount(chosen)]++] = sum;
    }
}

static double gap_of(double sum, double total, size_t n_a, size_t n_b)
{
    return fabs(sum / (double)n_a - (total - sum) / (double)n_b);
}

/* Counts the `sums` (ascending) that together with the part `with` give a gap of at least `least`. */
static size_t as_far(const double *sums, size_t n, double with, double total, size_t n_a, size_t n_b, double least)
{
    double middle = total * (double)n_a / (double)(n_a + n_b) - with; /* sum at which the gap is 0 */
    size_t low = 0, high = n;
    while (low < high) { /* finds the first sum not below the middle */
        size_t at = (low + high) / 2;
        if (sums[at] < middle)
            low = at + 1;
        else
            high = at;
    }
    size_t turn = low;
    for (low = 0, high = turn; low < high;) { /* gaps fall up to the middle */
        size_t at = (low + high) / 2;
        if (gap_of(with + sums[at], total, n_a, n_b) >= least)
            low = at + 1;
        else
            high = at;
    }
    size_t below = low;
    for (low = turn, high = n; low < high;) { /* the gap rises from there */
        size_t at = (low + high) / 2;
        if (gap_of(with + sums[at], total, n_a, n_b) >= least)
            high = at;
        else
            low = at + 1;
    }
    return below + n - low;
}

/* Every choice of n_a values joins a subset of the values' first half and a subset of their second half. */
double permutation_p(const double *a, size_t n_a, const double *b, size_t n_b)
{
    double all[MOST_PERMUTED], total = 0, own = 0, size = 0;
    size_t n = n_a + n_b, half = n / 2, as_large = 0, ways = 0;
    if (!n_a || !n_b || n > MOST_PERMUTED) return NAN;
    for (size_t i = 0; i < n; i++) {
        all[i] = i < n_a ? a[i] : b[i - n_a];
        total += all[i], size += fabs(all[i]);
        own += i < n_a ? a[i] : 0;
    }
    AUTOFREE subsets *low = xmalloc(2 * sizeof *low);
    subsets *high = low + 1;
    sum_subsets(low, all, half);
    sum_subsets(high, all + half, n - half);
    double observed = gap_of(own, total, n_a, n_b), least = observed - 1e-9 * observed - 1e-13 * size;
    for (size_t k = n_a > n - half ? n_a - (n - half) : 0; k <= half && k <= n_a; k++) {
        double *rest = high->sum + high->from[n_a - k];
        size_t n_rest = high->from[n_a - k + 1] - high->from[n_a - k];
        stats_sort(rest, n_rest);
        for (size_t i = low->from[k]; i < low->from[k + 1]; i++, ways += n_rest)
            as_large += as_far(rest, n_rest, low->sum[i], total, n_a, n_b, least);
    }
    return (double)as_large / (double)ways;
}
