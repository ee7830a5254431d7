/* Tests and intervals against cases worked by hand, full enumeration, and figures that mpmath computed with 30
 * digits. */
#include "test.h"
#include "text/metric/bleu.h"
#include "text/metric/metric.h"

enum { MAX_WIDTH = BLEU_STATS };

/* p over all 2^n ways to swap the outputs of n sentences; randomisation approximates this p. */
static double exact_p(stats_score score, const double *a, const double *b, size_t n, size_t width)
{
    double observed = 0;
    int as_large = 0, all = 1 << n;
    for (int swaps = 0; swaps < all; swaps++) {
        double x[MAX_WIDTH] = {0}, y[MAX_WIDTH] = {0};
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < width; k++) {
                double from_a = a[i * width + k], from_b = b[i * width + k];
                x[k] += swaps >> i & 1 ? from_b : from_a;
                y[k] += swaps >> i & 1 ? from_a : from_b;
            }
        double gap = fabs(score(x, NULL) - score(y, NULL));
        if (swaps == 0) observed = gap;
        if (gap >= observed - 1e-9) as_large++;
    }
    return (double)as_large / all;
}

/* Five standard deviations of a count out of STATS_TRIALS. */
static double allowed(double p) { return 5 * sqrt(p * (1 - p) / STATS_TRIALS) + 1.0 / STATS_TRIALS; }

static void check_by_hand(void)
{
    /* Three sentences of ten words; b has 5, 3, 1 more right. Of the 8 ways to swap sentences only two give so large a
     * difference: swapping all, and swapping none. */
    double a[] = {1, 10, 2, 10, 4, 10}, b[] = {6, 10, 5, 10, 5, 10};
    CHECK_NEAR(exact_p(stats_ratio, a, b, 3, 2), 0.25, 0);
    CHECK_NEAR(stats_paired_p(stats_ratio, NULL, a, b, 3, 2, STATS_TRIALS, STATS_SEED), 0.25, allowed(0.25));
    /* Differences +3, +1, +1, -1 sum to 4. Of the eight choices of signs that keep +3, three also sum to 4 and one sums
     * to 6; with -3 as many are as far below zero: 8 of 16. */
    double c[] = {0, 9, 0, 9, 0, 9, 1, 9}, d[] = {3, 9, 1, 9, 1, 9, 0, 9};
    CHECK_NEAR(exact_p(stats_ratio, c, d, 4, 2), 0.5, 0);
    CHECK_NEAR(stats_paired_p(stats_ratio, NULL, c, d, 4, 2, STATS_TRIALS, STATS_SEED), 0.5, allowed(0.5));
    for (size_t i = 0; i < 8; i += 2) c[i] *= 1e-12, d[i] *= 1e-12; /* p does not depend on the unit */
    CHECK_NEAR(stats_paired_p(stats_ratio, NULL, c, d, 4, 2, STATS_TRIALS, STATS_SEED), 0.5, allowed(0.5));
    /* one sentence, or no difference: every swap differs as much */
    CHECK_NEAR(stats_paired_p(stats_ratio, NULL, a, b, 1, 2, STATS_TRIALS, STATS_SEED), 1, 0);
    CHECK_NEAR(stats_paired_p(stats_ratio, NULL, a, a, 3, 2, STATS_TRIALS, STATS_SEED), 1, 0);
    CHECK(isnan(stats_paired_p(stats_ratio, NULL, a, b, 0, 2, STATS_TRIALS, STATS_SEED)));
    /* 30 sentences, and b is better in each: no random swap gives so large a difference, so p is its minimum, 1 of
     * 10,001 */
    double low[60], high[60];
    for (int i = 0; i < 60; i++) low[i] = i % 2 ? 10 : 3, high[i] = i % 2 ? 10 : 4;
    CHECK_NEAR(stats_paired_p(stats_ratio, NULL, low, high, 30, 2, STATS_TRIALS, STATS_SEED), 1 / 10001., 1e-15);
}

