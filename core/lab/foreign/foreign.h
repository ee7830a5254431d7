/* foreign.h - makes an experiment of other trainers' runs: finds each column's role (roles.c), makes runs and results
 * (runs.c), warns as a referee would (referee.c), and writes the record that the database imports (record.c). */
#ifndef ABLATE_FOREIGN_FOREIGN_H
#define ABLATE_FOREIGN_FOREIGN_H
#include "lab/foreign/sheet.h"
#include "lab/results/db.h"

typedef struct {
    const char *name, *note;
    text_list row, metrics, settings, ignored; /* columns */
    const char *seed, *step, *value, *example; /* columns */
    const char *base, *headline;               /* a row, a metric; NULL: guessed */
    text_list lower, higher;                   /* metrics for which lower or higher is better */
    bool best;                                 /* a curve's result is its best evaluation, not its last */
} foreign_options;

enum role {
    ROLE_IGNORED,
    ROLE_ROW,
    ROLE_SEED,
    ROLE_STEP,
    ROLE_NAME,
    ROLE_VALUE,
    ROLE_EXAMPLE,
    ROLE_METRIC,
    ROLE_SETTING
};

typedef struct {
    enum role *of;             /* [columns] */
    bool *given;               /* [columns] true: an option set the role */
    size_t seed, step, metric; /* columns; SIZE_MAX: none. metric: the column with metric names in a long table */
    size_t value, example;
    size_t *row, n_row; /* columns that make up the row's name */
} roles;

typedef struct {
    size_t row, metric, config, example; /* example SIZE_MAX: none */
    int64_t seed, step;                  /* step -1: none */
    double value;                        /* NaN: not finite */
    size_t record;
} observation;

/* One metric of one run. */
typedef struct {
    size_t row, config, metric;
    int64_t seed, step; /* step: of the result; -1: none */
    double value, last, best;
    size_t n_points, n_examples; /* lengths of points and examples */
    const observation *points, *examples;
    bool has_stats;
    double scale; /* the value over the examples' mean: 1, or 100 */
} outcome;

typedef struct {
    sheet s;
    roles r;
    arena mem;
    names rows, metrics, configs, examples;
    observation *seen; /* sorted */
    size_t n_seen;
    outcome *outcomes; /* by row, config, seed, metric */
    size_t n_outcomes, cap_outcomes;
    size_t *chosen;         /* [rows] the configuration shown; the others are trials */
    size_t *config_row;     /* [configs] */
    size_t *config_record;  /* [configs] a record with its settings */
    const char **direction; /* [metrics] "max", "min" or NULL */
    size_t base, headline;  /* a row, a metric */
    bool base_given, headline_given, seeds_numbered, seeds_from_names;
    const char **warnings;
    size_t n_warnings, cap_warnings;
} foreign;

/* Reads the files and makes runs of them. 0, or -1 and a message with file and line. */
int foreign_read(const char *const *paths, size_t n, const foreign_options *o, foreign *f, err *e);
/* Prints the columns' roles and the warnings as text. */
void foreign_describe(const foreign *f, const foreign_options *o, str *out);
/* Writes the runs as the experiment o->name. Replaces an experiment imported earlier under that name; any other
 * experiment of that name is an error. */
int foreign_store(db *d, foreign *f, const foreign_options *o, size_t *runs, err *e);
void foreign_free(foreign *f);

/* ---- between the files of this folder ---- */
int roles_guess(const sheet *s, const foreign_options *o, roles *r, arena *a, err *e); /* roles.c */
const char *direction_of_name(const char *metric);                                     /* words.c; NULL: unknown */
bool sounds_like_metric(const char *name);
bool sounds_like_setting(const char *name);
bool sounds_like_bookkeeping(const char *name); /* times, hosts, links */
bool names_best(const char *metric);            /* "best_acc" */
/* Splits "baseline-seed3": *length 8, *seed 3; false: no seed in the name. */
bool seed_in_name(const char *name, size_t *length, int64_t *seed);
bool foreign_is_setting(const foreign *f, size_t column);
const char *foreign_setting(const foreign *f, size_t config, size_t column); /* NULL: none */
/* Returns the mean over seeds of a row's result, last or best evaluation in a configuration; NaN: none. */
enum evaluation { RESULT, LAST, BEST };
double foreign_mean(const foreign *f, size_t row, size_t config, size_t metric, enum evaluation which);
size_t foreign_trials(const foreign *f, size_t config); /* counts the configuration's runs with the headline metric */
void foreign_warn(foreign *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
void foreign_referee(foreign *f, const foreign_options *o); /* referee.c */
#endif
