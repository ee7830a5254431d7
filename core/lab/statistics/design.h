/* design.h - inference about a design from n seeds on the same m sentences: the difference of two table rows with
 * interval and p, the least detectable difference, and the number of seeds needed.
 *
 * Seeds and sentences are crossed, not nested: every seed's model sees the same sentences. The variance of a difference
 * of means has a part V that more seeds reduce and a part U that only more sentences reduce. Howe's method (Howe 1974)
 * combines both in the interval. docs/statistics.md has formulas, sources and rejected alternatives.
 *
 * Everything is two-sided unless stated otherwise. With fewer than two seeds on a side, interval and p are NaN. Arrays
 * belong to the caller; nothing is kept, except that an arm owns its z.
 */
#ifndef ABLATE_STATISTICS_DESIGN_H
#define ABLATE_STATISTICS_DESIGN_H
#include "base/base.h"

/* One row's runs. Scores are on the scale that is compared: percent, or the log of the perplexity. */
typedef struct {
    size_t n, m;     /* n: seeds; m: sentences, 0: no per-sentence statistics */
    double mean, s2; /* mean of the scores; s2: sample variance over seeds, NaN for fewer than two */
    double df;       /* degrees of freedom of s2: n - 1, or more with shared variances (statistics/variances.h) */
    /* For planning: the expected variance over seeds. The test uses the larger of two variances: the estimate from n
     * seeds, and its mean with prior_s2 weighted by degrees of freedom. prior_df 0: it uses the estimate. */
    double expected_s2, prior_df, prior_s2;
    double choice;   /* variance of the mean from the choice of searched settings (choice.h); 0: none */
    double msi;      /* mean square of seeds x sentences: the residual after seed and sentence means */
    double widening; /* factor of U if the m are documents (documents_widening); else 1 */
    double *z;       /* [m] influence values averaged over seeds; NULL if m is 0 */
} arm;

/* scores: [n]; z: [n][m], NULL if m is 0. Free with arm_free. */
arm arm_measure(const double *scores, const double *z, size_t n, size_t m);
void arm_free(arm *a);
/* Standard deviation over seeds without the noise of a finite test set: sqrt(max(0, s2 - msi / m)). */
double arm_seed_sd(const arm *a);

typedef struct {
    double d;         /* mean of row minus mean of base */
    double v, df;     /* the seeds' part of the variance of d, and that part's degrees of freedom */
    double u;         /* the sentences' part; 0 without per-sentence statistics on the same sentences */
    double choice;    /* the part from the choice of searched settings */
    double low, high; /* 95 % interval */
    double p;
} difference;

/* most_df: upper limit of df (from shared variances), INFINITY: none. */
difference design_compare(const arm *row, const arm *base, double most_df);

/* design_compare for a weighted sum of n rows, sum w_i mean_i, such as an effect of a factorial design: weights[n], no
 * weight is 0. Degrees of freedom after Satterthwaite, at most those of all rows together. */
difference design_contrast(const arm *rows, const double *weights, size_t n);

/* The choice's part is weighted as CHOICE_SHARE of its estimate with two degrees of freedom, one per row: it is a rare
 * event, estimated from one run per candidate, and looks small if a worse candidate won by luck. With this weight, rows
 * tuned alike differ as often as the level says, down to 0.25 % (tests/unit/statistics/test_choice.c). */
static const double CHOICE_SHARE = 0.5;

/* Half the width of the interval at level 1 - alpha, and the p at which the interval just reaches 0. */
double howe_half_width(double v, double df, double u, double choice, double alpha);
double howe_p(double d, double v, double df, double u, double choice);
/* p of a one-sided test that a difference lies inside a margin; inside: its distance from the margin, negative outside.
 * With inside = margin - |d|: equivalence, the larger p of two such tests (Schuirmann 1987), below 0.05 exactly if the
 * 90 % interval lies inside the margin. */
double margin_p(double inside, double v, double df, double u, double choice);

/* ---- planning ---- */

/* A planned row of n seeds with variance s2 over seeds and no measurements. */
arm arm_planned(size_t n, double s2);
/* The smallest true difference that design_compare at level alpha finds with probability `power`, for rows with the n,
 * expected_s2 and priors of `row` and `base`. Averages over the variances that the test may estimate. */
double least_detectable(const arm *row, const arm *base, double u, double most_df, double alpha, double power);
/* The limit of least_detectable for infinitely many seeds. */
double least_detectable_floor(double u, double alpha, double power);
/* Seeds per side needed to detect `wanted`, for standard deviations sd1 and sd0 over seeds; 0: more than 10,000, or no
 * number is enough (the sentences' part alone is too large). */
size_t seeds_needed(double wanted, double sd1, double sd0, double u, double alpha, double power);
/* Probability that a test at level alpha with n seeds of the row and n0 of base finds a true difference `effect`. */
double power_of(double effect, double sd1, double sd0, size_t n, size_t n0, double u, double alpha);

/* ---- one seed, ranks, permutations ---- */

typedef struct {
    double t, df, p, half; /* half: half the width of the 95 % prediction interval */
} prediction;
/* Is one more run x outside the prediction interval of base's n >= 2 seeds? t = (x - mean) / (S sqrt(1 + 1/n)). */
prediction predict_one(const arm *base, double x);

typedef struct {
    double theta, low, high; /* P(A > B), a tie counts half; 95 % interval */
} superiority;
/* P(a seed of A beats a seed of B); Newcombe's (2006) method 5. A value that is not finite is a diverged run and worse
 * than any other. sign: 1 if higher is better, -1 if lower is. */
superiority superiority_of(const double *a, size_t n_a, const double *b, size_t n_b, double sign);
superiority superiority_interval(double theta, size_t n_a, size_t n_b);

/* Exact two-sample permutation test of the difference of means; n_a + n_b <= 20, else NaN. Its smallest p is 2 / C(n_a
 * + n_b, n_a) for equal n. It compares seeds on these sentences only. */
double permutation_p(const double *a, size_t n_a, const double *b, size_t n_b);

/* ---- repeated looks ---- */

/* Looks are at look_seeds seeds; their weights are fixed in advance and sum to 1. p at look k is divided by its weight;
 * the repeated p is the smallest so far, at most 1: valid under any stopping rule. */
enum { N_LOOKS = 4 };
extern const size_t look_seeds[N_LOOKS];
extern const double look_weights[N_LOOKS];
double repeated_p(const double *p, size_t looks); /* p over the first `looks` looks; NaN: no look */
#endif
