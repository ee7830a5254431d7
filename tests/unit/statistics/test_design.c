/* The statistics over seeds and sentences equal independently computed numbers (statistics_worked.h). */
#include "test.h"
#include "text/metric/documents.h"
#include "lab/statistics/design.h"
#include "base/distribution.h"
#include "text/metric/influence.h"
#include "lab/statistics/scale.h"
#include "text/metric/stats.h"
#include "lab/statistics/variances.h"
#include "statistics_worked.h"
#include <stdlib.h>
#include <string.h>

/* Equality to the nine printed digits. */
#define CHECK_PRINTED(found, printed) CHECK_NEAR(found, printed, 6e-9 * fmax(fabs((double)(printed)), 1e-3))

static double score(const worked_case *c, const double *rows, double *z)
{
    if (c->width == 2) return influence_log_ratio(rows, WORKED_SENTENCES, NULL, z);
    return c->width == 3 ? influence_f1(rows, WORKED_SENTENCES, NULL, z)
                         : influence_bleu(rows, WORKED_SENTENCES, NULL, z);
}

static arm measured(const worked_case *c, const double *rows, const double *scores)
{
    double z[WORKED_SEEDS * WORKED_SENTENCES], found[WORKED_SEEDS];
    for (size_t s = 0; s < WORKED_SEEDS; s++) {
        double sum = 0, *of = z + s * WORKED_SENTENCES;
        found[s] = score(c, rows + s * WORKED_SENTENCES * c->width, of);
        CHECK_PRINTED(found[s], scores[s]);
        for (size_t j = 0; j < WORKED_SENTENCES; j++) sum += of[j];
        CHECK_NEAR(sum, 0, 1e-10);
        if (rows == c->variant && s == 0)
            for (size_t j = 0; j < WORKED_SENTENCES; j++) CHECK_PRINTED(of[j], c->influence[j]);
    }
    return arm_measure(found, z, WORKED_SEEDS, WORKED_SENTENCES);
}

static void check_case(const worked_case *c)
{
    arm row = measured(c, c->variant, c->scores1), base = measured(c, c->base, c->scores0);
    difference x = design_compare(&row, &base, INFINITY);
    double var_d = 0, half90 = howe_half_width(x.v, x.df, x.u, 0, 0.10);
    for (size_t j = 0; j < WORKED_SENTENCES; j++)
        var_d += (row.z[j] - base.z[j]) * (row.z[j] - base.z[j]) / (WORKED_SENTENCES - 1);
    CHECK_PRINTED(row.s2, c->s2_1);
    CHECK_PRINTED(base.s2, c->s2_0);
    CHECK_PRINTED(row.msi, c->msi1);
    CHECK_PRINTED(base.msi, c->msi0);
    CHECK_PRINTED(var_d, c->var_d);
    CHECK_PRINTED(arm_seed_sd(&row), c->sd_seed1);
    CHECK_PRINTED(x.d, c->d);
    CHECK_PRINTED(x.v, c->v);
    CHECK_PRINTED(x.df, c->df_welch);
    CHECK_PRINTED(x.u, c->u);
    CHECK_PRINTED(howe_p(x.d, x.v, x.df, 0, 0), c->p_welch);
    CHECK_PRINTED((x.high - x.low) / 2, c->half);
    CHECK_PRINTED(x.low, c->low);
    CHECK_PRINTED(x.high, c->high);
    CHECK_PRINTED(x.p, c->p);
    CHECK_PRINTED(x.d - half90, c->low90);
    CHECK_PRINTED(x.d + half90, c->high90);
    CHECK_PRINTED(margin_p(c->margin - fabs(x.d), x.v, x.df, x.u, 0), c->p_tost);
    CHECK_PRINTED(permutation_p(c->scores1, WORKED_SEEDS, c->scores0, WORKED_SEEDS), c->p_permutation);
    superiority s = superiority_of(c->scores1, WORKED_SEEDS, c->scores0, WORKED_SEEDS, 1);
    CHECK_PRINTED(s.theta, c->superior);
    CHECK_PRINTED(s.low, c->superior_low);
    CHECK_PRINTED(s.high, c->superior_high);
    if (!strcmp(c->name, "log_PPL")) {
        const double percent[] = {100 * expm1(x.d), 100 * expm1(x.low), 100 * expm1(x.high)};
        for (size_t i = 0; i < LENGTH(percent); i++) CHECK_PRINTED(percent[i], worked_as_percent[i]);
    }
    arm_free(&row);
    arm_free(&base);
}

