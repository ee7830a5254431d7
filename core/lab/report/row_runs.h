/* row_runs.h - which rows are compared in which metric, and a row's runs with a value. */
#ifndef ABLATE_REPORT_ROW_RUNS_H
#define ABLATE_REPORT_ROW_RUNS_H
#include "lab/statistics/design.h"
#include "lab/report/significance.h"

typedef struct {
    const metric *metric;
    const read_row *const *rows; /* [n]; rows with the same `runs` are one row shown twice */
    size_t n, base;              /* base: index, or n for none */
    const size_t *bases;         /* [n]: the row that each row is compared with, for a base itself; NULL: `base` */
    int trials;                  /* number of shuffles in the randomisation test */
    bool all_model_tests;        /* test over sentences even with enough seeds for the design */
    bool sequential;             /* undecided rows got more seeds: p accounts for the looks */
    size_t most_seeds;           /* use at most this many runs of a row; 0: all */
    size_t base_seeds;           /* with looks: base's runs at each look, if more than the row's */
    double margin;               /* margin of the criterion, in the printed unit; 0: none */
    bool one_sided;              /* the margin bounds a loss alone */
    const double *failed_as;     /* value that a failed or diverged run gets; NULL: no value */
} comparison_task;

typedef struct {
    const read_result **results; /* [n], by seed; NULL at the end for runs that count as failed_as */
    const char **references;     /* [n] */
    double *values;              /* [n_all]: numbers, then failed_as or NaN for failed and diverged runs */
    size_t n, n_all;
    size_t late; /* number of seeds that base alone got after the first result: left out */
    arm arm;
    bool left_out; /* a record left out statistics of some runs */
} row_runs;

/* Collects the row's runs with a value. Failures count in n_all: the remaining runs are a selection. is_base: rows
 * are compared with it. The caller calls row_runs_free. */
row_runs row_runs_collect(const comparison_task *t, const read_row *row, bool is_base);
void row_runs_free(row_runs *r);
/* Did all runs of both rows use the same sentences, as far as known? With base == row: the runs of one row. */
bool row_runs_same_sentences(const row_runs *row, const row_runs *base);
/* Computes influence values [n][m] of a row's runs; NULL without statistics, or if sentences differ. Caller frees. */
double *row_runs_influences(const row_runs *r);
/* Adds the variance of a search's choice; call after share. The search compared perplexities: another metric is assumed
 * to differ among candidates by as many standard deviations over seeds as perplexity does. */
void row_runs_add_choice(const comparison_task *t, const read_row *row, row_runs *r);
/* Did the run diverge? Then it is done, and its only result is a perplexity that is not finite (lab/launch/host.c). */
bool run_diverged(const read_run *run);
/* Returns the run's status as words, "diverged" among them. */
const char *run_status(const read_run *run);
#endif
