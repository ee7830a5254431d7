/* compare.h - the rows of a table against base, in one metric: the difference of the designs with its interval and p, over seeds and
 * sentences (metric/design.h), or what can be said with fewer seeds. docs/statistics.md has the rules by number of seeds. */
#ifndef ABLATE_REPORT_COMPARE_H
#define ABLATE_REPORT_COMPARE_H
#include "metric/design.h"
#include "report/significance.h"

/* One row against base. What is not known is NaN. Differences and intervals are in the metric's unit, or, where `percent` is set, changes in
 * percent (perplexity, compared on the log scale). */
typedef struct {
    size_t n, n_base;          /* runs with a number */
    double delta, low, high;   /* low, high: 95 % interval for the design, from two seeds a side */
    double p, p_adjusted;      /* for the design; after Holm over the rows that have one */
    double v, u, df;           /* seeds' and sentences' part of the variance, degrees of freedom: on the scale that is compared */
    double seed_sd;            /* over the row's seeds, without the noise of a finite test set */
    double detectable;         /* least detectable difference of this comparison, at 5 % with power 80 % */
    double p_models;           /* randomisation over sentences: about these models only; after Holm likewise */
    double p_outside;          /* of a single run: is it outside what base's seeds predict? */
    double p_permutation;      /* exact, over seeds: from five a side */
    superiority beats;         /* P(row's seed beats base's), diverged runs counted: from five a side */
    const char *verdict;       /* by the criterion: "better", "worse", "equivalent", "undecided"; NULL: no criterion, or too few seeds */
    bool repeated;             /* p is that of several looks (repeated_p) */
    bool percent, crossed, shared; /* crossed: sentences entered; shared: variances did */
    const char *refused;       /* why there is no comparison, or NULL */
} comparison;

extern const comparison comparison_none;

typedef struct {
    const char *metric, *goal; /* goal: "min", "max" or NULL */
    const read_row *const *rows; /* n of them; rows with the same `runs` are one row shown twice */
    size_t n, base;              /* base: index, or n for none */
    int trials;                  /* of the randomisation test */
    bool all_model_tests;        /* also where there are seeds enough for the design */
    bool sequential;             /* seeds were added where undecided: p is over the looks */
    size_t most_seeds;           /* a row's first so many runs; 0: all */
} comparison_task;

/* [criterion] of the INI. margin: in the unit of differences, 0: no equivalence. */
typedef struct {
    double margin, level;
    size_t seeds; /* least number on either side */
} comparison_criterion;
/* Equivalence goes first: a difference inside the margin does not matter, however sure it is. */
const char *comparison_verdict(const comparison *c, const comparison_criterion *k, const char *goal);

/* Fills out[n]; that of base has only n and seed_sd. best (may be NULL): index of the row that is better than every other by more than chance
 * (Bonferroni over the others), n when there is none. Returns how many rows Holm adjusted for. */
size_t compare_rows(const comparison_task *t, comparison *out, size_t *best);

/* A/A and planted differences on real runs: `deals` times n seeds of `a` and n others of `b` (which may be the same row) are drawn and compared as if
 * they were two rows. Returns the share with p <= level; NaN where a row has not 2n runs (n, for two rows). The same seed gives the same result. */
double dealt_rejections(const read_row *a, const read_row *b, const char *metric, size_t n, size_t deals, double level, uint64_t seed);

/* A weighted sum of rows: weights[n], 0 for rows that take no part; two seeds or more in each that does. Effects of a two-level design are such sums. */
difference contrast_rows(const comparison_task *t, const double *weights);

/* "crossed components, shared variances" and the like: how the interval was made. */
const char *comparison_rule(const comparison *c);
/* A difference on the scale that is compared, as it is printed. */
double comparison_shown(const comparison *c, double d);
#endif
