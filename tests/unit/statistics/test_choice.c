/* The variance that the choice of a searched setting adds to a row's mean equals the closed form for two candidates;
 * and two rows tuned alike, each by its own search, are called different no more often than allowed. ABLATE_TEST_LONG
 * simulates every second search, ABLATE_TEST_WHOLE all, and more of each. */
#include "lab/statistics/choice.h"
#include "base/distribution.h"
#include "lab/statistics/design.h"
#include "lab/statistics/scale.h"
#include "test.h"
#include <math.h>

enum { MOST_CANDIDATES = 5, MOST_SEEDS = 20 };

static void check_two(double behind, double sd)
{
    double p = normal_tail(behind / (sd * sqrt(2)));
    CHECK_NEAR(choice_variance((double[]){0, behind}, 2, sd), p * (1 - p) * behind * behind, 1e-11 * behind * behind);
    CHECK_NEAR(choice_variance((double[]){0, INFINITY, behind}, 3, sd), p * (1 - p) * behind * behind,
               1e-11 * behind * behind);
}

typedef struct {
    size_t candidates, seeds;
    double spread; /* spread of the candidates' true values, in standard deviations over seeds */
    bool curve;    /* true: the candidates' true values lie on a parabola; false: they are random */
} scene;

static void candidates_of(const scene *x, rng *r, double *truth)
{
    double at = rng_uniform(r) * (double)(x->candidates - 1);
    for (size_t k = 0; k < x->candidates; k++)
        truth[k] = x->spread * (x->curve ? ((double)k - at) * ((double)k - at) : fabs(rng_normal(r)));
}

/* Simulates a search with one run per candidate, then new seeds of the chosen one. */
static arm tuned(const scene *x, const double *truth, rng *r)
{
    double trial[MOST_CANDIDATES], scores[MOST_SEEDS];
    size_t best = 0;
    for (size_t k = 0; k < x->candidates; k++) {
        trial[k] = truth[k] + rng_normal(r);
        if (trial[k] < trial[best]) best = k;
    }
    for (size_t s = 0; s < x->seeds; s++) scores[s] = truth[best] + rng_normal(r);
    double least = trial[best];
    for (size_t k = 0; k < x->candidates; k++) trial[k] -= least;
    arm a = arm_measure(scores, NULL, x->seeds, 0);
    a.choice = choice_variance(trial, x->candidates, sqrt(a.s2));
    return a;
}

/* Largest shares of false differences over all scenes: at 5 %, at Holm's first step over eight rows, and at 5 % without
 * the variance of the choice. */
typedef struct {
    double at_5, at_holm, without;
} worst;

static void check_alike(const scene *x, size_t trials, rng *r, worst *w)
{
    size_t rejected = 0, strictly = 0, without = 0;
    for (size_t i = 0; i < trials; i++) {
        double truth[MOST_CANDIDATES];
        candidates_of(x, r, truth);
        arm a = tuned(x, truth, r), b = tuned(x, truth, r);
        double p = design_compare(&a, &b, INFINITY).p;
        rejected += p <= 0.05, strictly += p <= 0.05 / 8;
        a.choice = b.choice = 0;
        without += design_compare(&a, &b, INFINITY).p <= 0.05;
    }
    double n = (double)trials, share = (double)rejected / n;
    printf("%zu candidates %s, spread %4.1f, %2zu seeds: %.1f %% at 5 %%, %.2f %% at 0.62 %%; without: %.1f %%\n",
           x->candidates, x->curve ? "on a curve" : "by chance", x->spread, x->seeds, 100 * share,
           100 * (double)strictly / n, 100 * (double)without / n);
    CHECK(share <= 0.06 + 3 * sqrt(0.06 * 0.94 / n));
    CHECK((double)strictly / n <= 0.01 + 3 * sqrt(0.01 * 0.99 / n));
    w->at_5 = fmax(w->at_5, share), w->at_holm = fmax(w->at_holm, (double)strictly / n);
    w->without = fmax(w->without, (double)without / n);
}

/* ---- over sizes ---- */

enum { SIZES = 5, RUNS = 3 };
static const double sizes[SIZES] = {1e4, 3e4, 1e5, 3e5, 1e6}, SD = 0.01;
static const size_t runs[SIZES] = {RUNS, RUNS, RUNS, RUNS, RUNS};

typedef struct {
    double loss[SIZES][RUNS], choice[SIZES];
    const double *losses[SIZES];
} searched;

