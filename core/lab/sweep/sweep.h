/* sweep.h - internal to this folder: one call of `ablate run`, and its steps in order. */
#ifndef ABLATE_SWEEP_H
#define ABLATE_SWEEP_H
#include "lab/launch/launch.h"
#include "lab/sweep/estimate.h"

/* ---- preflight.c: before anything is written ---- */

/* Returns the largest number of processes of a selected row's run. */
int most_ranks(const spec *s);
/* Reads `device` and `threads` from [base] unless options give them. A row with other values is an error. */
int read_machine(const spec *s, sweep_options *o, err *e);
/* at_a_time = auto: sets o->workers from the estimated memory of the rows. */
void pack(sweep_options *o, const spec *s, const sweep_costs *x, bool talk);
/* Fails if data are missing. */
int check_data(const sweep_costs *x, const sweep_call *c, err *e);
/* Prints the rows and their costs. Returns the exit code. */
int dry_run(const spec *s, sweep_options *o, const sweep_call *c, err *e);
/* The runs that this call has trained or tried: a later rung of a search, or a later look, does not repeat them. */
typedef struct {
    int64_t *id;
    size_t n, cap;
} handled_runs;
/* The call's --rerun, and the runs that it no longer applies to. */
typedef struct {
    int rerun; /* RERUN_NONE .. */
    handled_runs before;
} reruns;
/* Is the run left to train, given --rerun? (queue.c) */
bool is_left(const reruns *r, const db_frozen *run);
/* Prints one line before the first run starts: costs, and the place of results. f [n]: the runs. */
void print_preflight(const sweep_costs *x, const spec *s, const db_frozen *f, size_t n, const reruns *again,
                     const launch_options *l, const sweep_call *c);

typedef struct {
    int64_t threads, ranks; /* threads per rank; the largest number of ranks of a run */
    double memory;          /* bytes of memory of a process; 0: unknown */
    int gpus;               /* GPUs in use; 0: runs use the CPU */
    /* gpu_memory: bytes of a process on its GPU; gpu_free: free bytes on the GPU with the least. 0: unknown */
    double gpu_memory, gpu_free;
} pack_needs;
int64_t pack_cores(void); /* cores that this process may use */
/* Returns how many runs fit at a time, at least 1, by cores, memory and GPU memory. *why: the reason. (pack.c) */
int64_t pack_workers(const pack_needs *x, str *why);

/* ---- before and between the runs: docs/ini.md describes the INI, docs/statistics.md the meaning ---- */

/* Trains all selected rows and seeds of a spec. 0 if all are done, else `ablate run`'s exit code and perhaps e. */
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

/* Checks that the files or runs in start_from and teacher exist. out: gets each run's file, without the folder of runs
 * if it is below that; NULL: only checks. (origin.c) */
int check_origins(const spec *s, const db_options *where, prepared *out, err *e);
/* Solves `match` of the spec: sets each row's free key so that its budget is closest to base's. For `match = time` rows
 * are trained for a few steps in the experiment NAME.time. Returns 0, or an exit code. */
int match_rows(const spec *s, const trainer *t, prepared *out, err *e);
/* match_rows without training, for a known vocabulary of base; returns 1 for `match = time`. */
int match_counted(const spec *s, const trainer *t, int64_t vocab, prepared *out, err *e);
/* Searches the spec's rows in the experiment NAME.tune, by successive halving on dev PPL, with a seed of its own. */
int search_rows(const spec *s, const trainer *t, prepared *out, err *e);
/* Trains a spec with seeds = "until EFFECT METRIC, at most N": looks at 3, 5, 10, 20 seeds, for undecided rows only. */
int train_until(spec *s, const trainer *t, err *e);

/* ---- freeze.c ---- */

/* Writes the experiment, its rows and missing runs, one per seed; argv: the command, stored with it. *frozen [*n]: the
 * runs, which the caller frees. 0, or -1 and sets *e. */
int run_freeze(db *d, const spec *s, int argc, char **argv, db_frozen **frozen, size_t *n, err *e);

/* Does some row wait for values from a search or from matching? (defaults.c) */
bool values_wait(const spec *s);

/* Gives each row the hash of the stored row with equal values, whichever version froze it. Fails if rows with results
 * differ in defaults alone, unless rerun is RERUN_CHANGED. Values that wait, and values derived from them, may differ.
 * c: its options name keys; NULL: none. (defaults.c) */
int recognize_rows(const db_options *where, const sweep_call *c, spec *s, int rerun, err *e);

/* ---- queue.c: selection and order of the frozen runs ---- */

/* Writes the runs of selected rows, done ones included, to l->runs = ids [n]: seed by seed. If several train at a time,
 * a seed's longest run comes first, and a run with a fifth of all work before all others, so that no worker is idle
 * while another still has a long run. x: costs of the runs; NULL: the numbers of steps decide. */
void choose_runs(const spec *s, const sweep_costs *x, const db_frozen *f, size_t n, int64_t *ids, launch_options *l);
/* Does a row with runs or trials left need more memory than this machine or its GPUs have free? rows: gets a line for
 * each such row; e: the first such row. (room.c) */
bool room_lacks(const sweep_costs *x, const spec *s, const sweep_options *o, str *rows, err *e);
/* Sets a run's needs in l; fails if the disk is too small for the runs left to train. (room.c) */
int check_room(const sweep_costs *x, const spec *s, const db_frozen *f, size_t n, const reruns *again, db *d,
               launch_options *l, err *e);
/* Requeues the runs that --rerun asks for, once per call, and reports runs with changed plugins. */
int queue_again(db *d, const spec *s, reruns *r, const db_frozen *f, size_t n, launch_options *l, bool talk, err *e);
/* Explains the table's gaps and how to fill them. n: runs of this call by status, including other processes'. */
void show_gaps(const db_counts *n);
/* Writes the command that resumes: this command without --rerun, because its runs are already requeued. */
void resume_command(const sweep_call *c, str *out);
#endif
