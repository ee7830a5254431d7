/* gather.h - an experiment's table as numbers, independent of the output format. */
#ifndef ABLATE_REPORT_GATHER_H
#define ABLATE_REPORT_GATHER_H
#include "lab/report/compare.h"

typedef struct {
    const char *const *metrics; /* columns to show, in this order, n_metrics of them; none: all metrics of the runs */
    size_t n_metrics;
    bool vs_recorded;            /* add columns of recorded runs */
    bool vs_paper;               /* add published columns, in the paper's layout if it has one */
    int trials;                  /* shuffles in the randomisation test; 0: 10,000 */
    double sustained;            /* FLOPs per second of devices whose rate the paper does not give; 0: unknown */
    const char *caption, *label; /* for LaTeX; NULL: the title, and tab:NAME */
    const char *ini; /* text of the experiment's INI, whose head comment Markdown prints around the table; or NULL */
    /* all statistics: deviation over seeds only, variance components, P(A > B), tests over sentences and seeds */
    bool full;
} table_options;

typedef struct {
    bool best;          /* significantly better than every other row */
    size_t n, diverged; /* runs with a number; runs whose number is not finite */
    double mean, sd;    /* sample standard deviation; NaN if n is too small */
    double *values;     /* by seed, n of them */
} measure;

typedef struct {
    const read_row *row;
    measure *of;               /* by metric */
    size_t done, failed, open; /* runs by outcome; open: queued, running or killed */
    size_t base;         /* index of the row to compare with: base, or base under the same condition; NO_ROW: none */
    comparison *against; /* by metric: this row against its base */
    double parameters;   /* NaN unknown */
    const char *why_skipped;  /* or NULL */
    size_t paper;             /* row of the published table, NO_ROW: none */
    const char *unsound;      /* the failed check of a plugin of the row, or NULL */
    size_t changed;           /* done runs with a plugin that has changed since (changed.h) */
    const read_row *recorded; /* the recorded row of the same name, or NULL */
    measure *recorded_of;     /* by metric: values of the recorded row */
    const char *edge;         /* "lr = 0.01, the highest of 5": searched values at an end of those tried; NULL: none */
} gathered_row;

enum { NO_HEADLINE = -1 };
#define NO_ROW SIZE_MAX

typedef struct {
    read_experiment x;
    size_t n_metrics;
    const char **metrics;
    metric *facts;           /* by metric */
    const char **signatures; /* by metric; NULL: no signature; "several": the runs' signatures differ */
    const char **headings;   /* by metric, for readers: "PPL (test)" if the part that was scored is known */
    int headline;            /* index of the metric of delta and p, or NO_HEADLINE */
    gathered_row *rows;      /* [x.n_rows] */
    bool has_recorded;
    read_experiment recorded;
    bool has_paper;
    read_published paper;
    int trials;
    analysis judged; /* its criterion.metric is the metric's name in the runs */
    bool foreign;    /* the experiment's runs were trained by another program (db.h) */
    bool passage;    /* the rows are language models of one text, whose windows are no documents */
    size_t n_trials;
    db_trial *trials_made; /* trials of the rows' searches */
    size_t n_old;
    read_pair *old_verdicts;        /* rows whose stored verdict refers to another base */
    bool full;                      /* all statistics */
    bool page;                      /* for a Markdown page of an INI */
    double sustained;               /* table_options */
    size_t tests;                   /* number of p for the design, for the headline metric */
    size_t seeds_least, seeds_most; /* runs with a number per row, over rows with any */
} gathered;

/* Returns 0; 1 if there is no experiment of that name; -1. find_best: also mark the best rows, by more tests. */
int gather(reader *r, const char *name, const table_options *o, bool find_best, arena *a, gathered *out, err *e);
/* Adds the recorded runs (table_options.vs_recorded). */
int gather_recorded(reader *r, gathered *g, arena *a, err *e);
/* Collects the values of a metric in a row's done runs. */
void measure_runs(const read_row *of, const char *metric, measure *x, arena *a);
/* Sets stream_level of the rows in a metric, for an error rate of `level`; gather passes the criterion's level. */
void gathered_stream(gathered *g, size_t metric, double level);
/* Returns the mean budget of the row's runs, as recorded: "params", "flops", or seconds of updates ("time"), of the
 * processors ("core"), from start to end ("wall"); NaN: unknown. */
double gathered_budget(const gathered_row *row, const char *by);
double gathered_minutes(const gathered_row *row); /* duration of the row's shortest run; NaN: unknown */
/* Returns the median of a number over the rows' comparisons, without numbers that are not finite; NaN: none. */
double gathered_median(const gathered *g, size_t metric, double (*number)(const comparison *));
size_t row_named(const read_experiment *x, const char *name); /* NO_ROW: none */
gathered_row *gathered_base(const gathered *g);               /* NULL: none */
/* Is the row its own base, or base's runs under another name? */
bool gathered_is_base(const gathered *g, const gathered_row *row);
/* Returns "table3" for names that start with it, not followed by a letter or digit; NULL otherwise. */
const char *paper_table_of(const char *name);
/* Returns the row's name for a chart, with "(exploratory)" and "(at an edge)" (of its search) where they apply. */
const char *gathered_label(const gathered_row *row, arena *a);
/* Returns the row's verdict in the headline metric, for tables and pages: by [criterion], else at 5 % after Holm with
 * three seeds or more per row. NULL: none. */
const char *gathered_verdict(const gathered *g, const gathered_row *row);
/* Prints a number with its sign, + or − (U+2212); 0 has none. */
const char *gathered_signed(double x, int decimals, arena *a);
/* Returns words in place of an interval of two seeds that is wider than base's own value; NULL: print the interval. */
const char *gathered_no_interval(const comparison *c);
#endif
