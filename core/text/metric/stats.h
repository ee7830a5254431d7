/* stats.h - significance tests from per-sentence statistics.
 *
 * Per-sentence statistics are rows of `width` numbers that add up over sentences, [n][width]; a stats_score
 * computes the metric from their sum. All arrays belong to the caller; nothing is kept. The same seed gives the same
 * result on every machine. */
#ifndef ABLATE_METRIC_STATS_H
#define ABLATE_METRIC_STATS_H
#include "api/ab_plugin.h"
#include "base/base.h"

enum { STATS_TRIALS = 10000, STATS_SEED = 12345 };

/* ---- metrics from summed statistics (metric.h lists them) ---- */

typedef double (*stats_score)(const double *sum, const void *options);
double stats_ratio(const double *sum, const void *options); /* part, whole; 0 if the whole is 0; options: NULL */
double stats_bleu(const double *sum, const void *options);  /* BLEU_STATS numbers; options: a bleu_options or NULL */
double stats_f1(const double *sum, const void *options); /* matched, gold, found; 0 if nothing matches; options: NULL */
double stats_perplexity(const double *sum, const void *options); /* nll, tokens; NaN without tokens */

/* ---- over sentences ---- */

/* Paired approximate randomisation (Noreen 1989; Riezler and Maxwell 2005), two-sided. a, b [n][width]: two systems.
 * Each trial swaps the systems' rows of random sentences; c trials have a difference at least as large as observed.
 * Returns p = (c + 1) / (trials + 1); NaN without sentences or if a score is not finite. */
double stats_paired_p(stats_score score, const void *options, const double *a, const double *b, size_t n, size_t width,
                      size_t trials, uint64_t seed);

/* ---- several tests ---- */

/* Adjusts p[0..n) in place by Holm's method (1979). NaN entries are not tests and stay. Returns the number of tests. */
size_t stats_holm(double *p, size_t n);

void stats_sort(double *x, size_t n); /* in ascending order; no NaN in x */
/* Returns the median of x [n] (no NaN), the upper of the middle two if n is even; NaN if n is 0. Sorts x. */
double stats_median(double *x, size_t n);

#endif
