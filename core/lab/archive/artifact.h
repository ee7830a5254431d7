/* artifact.h - an experiment as files for others: written, published, checked, and its runs trained again. */
#ifndef ABLATE_ARCHIVE_ARTIFACT_H
#define ABLATE_ARCHIVE_ARTIFACT_H
#include "lab/results/read.h"
#include "lab/sweep/setup.h"

/* Writes an experiment's finished runs to `path`, without this machine's folders. (record.c) */
enum { RECORD_POINTS = 200 }; /* points kept per learning curve */
int record_write(const places *p, const char *experiment, const char *path, const db_export_options *o, err *e);

/* A folder with its own database; both are removed together. */
typedef struct {
    char *folder;
    char *path; /* the database's path */
    db_options db;
    int life, keeper; /* the keeper, a process, removes the folder if this process ends by a signal */
} workbench;
/* part: another folder that is removed at the end, or NULL. */
int workbench_open(workbench *w, const char *part, err *e);
/* Call in a child before exec: the child ends with this program, and the folder stays until it has ended. */
void workbench_lend(const workbench *w);
void workbench_close(workbench *w);

/* Imports a file of record_write into an empty workbench; returns the experiment's name in the arena, or NULL. */
const char *workbench_import(const workbench *w, const char *file, arena *a, err *e);
/* Writes the experiment's table with full precision as CSV. */
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
/* Returns how many leading digits two numbers share when printed with 17. */
int digits_shared(double a, double b);

/* ---- training a recorded run again (retrain.c) ---- */

typedef struct {
    const workbench *w;
    const char *program, *data_dir, *runs; /* runs: the user's, which start_from and teacher may name */
    const char *plugins;                   /* another folder of plugins beside the program's, or NULL */
} retraining;
/* Trains a run of the workbench's database again, with its device's threads and instruction set, and prints both values
 * of each metric. Adds the number of metrics that differ in any digit to *differ. 0, or -1 and a message. */
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
/* Checks a file of record_write or a folder of publish, prints what it finds, returns one of these codes; -1 and e. */
int verify(const verify_options *o, const char *what, const places *p, err *e);
#endif
