/* significance.h - the paired test of two rows of a table, from the per-sentence statistics of their runs. */
#ifndef ABLATE_REPORT_SIGNIFICANCE_H
#define ABLATE_REPORT_SIGNIFICANCE_H
#include "lab/results/read.h"
#include "text/metric/metric.h"

typedef struct {
    const read_result *a, *b;                /* results of one metric over the same sentences, with statistics */
    const char *a_references, *b_references; /* as in read_run: identify the sentences, as far as known */
} result_pair;

/* Returns p of paired approximate randomisation over the sentences of all pairs together. NaN if the statistics are
 * missing, belong to different sentences, differ in number, or their score is unknown: PPL's comes from (negative
 * log-likelihood, tokens), other metrics' from their results. */
double paired_p(const result_pair *pairs, size_t n, int trials);

/* Returns how a result's sentences add up; NULL: unknown. */
const aggregation *sum_of(const read_result *r);
/* Computes influence values z[sentences] of a result's statistics (metric/influence.h); false: unknown score. */
bool influence_of(const read_result *r, double *z);
/* Were both runs scored against the same lines, as far as known? a, b: as in read_run.references; NULL: unknown. */
bool same_references(const char *a, const char *b);
#endif