static void check_formulas(void)
{
    for (size_t i = 0; i < LENGTH(worked_howe); i++) {
        CHECK_PRINTED(howe_half_width(worked_howe[i].v, worked_howe[i].df, worked_howe[i].u, 0, 0.05),
                      worked_howe[i].half);
        CHECK_PRINTED(howe_p(worked_howe[i].d, worked_howe[i].v, worked_howe[i].df, worked_howe[i].u, 0),
                      worked_howe[i].p);
    }
    for (size_t i = 0; i < LENGTH(worked_t); i++)
        CHECK_PRINTED(t_upper(1 - worked_t[i].p, worked_t[i].df), worked_t[i].t);
    for (size_t i = 0; i < LENGTH(worked_trigamma); i++)
        CHECK_PRINTED(trigamma_inverse(worked_trigamma[i].y), worked_trigamma[i].x);
    for (size_t i = 0; i < LENGTH(worked_newcombe); i++) {
        superiority s = superiority_interval(worked_newcombe[i].theta, worked_newcombe[i].n1, worked_newcombe[i].n0);
        CHECK_NEAR(s.low, worked_newcombe[i].low, 1e-8); /* theta itself is printed to nine digits */
        CHECK_NEAR(s.high, worked_newcombe[i].high, 1e-8);
    }
    arm base = arm_measure(worked_base, NULL, LENGTH(worked_base), 0);
    prediction one = predict_one(&base, worked_one_seed.x);
    CHECK_PRINTED(worked_one_seed.x - base.mean, worked_one_seed.d);
    CHECK_PRINTED(one.t, worked_one_seed.t);
    CHECK_PRINTED(one.df, worked_one_seed.df);
    CHECK_PRINTED(one.p, worked_one_seed.p);
    CHECK_PRINTED(one.half, worked_one_seed.half);
}

/* Equals the figures of tests/oracle/planning.py, which integrates with scipy's densities. */
static void check_planning(void)
{
    for (size_t i = 0; i < LENGTH(worked_detectable); i++) {
        arm row = arm_planned(worked_detectable[i].n1, worked_detectable[i].s1 * worked_detectable[i].s1),
            base = arm_planned(worked_detectable[i].n0, worked_detectable[i].s0 * worked_detectable[i].s0);
        double alpha = worked_detectable[i].alpha, power = worked_detectable[i].power, u = worked_detectable[i].u;
        row.prior_df = worked_detectable[i].prior_df, row.prior_s2 = row.expected_s2;
        double found = least_detectable(&row, &base, u, worked_detectable[i].most_df, alpha, power);
        CHECK_NEAR(found, worked_detectable[i].detectable, 5e-3 * found);
        CHECK_PRINTED(least_detectable_floor(u, alpha, power), worked_detectable[i].floor);
    }
    for (size_t i = 0; i < LENGTH(worked_seeds); i++)
        CHECK_INT(
            seeds_needed(worked_seeds[i].wanted, worked_seeds[i].s1, worked_seeds[i].s0, worked_seeds[i].u, 0.05, 0.8),
            worked_seeds[i].n);
    CHECK_NEAR(t_upper(0.025, 8), 2.30600414, 1e-8);
}

static void check_many(void)
{
    double p[LENGTH(worked_holm_p)];
    memcpy(p, worked_holm_p, sizeof p);
    CHECK_INT(stats_holm(p, LENGTH(p)), LENGTH(p));
    for (size_t i = 0; i < LENGTH(p); i++) CHECK_PRINTED(p[i], worked_holm[i]);
    for (size_t k = 1; k <= N_LOOKS; k++) CHECK_PRINTED(repeated_p(worked_looks_p, k), worked_repeated[k - 1]);
    const double late[] = {NAN, NAN, 0.003, 0.5};
    CHECK_NEAR(repeated_p(late, 2), 1, 0);
    CHECK_NEAR(repeated_p(late, 4), 0.01, 1e-12);
    for (size_t i = 0; i < LENGTH(worked_least_p); i++) {
        double a[20], b[20];
        size_t n = worked_least_p[i].n;
        for (size_t s = 0; s < n; s++) a[s] = 10 + (double)s, b[s] = (double)s / 7;
        CHECK_NEAR(permutation_p(a, n, b, n), worked_least_p[i].two_sample, 1e-12);
        for (size_t s = 0; s < n; s++) a[s] *= 1e-13, b[s] *= 1e-13; /* p does not depend on the unit */
        CHECK_NEAR(permutation_p(a, n, b, n), worked_least_p[i].two_sample, 1e-12);
    }
    double many[21] = {0};
    CHECK(isnan(permutation_p(many, 11, many, 10)));
}

