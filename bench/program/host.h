/* host.h - shared by the measurements of `ablate-bench host`. */
#ifndef ABLATE_BENCH_HOST_H
#define ABLATE_BENCH_HOST_H
#include "lab/launch/internal.h"

typedef struct {
    const char *folder, *keep;
    int64_t runs, points, workers, events, rows, seeds, sentences, watched, queued;
} host_options;

enum { BENCH_LEASE = 3600 }; /* seconds */

typedef struct {
    const host_options *o;
    db *d;
    char *path;
    launcher *l;
    launch_result result;
    launch_options launch;
} bench;

/* Creates an experiment of rows x seeds queued runs. *ids: their ids; the caller frees. */
int bench_make(bench *b, const char *name, size_t rows, size_t seeds, int64_t **ids, err *e);
/* Claims this run, or queued ones of the experiment if id is NULL. */
int bench_claim(bench *b, const char *name, const int64_t *id, db_claim *out, err *e);
double bench_value(int64_t run, int64_t step); /* a point of a simulated curve */

/* Measures the host's processor time per run, in seconds, while two hosts train an experiment of `queued` runs; closes
 * the connection meanwhile. (hosts.c) */
int bench_hosts(bench *b, const char *name, size_t queued, double *per_run, err *e);

typedef struct {
    double clock, processor; /* seconds per frame: median of the clock; mean user and system time */
} bench_frame;
/* Times frames of `ablate watch` over o->watched runs: nine tenths are done, some are running, and one of these records
 * an event before each frame. (watch.c) */
int bench_watch(bench *b, bench_frame *out, err *e);
#endif
