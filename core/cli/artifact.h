/* artifact.h - shared by record, publish and verify: an experiment as files for others. */
#ifndef ABLATE_COMMANDS_ARTIFACT_H
#define ABLATE_COMMANDS_ARTIFACT_H
#include "cli/options.h"
#include "lab/results/read.h"

/* Writes an experiment's finished runs to `path`, without this machine's folders. (record.c) */
int record_write(const places *p, const char *experiment, const char *path, const db_export_options *o, err *e);

/* A folder that holds a database of its own, and is removed with it. */
typedef struct {
    char *folder;
    char *path; /* of the database */
    db_options db;
    int life, keeper; /* the keeper is a process that removes the folder if this one ends by a signal */
} workbench;
/* part: another folder that is removed at the end, or NULL. */
int workbench_open(workbench *w, const char *part, err *e);
/* In a child, before exec: the child ends with this program, and the folder stays until it has ended. */
void workbench_lend(const workbench *w);
void workbench_close(workbench *w);

/* Imports a file of record_write into an empty workbench; the experiment's name in the arena, or NULL. */
const char *workbench_import(const workbench *w, const char *file, arena *a, err *e);
/* The experiment's table with full precision, as CSV. */
int workbench_table(const workbench *w, const char *experiment, str *out, err *e);

/* Files of a published folder. */
#define ARTIFACT_RUNS  "runs.json"
#define ARTIFACT_TABLE "table.csv"
#define ARTIFACT_SUMS  "SHA256SUMS"

/* How a run was computed, from its device: "Intel(R) Xeon(R) ..., 2 threads, avx512". */
typedef struct {
    bool cpu;
    int64_t threads;
    char isa[32]; /* "": unknown */
} computed;
computed how_computed(const char *device);
/* How many leading digits two numbers share, as printed with 17. */
int digits_shared(double a, double b);

/* ---- training a recorded run again (retrain.c) ---- */

typedef struct {
    const workbench *w;
    const char *program, *data_dir;
    const char *plugins; /* folder of plugins besides the program's, or NULL */
} retraining;
/* Trains a run of the workbench's database again, with the threads and the instruction set of its device, and prints
 * both values of each metric. *differ grows by the metrics that differ in any digit. 0, or -1 and a message. */
int retrain(const retraining *t, const read_run *was, size_t *differ, err *e);
#endif
