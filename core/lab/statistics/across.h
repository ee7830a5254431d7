/* across.h - rows over several tasks: the interquartile mean, the probability of improvement and performance profiles
 * of Agarwal et al. 2021 (rliable, arXiv 2108.13264, section 4).
 *
 * A run's score on a task is its value over base's mean there, or base's mean over its value if less is better: 1 is
 * base's quality, more is better. Every task weighs the same. Intervals: percentile bootstrap over the runs of each
 * task, of the row and of base, which counts base's noise too; resampled values lie sqrt(n / (n - 1)) times as far from
 * their mean, because the variance of n values drawn from n is too small (test_across simulates the coverage). */
#ifndef ABLATE_STATISTICS_ACROSS_H
#define ABLATE_STATISTICS_ACROSS_H
#include "base/base.h"

typedef struct { /* one task: values above 0 of base's runs and of the row's runs */
    const double *base, *row;
    size_t n_base, n_row; /* 1 or more */
    bool lower;           /* less is better */
} across_task;

typedef struct {
    double value, low, high;
} across_figure;

/* The mean of the middle half of the scores. */
across_figure across_iqm(const across_task *t, size_t n, double level);
/* Probability that a run of the row is better than a run of base on one task, a tie counting half; mean over tasks. */
across_figure across_better(const across_task *t, size_t n, double level);
/* Widens [from, to] to the row's scores. */
void across_range(const across_task *t, size_t n, double *from, double *to);
/* share[i]: the share of runs with a score above at[i], mean over tasks, with pointwise limits; [n_at] each. */
void across_profile(const across_task *t, size_t n, double level, const double *at, size_t n_at, across_figure *share);
#endif
