/* prepare.h - optional steps before and between the runs of an experiment: rows are matched to base's budget, searches
 * choose values, undecided rows get more seeds. docs/ini.md describes the INI, docs/statistics.md the meaning. */
#ifndef ABLATE_PREPARE_H
#define ABLATE_PREPARE_H
#include "lab/sweep/run.h"

/* Trains all selected rows and seeds of a spec. Returns 0 if all are done, else `ablate run`'s exit code, with any
 * message in e. */
typedef struct {
    int (*train)(void *self, spec *s, err *e);
    void *self;
    const db_options *db;
    const plugin_schemas *plugins;
    bool talk; /* print information on standard error */
} trainer;

/* Values found for rows, with the trials that found them; all texts are in mem. */
typedef struct {
    arena mem;
    spec_chosen *chosen;
    size_t n, cap;
    db_trial *trials;
    size_t n_trials, cap_trials;
} prepared;
void prepared_free(prepared *p);
void prepared_choose(prepared *p, const char *row, const char *key, const char *value);

/* Solves `match` of the spec: sets each row's free key so that its budget is closest to base's. For `match = time` rows
 * are trained for a few steps in the experiment NAME.time. Returns 0, or an exit code. */
int match_rows(const spec *s, const trainer *t, prepared *out, err *e);
/* Runs the searches of the spec's rows in the experiment NAME.tune: successive halving on the dev set's PPL, with a
 * seed that the report does not use. */
int search_rows(const spec *s, const trainer *t, prepared *out, err *e);
/* Trains a spec whose seeds are "until EFFECT METRIC, at most N": looks at 3, 5, 10, 20 seeds, and continues only for
 * undecided rows. */
int train_until(spec *s, const trainer *t, err *e);

typedef struct {
    int64_t threads, ranks; /* of each rank; the largest number of processes of a run */
    double memory;          /* bytes of a process; 0: unknown */
    int gpus;               /* GPUs in use; 0: runs use the CPU */
    /* bytes of a process on its GPU; free bytes on the GPU with the least. 0: unknown */
    double gpu_memory, gpu_free;
} pack_needs;
/* How many runs fit at the same time (at least 1): by cores and free memory, and on GPUs by GPU memory. *why: the
 * reason. */
int64_t pack_workers(const pack_needs *x, str *why);
#endif
