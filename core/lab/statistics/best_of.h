/* best_of.h - how good is the best of k trials? */
#ifndef ABLATE_STATISTICS_BEST_OF_H
#define ABLATE_STATISTICS_BEST_OF_H
#include "base/base.h"

/* Over all subsets of k of n trials: the mean of the best one (Dodge et al. 2019, without replacement, which makes it
 * unbiased: Tang et al. 2020, section 3), and limits within which the best of 95 % of the subsets lies. A trial without
 * a value counts as the worst; a number that would need its value is NaN. */
typedef struct {
    double mean, low, high;
} best_of;
/* values: [n], NaN for a failed trial; 1 <= k <= n. lower: less is better. */
best_of best_of_trials(const double *values, size_t n, size_t k, bool lower);
#endif
