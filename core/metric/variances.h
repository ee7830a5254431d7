/* variances.h - variances over seeds that rows of one table share.
 *
 * Three seeds say little about a row's variance; twenty rows together say much. Rows whose variance stands out keep their own. The
 * others are squeezed towards a common prior whose strength is estimated from them (Smyth 2004; limma's eBayes), never below
 * a row's own estimate, so that a row of large spread is not helped by its calm neighbours. */
#ifndef ABLATE_METRIC_VARIANCES_H
#define ABLATE_METRIC_VARIANCES_H
#include "base/base.h"

typedef struct {
    double spread;   /* variance of the log variances beyond what chance gives; at most 0: one common variance */
    double prior_df; /* d0: how many degrees of freedom the prior is worth; INFINITY when spread <= 0 */
    double prior_s2; /* s0² */
    double pool_df;  /* of all rows that share: no comparison may claim more */
} shared_prior;

/* Shared variances are used from this many seeds a row and rows a table. */
enum { SHARE_SEEDS = 3, SHARE_ROWS = 5 };

/* s2, df: [n] variances and their degrees of freedom, replaced by the guarded ones and their df. moderated: [n] as squeezed, before the
 * guard; outlier: [n]; both may be NULL. Rows with s2 of 0 or NaN take no part and stay. */
shared_prior share_variances(double *s2, double *df, size_t n, double *moderated, bool *outlier);
#endif
