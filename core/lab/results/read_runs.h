/* read_runs.h - reads runs, for read_experiment.c. */
#ifndef ABLATE_RESULTS_READ_RUNS_H
#define ABLATE_RESULTS_READ_RUNS_H
#include "lab/results/internal.h"

/* Source and destination of a load. */
typedef struct {
    sqlite3 *q;
    const char *folder; /* folder of runs, for paths; NULL: paths as stored */
    enum read_depth depth;
    arena *a;
    sqlite3_stmt *runs; /* the last row's */
    const char **names; /* BRIEF: names of metrics so far; each in the arena */
    size_t n_names, cap;
} loading;

/* Loads the runs of a row that is not archived, with their results to l->depth. */
int loading_runs(loading *l, int64_t variant, read_row *row, err *e);
#endif
