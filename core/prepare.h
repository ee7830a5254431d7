/* prepare.h - what `ablate run` does before and between the runs of an experiment whose INI asks for it: rows are matched to base's budget, searches choose
 * values, seeds are added where rows are undecided. docs/ini.md says how it is written, docs/statistics.md what it means. */
#ifndef ABLATE_PREPARE_H
#define ABLATE_PREPARE_H
#include "run.h"

/* How rows are trained: the whole of a spec, all its selected rows and seeds. Returns 0 when all are done, else `ablate run`'s exit code; words in e
 * where there are some. */
typedef struct {
    int (*train)(void *self, spec *s, err *e);
    void *self;
    const db_options *db;
    const plugin_schemas *plugins;
    bool talk; /* lines for people on standard error */
} trainer;

/* Values found for rows, with the trials that found them: what they point to is in mem. */
typedef struct {
    arena mem;
    spec_chosen *chosen;
    size_t n, cap;
    db_trial *trials;
    size_t n_trials, cap_trials;
} prepared;
void prepared_free(prepared *p);
void prepared_choose(prepared *p, const char *row, const char *key, const char *value);

/* Solves `match` of the spec: each row's free key so that its budget is the nearest possible to base's. For `match = time` rows are trained for a few
 * steps in the experiment NAME.time. Returns 0, or an exit code. */
int match_rows(const spec *s, const trainer *t, prepared *out, err *e);
/* Does the searches of the spec's rows in the experiment NAME.tune: successive halving on the dev set's PPL, with a seed that the report does not use. */
int search_rows(const spec *s, const trainer *t, prepared *out, err *e);
/* Trains a spec whose seeds are "until EFFECT METRIC, at most N": looks at 3, 5, 10, 20 seeds, more only for rows that are undecided. */
int train_until(spec *s, const trainer *t, err *e);

typedef struct {
    int64_t threads, ranks; /* of each rank; the most processes of a run */
    double memory;          /* bytes of a process; 0: not known */
    int gpus;               /* that take part; 0: runs are on the CPU */
    /* bytes of a process on its GPU; free on that which has least. 0: not known */
    double gpu_memory, gpu_free;
} pack_needs;
/* How many runs fit beside each other, from 1: by cores and free memory, and on GPUs by theirs. *why: words. */
int64_t pack_workers(const pack_needs *x, str *why);
#endif
