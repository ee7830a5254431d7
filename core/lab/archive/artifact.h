/* artifact.h - writes an experiment to files for others, checks such files, and trains their runs again. */
#ifndef ABLATE_ARCHIVE_ARTIFACT_H
#define ABLATE_ARCHIVE_ARTIFACT_H
#include "lab/results/read.h"
#include "lab/sweep/setup.h"

/* Writes an experiment's finished runs to `path`, without the names of this machine's folders. (record.c) */
enum { RECORD_POINTS = 200 }; /* points kept per learning curve */
int record_write(const places *p, const char *experiment, const char *path, const db_export_options *o, err *e);

/* A temporary folder with a database of one experiment. */
typedef struct {
    char *folder;
    char *path; /* the database's path */
    db_options db;
    int life, keeper; /* life: end of a pipe; keeper: process that removes the folder once life is closed */
} workbench;
/* part: another folder that the keeper removes too, or NULL. */
int workbench_open(workbench *w, const char *part, err *e);
/* Call in a child before exec. The child then gets SIGTERM if this program dies, and the folder outlives the child. */
void workbench_lend(const workbench *w);
void workbench_close(workbench *w);

/* Imports a record into an empty workbench. Returns the experiment's name, in the arena; NULL and e: an error. */
const char *workbench_import(const workbench *w, const char *file, arena *a, err *e);
/* Appends the experiment's table as CSV with full precision. */
int workbench_table(const workbench *w, const char *experiment, str *out, err *e);

/* Files of a published folder. */
#define ARTIFACT_RUNS  "runs.json"
#define ARTIFACT_TABLE "table.csv"
#define ARTIFACT_SUMS  "SHA256SUMS"

/* A run's device, parsed from "Intel(R) Xeon(R) ..., 2 threads, avx512". */
typedef struct {
    bool cpu;
    int64_t threads;
    char isa[32]; /* "": unknown */
} computed;
computed how_computed(const char *device);
/* Returns how many leading digits two numbers share when both are printed with 17 digits. */
int digits_shared(double a, double b);

/* ---- training a recorded run again (retrain.c) ---- */

typedef struct {
    const workbench *w;
    const char *program, *data_dir, *runs; /* runs: the user's folder of runs, for start_from and teacher */
    const char *plugins;                   /* another folder of plugins beside the program's, or NULL */
} retraining;
/* Trains a run of the workbench's database again, with the threads and instruction set of the run's device. Prints both
 * values of each metric. Adds the number of metrics that differ in any digit to *differ. 0, or -1 and e. */
int retrain(const retraining *t, const read_run *was, size_t *differ, err *e);

/* ---- publish.c ---- */

/* Writes a new folder with the experiment's INI, runs, table, page and plugins. -1 and e: no folder is left. */
int publish(const places *p, const char *experiment, const char *folder, bool quiet, err *e);

/* ---- verify.c ---- */

typedef struct {
    int64_t runs, seed;
    double at_most;
    text_list only;
    bool build_plugins;
} verify_options;
enum { HOLDS = 0, FAILS = 1, OTHER_DIGITS = 3 };
/* Checks a record or a published folder and prints faults. Returns one of these codes, or -1 and e. */
int verify(const verify_options *o, const char *what, const places *p, err *e);
#endif