static void check_sharing(void)
{
    for (size_t i = 0; i < LENGTH(worked_squeeze); i++) {
        double s2[WORKED_MOST_ROWS], df[WORKED_MOST_ROWS], moderated[WORKED_MOST_ROWS];
        bool outlier[WORKED_MOST_ROWS];
        size_t n = worked_squeeze[i].n;
        memcpy(s2, worked_squeeze[i].s2, sizeof s2);
        memcpy(df, worked_squeeze[i].df, sizeof df);
        shared_prior prior = share_variances(s2, df, n, 0, moderated, outlier);
        CHECK_PRINTED(prior.spread, worked_squeeze[i].spread);
        if (isinf(worked_squeeze[i].prior_df))
            CHECK(isinf(prior.prior_df));
        else
            CHECK_PRINTED(prior.prior_df, worked_squeeze[i].prior_df);
        CHECK_PRINTED(prior.prior_s2, worked_squeeze[i].prior_s2);
        CHECK_PRINTED(prior.pool_df, worked_squeeze[i].pool_df);
        for (size_t k = 0; k < n; k++) {
            CHECK_INT(outlier[k], worked_squeeze[i].outlier[k]);
            CHECK_PRINTED(moderated[k], worked_squeeze[i].moderated[k]);
            CHECK_PRINTED(s2[k], worked_squeeze[i].guarded[k]);
            CHECK_PRINTED(df[k], worked_squeeze[i].shared_df[k]);
        }
        if (i) continue;
        arm row = {.n = worked_shared_row.n1, .mean = worked_shared_row.d, .s2 = s2[3], .df = df[3]};
        arm base = {.n = worked_shared_row.n0, .s2 = s2[0], .df = df[0]};
        difference x = design_compare(&row, &base, prior.pool_df);
        CHECK_PRINTED(x.v, worked_shared_row.v);
        CHECK_PRINTED(x.df, worked_shared_row.df);
        CHECK_PRINTED(howe_half_width(x.v, x.df, worked_shared_row.u, 0, 0.05), worked_shared_row.half);
        CHECK_PRINTED(howe_p(x.d, x.v, x.df, worked_shared_row.u, 0), worked_shared_row.p);
    }
}

/* A contrast with weights 1 and -1 is a comparison; one over four rows has a quarter of the variance. */
static void check_contrast(void)
{
    const worked_case *c = &worked_cases[0];
    arm rows[4] = {measured(c, c->variant, c->scores1), measured(c, c->base, c->scores0),
                   measured(c, c->variant, c->scores1), measured(c, c->base, c->scores0)};
    const double two[] = {1, -1}, four[] = {0.5, -0.5, 0.5, -0.5};
    difference pair = design_compare(&rows[0], &rows[1], INFINITY), x = design_contrast(rows, two, 2),
               all = design_contrast(rows, four, 4);
    CHECK_NEAR(x.d, pair.d, 1e-12);
    CHECK_NEAR(x.v, pair.v, 1e-12);
    CHECK_NEAR(x.df, pair.df, 1e-12);
    CHECK_NEAR(x.u, pair.u, 1e-12);
    CHECK_NEAR(x.p, pair.p, 1e-12);
    CHECK_NEAR(all.d, pair.d, 1e-12);
    CHECK_NEAR(all.v, pair.v / 2, 1e-12);
    CHECK_NEAR(all.df, 2 * pair.df, 1e-12);
    rows[3].n = 1;
    CHECK(isnan(design_contrast(rows, four, 4).p));
    rows[3].n = 3;
    for (size_t i = 0; i < 4; i++) arm_free(&rows[i]);
}

