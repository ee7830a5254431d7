/* stats.h - is a difference more than chance? Tests and intervals from per-sentence statistics and from
 * seeds.
 *
 * Per-sentence statistics are rows of `width` numbers that add up over sentences, [n][width]; a stats_score
 * turns their sum into the metric. All arrays are the caller's; nothing is kept. The same seed gives the same
 * result everywhere.
 */
#ifndef ABLATE_METRIC_STATS_H
#define ABLATE_METRIC_STATS_H
#include "api/ab_plugin.h"
#include "base/base.h"

enum { STATS_TRIALS = 10000, STATS_SEED = 12345 };

/* ---- what a sum of statistics means; the kinds are defined at ab_sum ---- */

typedef double (*stats_score)(const double *sum, const void *options);
double stats_ratio(const double *sum,
                   const void *options); /* part, whole; 0 of an empty whole; options: NULL */
double stats_bleu(const double *sum,
                  const void *options); /* BLEU_STATS numbers; options: a bleu_options or NULL */
double stats_f1(const double *sum,
                const void *options);    /* matched, gold, found; 0 of nothing; options: NULL */
stats_score stats_score_of(ab_sum kind); /* NULL for a kind that is not known */
size_t stats_width(ab_sum kind);         /* 2, 10 or 3; 0 for a kind that is not known */

/* ---- over sentences ---- */

/* Paired approximate randomisation (Noreen 1989; Riezler and Maxwell 2005), two-sided: how often a difference
 * as large as that of systems a and b [n][width] comes up when the two swap their rows by a coin for each
 * sentence. p = (c + 1) / (trials + 1). No sentences, or a score that is not finite: NaN. */
double stats_paired_p(stats_score score, const void *options, const double *a, const double *b, size_t n,
                      size_t width, size_t trials, uint64_t seed);

typedef struct {
    double low, high;
} stats_interval;
/* Percentile bootstrap (Efron; for BLEU: Koehn 2004) of one system: `trials` times n sentences are drawn with
 * replacement; level, 0.95 say, of the scores lie in the interval. No sentences: NaN. */
stats_interval stats_bootstrap(stats_score score, const void *options, const double *a, size_t n,
                               size_t width, size_t trials, double level, uint64_t seed);

/* ---- over a table ---- */

/* Holm (1979): p[0..n) made into adjusted p; NaN entries are no tests and stay. Returns how many tests there
 * were. */
size_t stats_holm(double *p, size_t n);

/* ---- over seeds ---- */

typedef struct {
    size_t n;        /* finite values */
    double mean, sd; /* sd: of the sample, n - 1; NaN where there are too few values */
} stats_summary;
stats_summary stats_summarize(const double *x, size_t n); /* values that are not finite are left out */

typedef struct {
    double t, df, p;
} stats_welch_result;
/* Welch (1947): do the means of a and b differ, variances being unequal; two-sided. Fewer than two values on
 * a side: NaN. Two sides without any variance: p is 1 if the means are equal and 0 if not. */
stats_welch_result stats_welch(stats_summary a, stats_summary b);

/* The smallest p that an exact two-sided permutation test can reach with n seeds on either side: 2 / C(2n,
 * n). With 3 it is 0.1, so no difference whatever is significant at 0.05; with 4 it is 0.029. */
double stats_least_p(size_t n);
#endif
