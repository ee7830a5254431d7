/* estimate.h - estimates a sweep before anything is written: is its data present, and how many hours, how much memory
 * and disk does it need?
 *
 * A separate process opens each task once, counts each row's costs on its traced tape and times a few training steps of
 * one row on this machine; the other rows' times follow from their FLOPs. A crashing plugin ends only that process.
 */
#ifndef ABLATE_ESTIMATE_H
#define ABLATE_ESTIMATE_H
#include "cli/options.h"
#include "lab/config/spec.h"

typedef struct {
    size_t row;          /* of the spec */
    double parameters;   /* learned numbers */
    double flops_token;  /* forward and backward, per source and target token */
    double memory, disk; /* bytes used by a running run; bytes of its files */
    double seconds;      /* of one run's training; NaN: not known */
    double gpu_memory;   /* bytes of GPU memory per run; 0: none */
} row_estimate;

typedef struct {
    row_estimate *rows; /* one for each row to run; n of them */
    size_t n;
    int gpus;            /* available to runs; 0: none */
    double gpu_free;     /* free bytes of the GPU with the least */
    const char *missing; /* why a task cannot be opened: missing data; or NULL */
    const char *unknown; /* why there is no estimate, or NULL */
    arena memory;
} sweep_estimate;

/* The child process: prints the estimates as lines for estimate_sweep; patient: may take some seconds to time steps.
 * Returns the exit code. */
int estimate_print(const spec *s, const places *p, const char *device, int64_t threads, bool patient);
/* Starts `program estimate ...` with the arguments of `c` and reads its output. Failures are reported in `out`. */
void estimate_sweep(const invocation *c, sweep_estimate *out);
void estimate_free(sweep_estimate *x);

/* "27 runs, about 3.4 hours with 2 at a time, 1.2 GiB of memory each, 0.3 GB of disk", for n_runs[row of the
 * spec]). */
void estimate_line(const sweep_estimate *x, const size_t *n_runs, int64_t workers, str *out);
void estimate_table(const sweep_estimate *x, const spec *s, str *out); /* for --dry-run: one line per row */
#endif