/* Losses that follow a power law exactly, then with noise. */
static void check_scale(void)
{
    enum { SIZES = 5, RUNS = 4 };
    const double sizes[SIZES] = {1e4, 3e4, 1e5, 3e5, 1e6};
    size_t runs[SIZES], one[SIZES];
    double own[SIZES][RUNS], better[SIZES][RUNS];
    const double *of[SIZES], *other[SIZES];
    rng r = rng_seed(3, 1);
    for (size_t i = 0; i < SIZES; i++) {
        runs[i] = RUNS, one[i] = 1, of[i] = own[i], other[i] = better[i];
        for (size_t k = 0; k < RUNS; k++)
            own[i][k] = 20 * pow(sizes[i], -0.2), better[i][k] = 20 * pow(2 * sizes[i], -0.2);
    }
    scale_points base = {SIZES, sizes, runs, of, NULL, NULL}, row = {SIZES, sizes, runs, other, NULL, NULL},
                 single = {SIZES, sizes, one, of, NULL, NULL}, few = {2, sizes, runs, of, NULL, NULL};
    scale_fit f = scale_fitted(&row, &base, 1);
    CHECK_NEAR(f.exponent, 0.2, 1e-12);
    CHECK_NEAR(f.speedup, 2, 1e-9); /* the row needs half as many parameters for the same loss */
    CHECK_NEAR(f.low, 0.2, 1e-12);
    CHECK_NEAR(f.speedup_high, 2, 1e-9);
    CHECK(isnan(scale_fitted(&few, NULL, 1).exponent));
    size_t covered = 0, tries = 100, covered_single = 0;
    for (size_t t = 0; t < tries; t++) {
        for (size_t i = 0; i < SIZES; i++)
            for (size_t k = 0; k < RUNS; k++) own[i][k] = 20 * pow(sizes[i], -0.2) * exp(0.05 * rng_normal(&r));
        f = scale_fitted(&base, NULL, t);
        covered += f.low <= 0.2 && 0.2 <= f.high;
        CHECK(f.low < f.exponent && f.exponent < f.high && isnan(f.speedup));
        f = scale_fitted(&single, NULL, t);
        covered_single += f.low <= 0.2 && 0.2 <= f.high;
    }
    CHECK(covered >= 80 && covered_single >= 80); /* a bootstrap of few points covers less than 95 % */
}

/* The difference of two designs is linear in the logarithm of the size: intervals cover, and smaller sizes predict the
 * largest. Golden numbers: least squares in scipy (tests/oracle/scale_golden.py). */
