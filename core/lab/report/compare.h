/* compare.h - compares the rows of a table with base, or each with a base of its own, in one metric: difference of the
 * designs with interval and p, over seeds and sentences (statistics/design.h), or less with fewer seeds.
 * docs/statistics.md has the rules by number of seeds. */
#ifndef ABLATE_REPORT_COMPARE_H
#define ABLATE_REPORT_COMPARE_H
#include "lab/config/analysis.h"
#include "lab/report/row_runs.h"

/* One row against base. NaN: unknown. Differences and intervals are in the metric's unit or, if `percent` is set,
 * changes in percent (perplexity, compared on the log scale). */
typedef struct {
    size_t n, n_base;           /* runs with a number */
    size_t late_base;           /* seeds that base alone got after the first result: not used */
    size_t failed, failed_base; /* runs that failed or diverged and are not scored: no interval, p or verdict */
    double delta, low, high;    /* low, high: 95 % interval for the design, from two seeds per side */
    double p, p_adjusted;       /* p: for the design; p_adjusted: after Holm over the planned rows with a p */
    double p_equivalent; /* p of two one-sided tests against the margin (not_worse_by: of one), after looks and Holm */
    double p_equivalent_alone; /* p_equivalent before Holm */
    double v, u, df;   /* v: variance of seeds, u: of sentences, on the compared scale; df: degrees of freedom of v */
    double choice;     /* variance of the choice of searched settings (statistics/choice.h) */
    double seed_sd;    /* standard deviation over the row's seeds, without the noise of a finite test set */
    double detectable; /* result of comparison_detectable, if gather called it */
    arm planned_row, planned_base; /* for planning; z is NULL */
    double most_df;                /* design_compare's limit */
    double p_models;               /* p of a randomisation test over sentences, about these models only; after Holm */
    double p_outside;              /* p that a single run lies outside what base's seeds predict */
    double p_permutation;          /* p of an exact test over seeds, if each side has five or more */
    superiority beats;             /* P(row's seed beats base's), diverged runs included, with five or more per side */
    double stream_level;           /* level for p in a stream of rows (stream.h); NaN: the row is base */
    /* By the criterion: "better", "worse", "equivalent", "not worse", "undecided", "exploratory". NULL: no criterion,
     * too few seeds, or failed runs. */
    const char *verdict;
    bool repeated;                 /* p and the interval account for several looks (repeated_p) */
    bool exploratory;              /* the row or base was added after the first result: left out of Holm, no verdict */
    bool left_out;                 /* a record left out statistics: there is a delta, but no interval, p or verdict */
    bool percent, crossed, shared; /* crossed: sentences are included; shared: variances are shared */
    const char *refused;           /* why there is no comparison, or NULL */
} comparison;

extern const comparison comparison_none;

/* Returns the verdict or NULL. A difference within the margin does not matter, even if significant: "equivalent"; a
 * loss within a one-sided margin: "not worse". */
const char *comparison_verdict(const comparison *c, const comparison_criterion *k, const metric *m);

/* Returns the least difference that this comparison's seeds detect at 5 % with power 80 %. Takes milliseconds. */
double comparison_detectable(const comparison *c);

/* Fills out[n]; base's entry has only n and seed_sd. Variances are shared among rows with one base. best (may be NULL):
 * index of the row that is significantly better than every other (Bonferroni over the others), n if there is none or
 * there are several bases. Returns the number of rows in Holm's adjustment. */
size_t compare_rows(const comparison_task *t, comparison *out, size_t *best);

/* Checks the test on real runs: `deals` times draws n seeds of `a` and n others of `b` (A/A: the same row) and compares
 * them as if they were two rows. Returns the share with p <= level; NaN if a row has fewer than n runs (A/A: 2n).
 * Deterministic in `seed`. */
double dealt_rejections(const read_row *a, const read_row *b, const metric *m, size_t n, size_t deals, double level,
                        uint64_t seed);

/* Estimates a weighted sum of rows, such as an effect. weights: [n], 0 excludes a row; each other needs two seeds. */
difference contrast_rows(const comparison_task *t, const double *weights);

/* Describes how the interval was computed, as in "crossed components, shared variances". */
const char *comparison_rule(const comparison *c);
/* Converts a difference from the compared scale to the printed one. */
double comparison_shown(const comparison *c, double d);
#endif