/* Random statistics of n <= 10 sentences against enumeration, for both directions of a metric. */
static void check_enumerated(ab_sum kind, size_t n, uint64_t seed)
{
    double a[10 * MAX_WIDTH], b[10 * MAX_WIDTH];
    size_t width = aggregation_of(kind)->width;
    rng r = rng_seed(seed, 7);
    for (size_t i = 0; i < n * width; i++) {
        size_t k = i % width;
        bool total = kind == AB_SUM_RATIO ? k == 1 : kind == AB_SUM_F1 ? k > 0 : k < 2 || k >= 6;
        a[i] = (double)(total ? 12 + rng_below(&r, 5) : rng_below(&r, 9));
        b[i] = (double)(total ? 12 + rng_below(&r, 5) : 1 + rng_below(&r, 9));
    }
    stats_score score = aggregation_of(kind)->score;
    double exact = exact_p(score, a, b, n, width);
    double p = stats_paired_p(score, NULL, a, b, n, width, STATS_TRIALS, STATS_SEED);
    CHECK_NEAR(p, exact, allowed(exact));
    CHECK_NEAR(stats_paired_p(score, NULL, b, a, n, width, STATS_TRIALS, STATS_SEED), p, 1e-15);
    CHECK_NEAR(stats_paired_p(score, NULL, a, b, n, width, STATS_TRIALS, STATS_SEED + 1), exact, allowed(exact));
}

static void check_scores(void)
{
    double ratio[] = {3, 4}, empty[MAX_WIDTH] = {0}, f1[] = {2, 4, 5}, bleu[] = {4, 4, 4, 3, 2, 1, 4, 3, 2, 1};
    CHECK_NEAR(stats_ratio(ratio, NULL), 75, 1e-12);
    CHECK_NEAR(stats_f1(f1, NULL), 400. / 9, 1e-12);
    CHECK_NEAR(stats_bleu(bleu, NULL), 100, 1e-9);
    for (int kind = AB_SUM_RATIO; kind <= AB_SUM_F1; kind++)
        CHECK_NEAR(aggregation_of((ab_sum)kind)->score(empty, NULL), 0, 0);
    CHECK(aggregation_of((ab_sum)9) == NULL);
    CHECK_INT(aggregation_of(AB_SUM_BLEU)->width, 10);
}

static void check_holm(void)
{
    /* Sorted: .005 x 4, .01 x 3, .03 x 2, .04 x 1, of which the last is raised to the .06 before it */
    double p[] = {0.01, 0.04, NAN, 0.03, 0.005}, adjusted[] = {0.03, 0.06, NAN, 0.06, 0.02}, one[] = {0.2},
           large[] = {0.9, 0.6};
    CHECK_INT(stats_holm(p, 5), 4);
    for (int i = 0; i < 5; i++)
        if (i == 2)
            CHECK(isnan(p[i]));
        else
            CHECK_NEAR(p[i], adjusted[i], 1e-15);
    CHECK_INT(stats_holm(one, 1), 1);
    CHECK_NEAR(one[0], 0.2, 0);
    CHECK_INT(stats_holm(large, 2), 2);
    CHECK_NEAR(large[0], 1, 0);
    CHECK_NEAR(large[1], 1, 0);
    CHECK_INT(stats_holm(NULL, 0), 0);
}

static void test_median(void)
{
    CHECK_NEAR(stats_median((double[]){3, -1, 2}, 3), 2, 0);
    CHECK_NEAR(stats_median((double[]){4, 1, 3, 2}, 4), 3, 0);
    CHECK(isnan(stats_median((double[]){0}, 0)));
}

int main(void)
{
    test_median();
    check_by_hand();
    for (size_t n = 2; n <= 10; n++)
        for (int kind = AB_SUM_RATIO; kind <= AB_SUM_F1; kind++)
            for (uint64_t seed = 1; seed <= 4; seed++) check_enumerated((ab_sum)kind, n, seed);
    check_scores();
    check_holm();
    return test_end();
}