static void check_scale_difference(void)
{
    enum { SIZES = 5, RUNS = 3 };
    const double sizes[SIZES] = {1e4, 3e4, 1e5, 3e5, 1e6};
    const size_t runs[SIZES] = {RUNS, RUNS, RUNS, RUNS, RUNS};
    double own[SIZES][RUNS], better[SIZES][RUNS];
    const double *of[SIZES], *other[SIZES];
    for (size_t i = 0; i < SIZES; i++) of[i] = own[i], other[i] = better[i];
    scale_points base = {SIZES, sizes, runs, of, NULL, NULL}, row = {SIZES, sizes, runs, other, NULL, NULL};
    rng r = rng_seed(5, 1);
    size_t inside = 0, next_inside = 0, check_inside = 0, tries = 400, slopes = 0;
    for (size_t t = 0; t < tries; t++) {
        for (size_t i = 0; i < SIZES; i++)
            for (size_t k = 0; k < RUNS; k++) {
                own[i][k] = 20 * pow(sizes[i], -0.2) * exp(0.01 * rng_normal(&r));
                better[i][k] = 20 * pow(sizes[i], -0.2) * exp(0.02 * log(sizes[i] / 1e5) + 0.01 * rng_normal(&r));
            }
        scale_difference x = scale_compare(&row, &base);
        CHECK_INT(x.n, SIZES);
        CHECK_NEAR(x.next.size, 4e6, 1e-3);
        for (size_t i = 0; i < SIZES; i++) {
            double d = 0.02 * log(sizes[i] / 1e5);
            inside += x.at[i].low <= d && d <= x.at[i].high;
        }
        double next = 0.02 * log(40);
        next_inside += x.next.low <= next && next <= x.next.high;
        check_inside += x.check.low <= x.at[SIZES - 1].d && x.at[SIZES - 1].d <= x.check.high;
        slopes += x.slope_low <= 0.02 && 0.02 <= x.slope_high;
        CHECK(isnan(x.turns) || (x.turns > 1e4 && x.turns < 4e6));
    }
    CHECK(inside >= 0.93 * SIZES * tries && inside <= 0.97 * SIZES * tries);
    CHECK(slopes >= 0.93 * tries && next_inside >= 0.93 * tries && check_inside >= 0.93 * tries);
    /* golden */
    const double a[SIZES][2] = {{3.10, 3.14}, {2.61, 2.57}, {2.05, 2.09}, {1.66, 1.68}, {1.30, 1.28}},
                 b[SIZES][2] = {{3.02, 3.06}, {2.58, 2.56}, {2.07, 2.05}, {1.70, 1.69}, {1.37, 1.35}};
    const size_t two[SIZES] = {2, 2, 2, 2, 2};
    const double *pa[SIZES], *pb[SIZES];
    for (size_t i = 0; i < SIZES; i++) pa[i] = a[i], pb[i] = b[i];
    scale_difference x = scale_compare(&(scale_points){SIZES, sizes, two, pb, NULL, NULL},
                                       &(scale_points){SIZES, sizes, two, pa, NULL, NULL});
    CHECK_NEAR(x.at[0].d, -0.02597658, 1e-8);
    CHECK_NEAR(x.at[4].high - x.at[4].d, 0.04609553, 1e-8);
    CHECK_NEAR(x.slope, 0.01567012048346601, 1e-12);
    CHECK_NEAR(x.slope_high - x.slope, 0.00676682414236019, 1e-12);
    CHECK_NEAR(x.slope_p, 0.001922934950410675, 1e-12);
    CHECK_NEAR(x.next.d, 0.06397621674271126, 1e-12);
    CHECK_NEAR(x.next.low, 0.03308232245883461, 1e-12);
    CHECK_NEAR(x.check.d, 0.02587479612868692, 1e-12);
    CHECK_NEAR(x.check.high, 0.06312293047284022, 1e-12);
    CHECK_NEAR(x.turns, 67448.30091816711, 1e-6);
    size_t alone[SIZES] = {1, 1, 1, 1, 1};
    CHECK_INT(scale_compare(&(scale_points){SIZES, sizes, alone, pb, NULL, NULL},
                            &(scale_points){SIZES, sizes, alone, pa, NULL, NULL})
                  .n,
              0);
}

/* Two equal designs whose spread over seeds differs 20-fold between sizes, as in scale-translation: at most 6 % are
 * called different at each size, in trend, and in the prediction from smaller sizes. */
static void check_scale_level(size_t seeds, size_t tries)
{
    enum { SIZES = 6, MOST = 5 };
    static const double sd[SIZES] = {0.054, 0.003, 0.0025, 0.003, 0.005, 0.038},
                        sizes[SIZES] = {1e4, 3e4, 1e5, 3e5, 1e6, 3e6};
    double loss[2][SIZES][MOST], differ[SIZES] = {0}, slopes = 0, outside = 0, most;
    size_t runs[SIZES];
    const double *of[2][SIZES];
    rng r = rng_seed(7, seeds);
    for (size_t t = 0; t < tries; t++) {
        for (size_t k = 0; k < 2; k++)
            for (size_t i = 0; i < SIZES; i++) {
                runs[i] = seeds, of[k][i] = loss[k][i];
                for (size_t s = 0; s < seeds; s++)
                    loss[k][i][s] = 20 * pow(sizes[i], -0.2) * exp(sd[i] * rng_normal(&r));
            }
        scale_difference x = scale_compare(&(scale_points){SIZES, sizes, runs, of[0], NULL, NULL},
                                           &(scale_points){SIZES, sizes, runs, of[1], NULL, NULL});
        for (size_t i = 0; i < SIZES; i++) differ[i] += x.at[i].low > 0 || x.at[i].high < 0;
        slopes += x.slope_p <= 0.05;
        outside += !(x.check.low <= x.at[SIZES - 1].d && x.at[SIZES - 1].d <= x.check.high);
    }
    most = 100 * (0.06 + (test_long() ? 0 : 3 * sqrt(0.06 * 0.94 / (double)tries)));
    for (size_t i = 0; i < SIZES; i++) CHECK_NEAR(100 * differ[i] / (double)tries, 0, most);
    CHECK_NEAR(100 * slopes / (double)tries, 0, most);
    CHECK_NEAR(100 * outside / (double)tries, 0, most);
    printf("%zu seeds, 20-fold spreads: %.1f %% differ at the smallest, %.1f %% of trends, %.1f %% outside\n", seeds,
           100 * differ[0] / (double)tries, 100 * slopes / (double)tries, 100 * outside / (double)tries);
}

