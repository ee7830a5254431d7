/* best_of.c - the best of k among n trials, over all choices of k. */
#include "lab/statistics/best_of.h"
#include "text/metric/stats.h"
#include <math.h>
#include <stdlib.h>

/* Sorts trials: the best first, trials without a value last. */
static double *in_order(const double *values, size_t n, bool lower)
{
    double *x = xmalloc((n + 1) * sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = isfinite(values[i]) ? (lower ? values[i] : -values[i]) : INFINITY;
    stats_sort(x, n);
    return x;
}

best_of best_of_trials(const double *values, size_t n, size_t k, bool lower)
{
    enum { NOT_YET = -1 };
    double *x = in_order(values, n, lower), share = (double)k / (double)n, below = 0, mean = 0;
    double first = NOT_YET, last = NOT_YET;
    size_t low = 0, high = 0;
    for (size_t i = 0; i + k <= n; i++) { /* share of the subsets whose best is trial i: C(n-1-i, k-1) / C(n, k) */
        mean += share * x[i];
        below += share;
        if (first < 0 && below > 0.025) first = below, low = i;
        if (last < 0 && below >= 0.975 - 1e-12) last = below, high = i;
        share *= n - 1 - i ? (double)(n - i - k) / (double)(n - 1 - i) : 0;
    }
    double sign = lower ? 1 : -1;
    best_of out = {sign * mean, sign * x[low], sign * x[high]};
    if (!lower) out.low = sign * x[high], out.high = sign * x[low];
    free(x);
    if (!isfinite(out.mean)) out.mean = NAN;
    if (!isfinite(out.low)) out.low = NAN;
    if (!isfinite(out.high)) out.high = NAN;
    return out;
}