/* Draws losses by the same law for every row; at each size the learning rate is searched anew. */
static void search_sizes(double spread, double truth[SIZES][MOST_CANDIDATES], size_t candidates, rng *r, searched *out)
{
    for (size_t i = 0; i < SIZES; i++) {
        scene x = {candidates, RUNS, spread, true};
        double trial[MOST_CANDIDATES], least = INFINITY;
        size_t best = 0;
        for (size_t k = 0; k < x.candidates; k++) {
            trial[k] = truth[i][k] + rng_normal(r);
            if (trial[k] < least) least = trial[best = k];
        }
        for (size_t k = 0; k < x.candidates; k++) trial[k] = SD * (trial[k] - least);
        for (size_t k = 0; k < RUNS; k++)
            out->loss[i][k] = 20 * pow(sizes[i], -0.2) * exp(SD * (truth[i][best] + rng_normal(r)));
        out->choice[i] = choice_variance(trial, x.candidates, SD);
        out->losses[i] = out->loss[i];
    }
}

static void check_sizes_alike(double spread, size_t candidates, size_t trials, rng *r, worst *w)
{
    size_t differ = 0, without = 0, slopes = 0, outside = 0;
    for (size_t t = 0; t < trials; t++) {
        double truth[SIZES][MOST_CANDIDATES];
        searched a, b;
        for (size_t i = 0; i < SIZES; i++) candidates_of(&(scene){candidates, RUNS, spread, true}, r, truth[i]);
        search_sizes(spread, truth, candidates, r, &a), search_sizes(spread, truth, candidates, r, &b);
        scale_points p = {SIZES, sizes, runs, a.losses, NULL, a.choice},
                     q = {SIZES, sizes, runs, b.losses, NULL, b.choice};
        scale_difference x = scale_compare(&p, &q);
        p.choice = q.choice = NULL;
        scale_difference y = scale_compare(&p, &q);
        for (size_t i = 0; i < SIZES; i++)
            differ += x.at[i].low > 0 || x.at[i].high<0, without += y.at[i].low> 0 || y.at[i].high < 0;
        slopes += x.slope_p <= 0.05;
        outside += x.at[SIZES - 1].d < x.check.low || x.at[SIZES - 1].d > x.check.high;
    }
    double n = (double)trials, of = n * SIZES;
    printf(
        "%zu candidates, spread %4.1f, sizes: %.1f %% differ, %.1f %% of slopes, %.1f %% outside; without: %.1f %%\n",
        candidates, spread, 100 * (double)differ / of, 100 * (double)slopes / n, 100 * (double)outside / n,
        100 * (double)without / of);
    CHECK((double)differ / of <= 0.06 + 3 * sqrt(0.06 * 0.94 / of));
    CHECK((double)slopes / n <= 0.06 + 3 * sqrt(0.06 * 0.94 / n));
    CHECK((double)outside / n <= 0.06 + 3 * sqrt(0.06 * 0.94 / n));
    w->without = fmax(w->without, ((double)without - (double)differ) / of);
}

int main(void)
{
    static const double spreads[] = {0, 0.3, 1, 2, 4, 10, 25};
    for (double behind = 0.01; behind < 20; behind *= 3) check_two(behind, 1), check_two(behind, 0.3);
    CHECK_NEAR(choice_variance((double[]){0}, 1, 1), 0, 0);
    CHECK_NEAR(choice_variance((double[]){0, 0, 0}, 3, 1), 0, 1e-15);
    CHECK_NEAR(choice_variance((double[]){0, 1}, 2, NAN), 0, 0);
    rng r = rng_seed(31, 7);
    worst w = {0};
    size_t trials = test_exhaustive() ? 8000 : test_long() ? 1000 : 1500;
    for (size_t candidates = 2; candidates <= MOST_CANDIDATES; candidates += candidates == 3 ? 2 : 1)
        for (size_t seeds = 3; seeds <= MOST_SEEDS; seeds = seeds == 3 ? 5 : seeds * 2)
            for (size_t i = 0; i < LENGTH(spreads); i++)
                for (int curve = 0; curve < 2; curve++) {
                    if (!test_long() && (candidates != 3 || (seeds != 5 && seeds != 20) || i % 2 || i > 4)) continue;
                    if (test_long() && !test_exhaustive() && (i + (size_t)curve) % 2) continue;
                    check_alike(&(scene){candidates, seeds, spreads[i], curve}, trials, &r, &w);
                }
    printf("at most %.1f %% at 5 %%, %.2f %% at 0.62 %%; without the choice up to %.1f %%\n", 100 * w.at_5,
           100 * w.at_holm, 100 * w.without);
    CHECK(w.without > 0.1);
    worst over_sizes = {0};
    for (size_t i = 0; i < LENGTH(spreads); i++)
        for (size_t candidates = 3; candidates <= MOST_CANDIDATES; candidates += 2)
            if (test_long() || (candidates == 3 && i % 2 == 0 && i <= 4))
                check_sizes_alike(spreads[i], candidates, trials, &r, &over_sizes);
    CHECK(over_sizes.without > 0.03); /* without the variance of the choice, more differ than allowed */
    return test_end();
}
