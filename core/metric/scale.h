/* scale.h - power laws over model sizes: loss = a size^-exponent, fitted on logarithms, with bootstrap intervals (docs/statistics.md). */
#ifndef ABLATE_METRIC_SCALE_H
#define ABLATE_METRIC_SCALE_H
#include "base/base.h"

/* One design's runs: n_sizes sizes, of size i the losses[i][0 .. runs[i]) in nats, all above 0. */
typedef struct {
    size_t n_sizes;
    const double *sizes;
    const size_t *runs;
    const double *const *losses;
} scale_points;

typedef struct {
    double exponent, low, high; /* 95 % interval */
    double log_a;
    double speedup, speedup_low, speedup_high; /* base's size over this design's at the loss that base's largest size reaches; NaN: none asked for */
} scale_fit;

enum { SCALE_DRAWS = 2000 };
/* base: NULL, or what the speed-up is against. Each draw takes every size's runs anew with replacement; sizes with a single run keep its fitted value
 * and draw a residual of the fit. The same seed gives the same result. Fewer than three sizes with a run: NaN. */
scale_fit scale_fitted(const scale_points *of, const scale_points *base, uint64_t seed);
#endif
