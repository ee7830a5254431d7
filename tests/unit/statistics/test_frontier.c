/* Do more seeds of base give more power? A table has base and twenty rows, half of which differ by three root mean
 * squares of both standard deviations. Holm is over all rows, as in compare_rows. Four kinds of spread over seeds:
 * equal; log-normal; different by a factor of 20; one seed in five collapses by five. For these kinds, with five seeds
 * per row and twenty of base, at least 97, 86, 76 and 90 % of the differences are found. At most 5.5 % of tables
 * without any difference show one, with 3 to 20 seeds per row and up to 50 of base. If base has as many seeds as a row,
 * nothing changes. ABLATE_TEST_LONG simulates more tables, ABLATE_TEST_WHOLE 20,000. */
#include "test.h"
#include "base/distribution.h"
#include "lab/statistics/design.h"
#include "lab/statistics/variances.h"
#include "text/metric/stats.h"

enum { ROWS = 20, MOST_SEEDS = 50, SPREADS = 4 };
static const char *const spreads[SPREADS] = {"equal", "log-normal", "20-fold", "one in five collapses"};

static double spread_of(int kind, rng *r)
{
    return kind == 1 ? exp(0.5 * rng_normal(r)) : kind == 2 ? exp((rng_uniform(r) - 0.5) * log(20)) : 1;
}

/* Makes a row of n seeds around `mean` with standard deviation sd. */
static arm simulate(rng *r, int kind, size_t n, double mean, double sd)
{
    double x[MOST_SEEDS];
    for (size_t s = 0; s < n; s++) {
        x[s] = rng_normal(r);
        if (kind == 3) x[s] = (x[s] + 5 * (rng_uniform(r) < 0.2) - 1) / sqrt(1 + 25 * 0.16);
        x[s] = mean + sd * x[s];
    }
    return arm_measure(x, NULL, n, 0);
}

/* Fills p after Holm; the first half of the rows differ from base by `effect` times the root mean square of the row's
 * and base's standard deviations. */
static void simulate_table(rng *r, int kind, size_t n, size_t n_base, double effect, double *p)
{
    arm row[ROWS];
    double s2[ROWS], df[ROWS], sd0 = spread_of(kind, r);
    arm base = simulate(r, kind, n_base, 0, sd0);
    for (size_t i = 0; i < ROWS; i++) {
        double sd = spread_of(kind, r), away = i < ROWS / 2 ? effect * sqrt((sd * sd + sd0 * sd0) / 2) : 0;
        row[i] = simulate(r, kind, n, away, sd);
        s2[i] = row[i].s2, df[i] = row[i].df;
    }
    double most_df = share_variances(s2, df, ROWS, n_base, NULL, NULL).pool_df;
    for (size_t i = 0; i < ROWS; i++) {
        row[i].s2 = s2[i], row[i].df = df[i];
        p[i] = design_compare(&row[i], &base, most_df).p;
    }
    stats_holm(p, ROWS);
}

static double power(int kind, size_t n, size_t n_base, size_t tables, rng *r)
{
    double p[ROWS], found = 0;
    for (size_t t = 0; t < tables; t++) {
        simulate_table(r, kind, n, n_base, 3, p);
        for (size_t i = 0; i < ROWS / 2; i++) found += p[i] <= 0.05;
    }
    return 100 * found / (double)(tables * ROWS / 2);
}

static double family(int kind, size_t n, size_t n_base, size_t tables, rng *r)
{
    double p[ROWS], any = 0;
    for (size_t t = 0; t < tables; t++) {
        double least = 1;
        simulate_table(r, kind, n, n_base, 0, p);
        for (size_t i = 0; i < ROWS; i++) least = fmin(least, p[i]);
        any += least <= 0.05;
    }
    return 100 * any / (double)tables;
}

/* For each number of seeds, checks how many tables show a difference although there is none. */
static void check_families(size_t tables, rng *r)
{
    static const size_t cells[][2] = {{5, 10}, {3, 5},   {5, 50}, {5, 20}, {3, 20},
                                      {3, 50}, {10, 50}, {4, 8},  {7, 20}, {20, 50}};
    for (size_t i = 0; i < LENGTH(cells); i++)
        for (int kind = 0; kind < SPREADS; kind++) {
            double any = family(kind, cells[i][0], cells[i][1], tables, r);
            printf("%zu a row, %zu of base, %s: %.1f %% of tables without a difference show one\n", cells[i][0],
                   cells[i][1], spreads[kind], any);
            fflush(stdout);
            CHECK_NEAR(any, 0, 5.5 + 300 * sqrt(0.055 * 0.945 / (double)tables));
        }
}

/* With equal spreads, and as many seeds of base as of a row, the calibrated prior equals the estimated one bit for
 * bit. */
static void check_unchanged(void)
{
    shared_prior p = {.spread = 0.7, .prior_df = 3.5, .prior_s2 = 0.9}, one = {-0.1, INFINITY, 0.9, 80};
    shared_prior same_n = calibrated_prior(p, 4, 5), fewer = calibrated_prior(p, 4, 3),
                 common = calibrated_prior(one, 4, 20), more = calibrated_prior(p, 4, 20);
    CHECK_NEAR(same_n.prior_s2, p.prior_s2, 0);
    CHECK_NEAR(same_n.prior_df, p.prior_df, 0);
    CHECK_NEAR(fewer.prior_s2, p.prior_s2, 0);
    CHECK_NEAR(common.prior_s2, one.prior_s2, 0);
    CHECK(isinf(common.prior_df));
    CHECK_NEAR(more.prior_s2, 0.9 * exp(0.75 * sqrt(log(4)) * (M_PI * M_PI / 6 - 1) * sqrt(0.7)), 1e-12);
    double at_three = trigamma(1.5), steeper = at_three * pow(at_three / trigamma(2), 0.3);
    CHECK_NEAR(calibrated_prior(p, 3, 8).prior_s2, 0.9 * exp(0.75 * sqrt(log(2)) * steeper * sqrt(0.7)), 1e-12);
    CHECK_NEAR(more.prior_df, 3.5 * exp(-0.2 * sqrt(log(4)) * (M_PI * M_PI / 6 - 1) * sqrt(0.7)), 1e-12);
}

int main(void)
{
    static const double promised[SPREADS] = {97, 86, 76, 90};
    size_t tables = test_exhaustive() ? 20000 : test_long() ? 1000 : 60;
    double noise = tables < 20000 ? 30 / sqrt((double)tables) : 0;
    rng r = rng_seed(20261129, 0);
    check_unchanged();
    for (int kind = 0; kind < SPREADS; kind++) {
        double alike = power(kind, 5, 5, tables, &r), more = power(kind, 5, 20, tables, &r);
        printf("%s: five seeds a row find %.1f %% with five of base, %.1f %% with twenty\n", spreads[kind], alike,
               more);
        CHECK(more >= promised[kind] - noise);
        CHECK(more >= alike + 15);
    }
    if (test_long()) check_families(tables, &r);
    return test_end();
}
