/* scale.h - power laws over model sizes: loss = a size^-exponent, fitted on logarithms, with bootstrap intervals
 * (docs/statistics.md). */
#ifndef ABLATE_STATISTICS_SCALE_H
#define ABLATE_STATISTICS_SCALE_H
#include "base/base.h"

/* One design's runs at n_sizes sizes; size i has losses[i][0 .. runs[i]) in nats, all above 0. */
typedef struct {
    size_t n_sizes;
    const double *sizes;
    const size_t *runs;
    const double *const *losses;
    const size_t *step; /* each size's number in the experiment; NULL: 0, 1, ... */
    /* [n_sizes] variance of a size's mean log loss from the choice of searched settings (choice.h); NULL: nothing was
     * searched. For differences only: a fit's bootstrap has the variance of seeds alone */
    const double *choice;
} scale_points;

typedef struct {
    double exponent, low, high; /* 95 % interval */
    double log_a;
    /* base's size over this design's size at the loss of base's largest size; NaN: no base */
    double speedup, speedup_low, speedup_high;
} scale_fit;

enum { SCALE_DRAWS = 2000 };
/* base: NULL, or the reference of the speed-up. Each draw resamples the runs of every size; a single run becomes the
 * fitted value plus a drawn residual. The same seed gives the same result. NaN for fewer than three sizes with runs. */
scale_fit scale_fitted(const scale_points *of, const scale_points *base, uint64_t seed);

/* ---- the difference of two designs over sizes ---- */

typedef struct {
    double size, d, low, high; /* d: log loss of the row minus base's; 95 % interval */
} scale_point;
enum { SCALE_MOST = 16 };
typedef struct {
    size_t n;                   /* sizes at which both have two runs or more; at most SCALE_MOST are used */
    scale_point at[SCALE_MOST]; /* sorted by size (base's parameters); intervals from each size's own variances */
    double slope, slope_low, slope_high,
        slope_p;       /* slope of d over the natural logarithm of the size; NaN: under 3 sizes */
    scale_point next;  /* expected difference at four times the largest size */
    scale_point check; /* expected difference at the largest size from the others; NaN: under 4 sizes */
    double turns;      /* the size at which the line's d is 0, up to next.size; NaN: none */
} scale_difference;
/* By least squares, a line d = a + b log(size), whose error comes from each size's own variances: spreads over seeds
 * may differ 20-fold between sizes. If sizes scatter about the line more than seeds explain (F test, 0.2), its
 * uncertainty grows by the ratio (Birge 1932), and an expectation includes that scatter. */
scale_difference scale_compare(const scale_points *row, const scale_points *base);
#endif
