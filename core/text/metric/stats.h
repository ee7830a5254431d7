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

/* ---- metrics from sums of statistics; metric.h has the kinds ---- */

typedef double (*stats_score)(const double *sum, const void *options);
double stats_ratio(const double *sum, const void *options); /* part, whole; 0 if the whole is 0; options: NULL */
double stats_bleu(const double *sum, const void *options);  /* BLEU_STATS numbers; options: a bleu_options or NULL */
double stats_f1(const double *sum, const void *options); /* matched, gold, found; 0 if there are none; options: NULL */
double stats_perplexity(const double *sum, const void *options); /* nll, tokens; NaN without tokens */

/* ---- over sentences ---- */

/* Paired approximate randomisation (Noreen 1989; Riezler and Maxwell 2005), two-sided: how often a difference as
 * large as that of systems a and b [n][width] occurs when their rows are swapped at random for each sentence.
 * p = (c + 1) / (trials + 1). No sentences, or a score that is not finite: NaN. */
double stats_paired_p(stats_score score, const void *options, const double *a, const double *b, size_t n, size_t width,
                      size_t trials, uint64_t seed);

/* ---- over a table ---- */

/* Holm (1979): adjusts p[0..n) in place; NaN entries are not tests and stay. Returns the number of tests. */
size_t stats_holm(double *p, size_t n);

void stats_sort(double *x, size_t n); /* in ascending order; no NaN in x */
/* The median, of an even number the upper of the middle two; NaN without numbers. Sorts x. No NaN in x. */
double stats_median(double *x, size_t n);

#endif
