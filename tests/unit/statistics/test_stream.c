/* Rows that arrive one by one without a fixed end: levels computed by hand, and simulated streams of rows that share
 * one base. */
#include "test.h"
#include "lab/statistics/design.h"
#include "lab/statistics/stream.h"

enum { ROWS = 40 };

static void check_levels(void)
{
    /* 0.05 t^-1.6 / zeta(1.6), computed apart: 0.0218745085, 0.0072158967, 0.0037717621, 0.0023803582 */
    double p[4] = {0.02, NAN, 0.007, 0.004}, levels[4];
    stream_levels(p, 4, 0.05, levels);
    CHECK_NEAR(levels[0], 0.0218745085, 1e-9);
    CHECK_NEAR(levels[1], 2 * 0.0072158967, 1e-9); /* one row was rejected before; this row's own p is unknown */
    CHECK_NEAR(levels[2], 2 * 0.0037717621, 1e-9);
    CHECK_NEAR(levels[3], 3 * 0.0023803582, 1e-9);
    double sum = 0, many[1000], none[1000];
    for (size_t t = 0; t < 1000; t++) none[t] = 1;
    stream_levels(none, 1000, 0.05, many);
    for (size_t t = 0; t < 1000; t++) sum += many[t];
    /* adds the first 1,000 levels, and an integral for the remaining levels */
    CHECK_NEAR(sum + 0.05 / 2.28576566568 * pow(1000.5, -0.6) / 0.6, 0.05, 1e-6);
}

/* Simulates streams of ROWS rows with n seeds, of which every `each`-th truly differs by `effect` (0: none does).
 * Returns the mean share of false rejections among all; *found: the share of true differences that are found. */
static double simulate(rng *r, size_t n, size_t each, double effect, size_t streams, double *found)
{
    double false_share = 0;
    size_t true_found = 0, true_all = 0;
    for (size_t k = 0; k < streams; k++) {
        double p[ROWS], levels[ROWS], scores[10];
        for (size_t s = 0; s < n; s++) scores[s] = rng_normal(r);
        arm base = arm_measure(scores, NULL, n, 0);
        for (size_t t = 0; t < ROWS; t++) {
            bool real = each && t % each == each - 1;
            for (size_t s = 0; s < n; s++) scores[s] = rng_normal(r) + (real ? effect : 0);
            arm row = arm_measure(scores, NULL, n, 0);
            p[t] = design_compare(&row, &base, INFINITY).p;
        }
        stream_levels(p, ROWS, 0.05, levels);
        size_t wrong = 0, all = 0;
        for (size_t t = 0; t < ROWS; t++) {
            bool real = each && t % each == each - 1, rejected = p[t] <= levels[t];
            wrong += rejected && !real, all += rejected;
            true_all += real, true_found += real && rejected;
        }
        if (all) false_share += (double)wrong / (double)all;
    }
    *found = true_all ? (double)true_found / (double)true_all : NAN;
    return false_share / (double)streams;
}

static void check_streams(void)
{
    static const struct {
        size_t n, each;
        double effect, least_found;
    } cases[] = {{3, 0, 0, 0}, {5, 0, 0, 0}, {5, 4, 4, 0.4}, {5, 2, 4, 0.6}, {10, 4, 2.5, 0.5}, {10, 10, 4, 0.8}};
    rng r = rng_seed(20261125, 0);
    size_t streams = test_exhaustive() ? 20000 : test_long() ? 1500 : 300;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        double found, share = simulate(&r, cases[i].n, cases[i].each, cases[i].effect, streams, &found);
        printf(
            "%d rows, n %zu, every %zu. differs by %g sd: %.2f %% of those called different are not, found %.1f %%\n",
            ROWS, cases[i].n, cases[i].each, cases[i].effect, 100 * share, 100 * found);
        CHECK(share <= 0.05);
        if (cases[i].each) CHECK(found >= cases[i].least_found);
    }
}

int main(void)
{
    check_levels();
    check_streams();
    return test_end();
}
