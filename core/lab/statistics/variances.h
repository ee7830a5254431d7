/* variances.h - shared variances over seeds of a table's rows.
 *
 * Three seeds determine a row's variance poorly; twenty rows together do so well. Rows with an outlying variance keep
 * their own. The others are shrunk towards a common prior whose strength is estimated from them (Smyth 2004; limma's
 * eBayes), never below a row's own estimate, so that a row with a large spread does not gain from the others. */
#ifndef ABLATE_STATISTICS_VARIANCES_H
#define ABLATE_STATISTICS_VARIANCES_H
#include "base/base.h"

typedef struct {
    double spread;   /* variance of the true log variances, estimated; at most 0: one common variance */
    double prior_df; /* d0: degrees of freedom of the prior; INFINITY if spread <= 0 */
    double prior_s2; /* s0² */
    double pool_df;  /* degrees of freedom of all sharing rows: upper limit for every comparison */
} shared_prior;

/* Shared variances are used from this many seeds per row and rows per table. */
enum { SHARE_SEEDS = 3, SHARE_ROWS = 5 };

/* Returns the prior for a row with df degrees of freedom beside n_base seeds of base. With more seeds of base, a row's
 * own variance is most of the error, and a row with more variance than the prior expects is rejected too often. So the
 * prior grows and weighs less: by base's advantage sqrt(log(n_base / n)), times the sampling variance trigamma(df / 2)
 * of a log variance, times the 0.3rd power of that variance over its value at df 4, times the standard deviation of the
 * rows' true log variances. The power and two factors are found by simulation (test_frontier). The prior is unchanged
 * where base has no more seeds. */
shared_prior calibrated_prior(shared_prior p, double df, size_t n_base);

/* s2, df: [n] variances and their degrees of freedom, replaced by the shared ones (at least a row's own). moderated:
 * [n] shrunk values before that lower bound; outlier: [n]; both may be NULL. Rows with s2 of 0 or NaN are unchanged.
 * n_base: seeds of the row that these rows are compared with, 0: no such row. */
shared_prior share_variances(double *s2, double *df, size_t n, size_t n_base, double *moderated, bool *outlier);
#endif
