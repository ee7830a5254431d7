/* The best of k trials, compared with an enumeration of all subsets. */
#include "lab/statistics/best_of.h"
#include "test.h"
#include <math.h>
#include <stdlib.h>

enum { N = 9 };

static int ascending(const void *a, const void *b)
{
    double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

static void check_subsets(const double *x, bool lower)
{
    static double best[1 << N];
    for (size_t k = 1; k <= N; k++) {
        size_t count = 0;
        double sum = 0;
        for (unsigned set = 1; set < 1u << N; set++) {
            if ((size_t)__builtin_popcount(set) != k) continue;
            double b = lower ? INFINITY : -INFINITY;
            for (int i = 0; i < N; i++)
                if (set >> i & 1) b = lower ? fmin(b, x[i]) : fmax(b, x[i]);
            best[count++] = b, sum += b;
        }
        qsort(best, count, sizeof *best, ascending);
        best_of got = best_of_trials(x, N, k, lower);
        CHECK_NEAR(got.mean, sum / (double)count, 1e-12);
        /* at most 1/40 of the subsets lies beyond each limit, and a tighter limit would not do */
        size_t under = 0, over = 0, at_low = 0, at_high = 0;
        for (size_t i = 0; i < count; i++)
            under += best[i]<got.low, over += best[i]> got.high, at_low += best[i] == got.low,
                at_high += best[i] == got.high;
        double part = (double)count / 40;
        CHECK((double)under <= part && (double)over <= part + 1e-9);
        CHECK((double)(under + at_low) > part - 1e-9 && (double)(over + at_high) > part - 1e-9);
    }
}

int main(void)
{
    static const double x[N] = {12.5, 9.75, 31, 10.5, 9.5, 14, 11, 100, 10};
    check_subsets(x, true);
    check_subsets(x, false);
    /* Dodge's V-statistic, which draws with replacement, would give 9.25 here */
    CHECK_NEAR(best_of_trials((double[]){10, 9}, 2, 2, true).mean, 9, 0);
    CHECK_NEAR(best_of_trials((double[]){10, 9}, 2, 1, true).mean, 9.5, 0);
    /* a failed trial is never the best of two, but may be the best of one */
    best_of one = best_of_trials((double[]){3, NAN, 2}, 3, 1, true),
            two = best_of_trials((double[]){3, NAN, 2}, 3, 2, true);
    CHECK(isnan(one.mean) && isnan(one.high));
    CHECK_NEAR(one.low, 2, 0);
    CHECK_NEAR(two.mean, (2 + 2 + 3) / 3.0, 1e-15);
    return test_end();
}