/* Checks the formulas in extreme cases. */
static void check_edges(void)
{
    const double one[] = {3}, equal[] = {4, 4, 4}, lower[] = {3, 3, 3}, broken_run[] = {5, NAN};
    arm a = arm_measure(equal, NULL, 3, 0), b = arm_measure(lower, NULL, 3, 0), c = arm_measure(one, NULL, 1, 0),
        d = arm_measure(NULL, NULL, 0, 0);
    CHECK_NEAR(design_compare(&a, &b, INFINITY).p, 0, 0); /* no variance at all, and a difference */
    CHECK_NEAR(design_compare(&a, &a, INFINITY).p, 1, 0);
    CHECK_NEAR(design_compare(&a, &b, INFINITY).low, 1, 0);
    CHECK(isnan(design_compare(&a, &c, INFINITY).p) && isnan(design_compare(&c, &b, INFINITY).low));
    CHECK_NEAR(design_compare(&a, &c, INFINITY).d, 1, 0);
    CHECK(isnan(d.mean) && isnan(c.s2) && isnan(predict_one(&c, 2).p));
    CHECK_NEAR(howe_p(2, 0, 4, 1, 0), 2 * normal_tail(2), 1e-15); /* only the sentences vary */
    CHECK_INT(seeds_needed(0.1, 0.5, 0.5, 0.064, 0.05, 0.8), 0);
    /* lower is better: both 5 and the diverged run lose */
    superiority s = superiority_of(broken_run, 2, one, 1, -1);
    CHECK_NEAR(s.theta, 0, 0);
    CHECK_NEAR(superiority_of(broken_run, 2, broken_run, 2, 1).theta, 0.5, 0);
    double s2[] = {0.2, 0, NAN}, df[] = {2, 2, 0};
    /* a single row shares its variance with no other */
    shared_prior prior = share_variances(s2, df, 3, 0, NULL, NULL);
    CHECK_NEAR(s2[0], 0.2, 0);
    CHECK(isinf(prior.pool_df) && isnan(s2[2]));
    /* sentences of one document: influence values of their sums are the document's */
    const double rows[] = {1, 2, 5, 5, 3, 4, 0, 3};
    double sums[4], again[4], z[2];
    CHECK_INT(documents_sum("2 2", rows, 4, 2, sums), 2);
    CHECK_INT(documents_sum("2 2", sums, 2, 2, again), 2); /* rows are sums already */
    CHECK_INT(memcmp(again, sums, sizeof again), 0);
    CHECK_INT(documents_sum("2 1", rows, 4, 2, NULL), 0);
    CHECK_INT(documents_sum("2 3", rows, 4, 2, NULL), 0);
    CHECK_INT(documents_sum("2 x", rows, 4, 2, NULL), 0);
    CHECK_NEAR(sums[0], 6, 0);
    CHECK_NEAR(sums[3], 7, 0);
    CHECK_NEAR(influence_ratio(sums, 2, NULL, z), 100 * 9. / 14, 1e-12);
    CHECK_NEAR(z[0] + z[1], 0, 1e-12);
    CHECK_NEAR(z[0], 100 * 2 * (6 - 9. / 14 * 7) / 14, 1e-12);
    /* BLEU without any match of 4 words: the other orders still count, and the influences sum to 0 */
    const double bleu[] = {5, 6, 4, 2, 1, 0, 5, 4, 3, 2, 7, 6, 5, 3, 2, 0, 7, 6, 5, 4};
    influence_bleu(bleu, 2, NULL, z);
    CHECK_NEAR(z[0] + z[1], 0, 1e-12);
    CHECK(z[0] != 0);
}

int main(void)
{
    for (size_t i = 0; i < LENGTH(worked_cases); i++) check_case(&worked_cases[i]);
    check_formulas();
    check_planning();
    check_many();
    check_sharing();
    check_contrast();
    check_scale();
    check_scale_difference();
    for (size_t n = 2; n <= 5; n++) check_scale_level(n, test_long() ? 20000 : 500);
    check_edges();
    return test_end();
}
