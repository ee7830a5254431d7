/* scale.h - power laws over model sizes: loss = a size^-exponent, fitted on logarithms, with bootstrap intervals
 * (docs/statistics.md). */
#ifndef ABLATE_METRIC_SCALE_H
#define ABLATE_METRIC_SCALE_H
#include "base/base.h"

/* One design's runs at n_sizes sizes; size i has losses[i][0 .. runs[i]) in nats, all above 0. */
typedef struct {
    size_t n_sizes;
    const double *sizes;
    const size_t *runs;
    const double *const *losses;
} scale_points;

typedef struct {
    double exponent, low, high; /* 95 % interval */
    double log_a;
    /* base's size over this design's size at the loss of base's largest size; NaN: no base */
    double speedup, speedup_low, speedup_high;
} scale_fit;

enum { SCALE_DRAWS = 2000 };
/* base: NULL, or the reference of the speed-up. Each draw resamples every size's runs with replacement; sizes with a
 * single run use the fitted value plus a drawn residual. The same seed gives the same result. NaN with fewer than three
 * sizes that have a run. */
scale_fit scale_fitted(const scale_points *of, const scale_points *base, uint64_t seed);
#endif
