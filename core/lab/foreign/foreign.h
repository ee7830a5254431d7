/* foreign.h - makes an experiment of other trainers' runs. Readers map other programs' files to one shape
 * (docs/import.md): a table of named columns, long or wide. shape.c finds the columns, runs.c makes runs and results,
 * referee.c warns as a referee would, record.c writes the record that the database imports. */
#ifndef ABLATE_FOREIGN_FOREIGN_H
#define ABLATE_FOREIGN_FOREIGN_H
#include "lab/foreign/sheet.h"
#include "lab/results/db.h"

typedef struct {
    const char *name, *note;
    text_list row, settings;           /* names of columns; no name in `row`: the column "row" */
    text_list metrics;                 /* names of metrics; the first is judged */
    const char *seed, *step, *example; /* names of columns; NULL: "seed", "step", "example", if such a column exists */
    const char *base;                  /* name of a row; NULL: the first row */
    text_list lower, higher;           /* metrics for which lower or higher is better */
    double margin;                     /* differences up to this are equivalent, in units of the judged metric */
    const char *failed_as;             /* score of failed runs; NULL: a row with failed runs gets no verdict */
    bool best;                         /* a curve's result is its best evaluation, not its last */
} foreign_options;

/* Columns; SIZE_MAX: none. A long table has `metric` and `value`, a wide one a column for each metric. */
typedef struct {
    size_t seed, step, example, status, metric, value;
    size_t *row, n_row, *setting, n_settings, *wide, n_wide;
} shape;

typedef struct {
    size_t row, metric, example; /* example SIZE_MAX: none */
    int64_t seed, step;          /* step -1: none */
    double value;                /* NaN: not finite, or missing */
    bool missing, failed;        /* failed: the run did not end as planned */
    size_t record;
} observation;

/* One metric of one run. */
typedef struct {
    size_t row, metric;
    int64_t seed, step; /* step: of the result; -1: none */
    double value, last, best;
    size_t n_points, n_examples; /* lengths of points and examples */
    const observation *points, *examples;
    bool has_stats, failed;
    double scale; /* the result divided by the examples' mean: 1, or 100 */
} outcome;

typedef struct {
    sheet s;
    shape columns;
    arena mem;
    names rows, metrics, examples;
    observation *seen; /* sorted */
    size_t n_seen;
    outcome *outcomes; /* sorted by row, seed, metric */
    size_t n_outcomes, cap_outcomes;
    size_t *first, cap_first; /* [rows] index of each row's first record */
    const char **direction;   /* [metrics] "max", "min" or NULL */
    size_t base, headline;    /* indices of base's row and of the judged metric */
    const char **warnings;
    size_t n_warnings, cap_warnings;
} foreign;

/* Reads the files and makes runs of them. 0, or -1 and a message with file, line, column and text. */
int foreign_read(const char *const *paths, size_t n, const foreign_options *o, foreign *f, err *e);
/* Prints the columns and the warnings as text. */
void foreign_describe(const foreign *f, const foreign_options *o, str *out);
/* Writes the runs as the experiment o->name. Replaces an experiment imported earlier under that name; any other
 * experiment of that name is an error. */
int foreign_store(db *d, foreign *f, const foreign_options *o, size_t *runs, err *e);
void foreign_free(foreign *f);

/* ---- between the files of this folder ---- */
int shape_find(const sheet *s, const foreign_options *o, shape *x, arena *a, err *e); /* shape.c */
const char *foreign_setting(const foreign *f, size_t row, size_t column);             /* NULL: none */
/* Returns the mean over seeds of a row's judged result, last or best evaluation; NaN: none. */
enum evaluation { LAST, BEST };
double foreign_mean(const foreign *f, size_t row, enum evaluation which);
void foreign_warn(foreign *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
void foreign_referee(foreign *f, const foreign_options *o); /* referee.c */
#endif
