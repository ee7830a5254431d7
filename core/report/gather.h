/* gather.h - an experiment's table as numbers, before any format. */
#ifndef ABLATE_REPORT_GATHER_H
#define ABLATE_REPORT_GATHER_H
#include "report/compare.h"
#include "report/table.h"

typedef struct {
    size_t n, diverged; /* runs with a number; runs whose number is not finite */
    double mean, sd;    /* sample standard deviation; NaN where n is too small */
    double *values;     /* by seed, n of them */
} measure;

typedef struct {
    const read_row *row;
    measure *of;                        /* of[metric] */
    size_t done, failed, open, skipped; /* runs by how they ended; open: queued, running or killed */
    comparison *against;                /* against[metric]: this row against base */
    double delta, p;                    /* of the headline, against base; p: for the design, adjusted after Holm; NaN: none */
    double parameters;                  /* NaN unknown */
    const char *why_skipped;            /* or NULL */
    size_t paper;                       /* row of the published table, NO_ROW: none */
    const char *unsound;                /* the check that a plugin of the row fails, or NULL */
    size_t changed;                     /* done runs of a plugin that has changed since (changed.h) */
    const read_row *recorded;           /* the row of that name among the recorded, or NULL */
    measure *recorded_of;               /* of[metric] of it */
    bool best;                          /* better than every other row beyond the noise */
} gathered_row;

/* What the experiment's analysis (results/read.h) says about its judging. */
typedef struct {
    bool criterion; /* a verdict a row */
    comparison_criterion rule;
    const char *metric; /* that it is about, NULL: the headline */
    struct cJSON *json; /* the whole analysis: factorial, scale, match, until; NULL: none. Freed by gathered_free */
    size_t until;       /* seeds at most, of a sequential experiment; 0: it is none */
    double effect;
} judging;

enum { NO_HEADLINE = -1 };
#define NO_ROW SIZE_MAX

typedef struct {
    read_experiment x;
    size_t n_metrics;
    const char **metrics;
    const char **goals;      /* of a metric: "min", "max" or NULL */
    const char **signatures; /* of a metric; NULL: none; "several": runs differ */
    int headline;            /* index of the metric of delta and p, or NO_HEADLINE */
    gathered_row *rows;      /* x.n_rows of them */
    bool has_recorded;
    read_experiment recorded;
    bool has_paper;
    read_published paper;
    int trials;
    judging judged;
    size_t n_trials;
    db_trial *trials_made;          /* searches of its rows */
    size_t n_old;
    read_pair *old_verdicts;        /* rows whose stored verdict was against another base */
    bool full;                      /* everything that the statistics have to say */
    size_t tests;                   /* how many p for the design there are, of the headline */
    size_t seeds_least, seeds_most; /* runs with a number in a row, over rows that have some */
} gathered;

/* Returns 0; 1 when there is no experiment of that name; -1. find_best: also mark the best row (costs further
 * tests). */
int gather(reader *r, const char *name, const table_options *o, bool find_best, arena *a, gathered *out,
           err *e);
/* Adds the recorded runs (table_options.vs_recorded). */
int gather_recorded(reader *r, gathered *g, arena *a, err *e);
/* What a row's done runs have of a metric. */
void measure_runs(const read_row *of, const char *metric, measure *x, arena *a);
/* What a run of the row spends, "params", "flops", "time" (seconds of updates) or "wall" (seconds from start to end), as its runs recorded it;
 * NaN: unknown. */
double gathered_budget(const gathered_row *row, const char *by);
void gathered_free(gathered *g); /* what is not in the arena */
gathered_row *gathered_base(const gathered *g); /* NULL: none */
/* "table3" for names that begin so and go on with anything but a letter or digit; NULL otherwise. */
const char *paper_table_of(const char *name);
/* Decimals that a metric's numbers are shown with, given its mean. */
int decimals_of(const char *metric, const char *goal, double mean);
#endif
