/* estimate.h - what a sweep would take, before anything is written: are its data there, and how many hours, how much memory and disk?
 *
 * A process of its own opens each task once, counts each row's costs on its traced tape and times a few training steps of one row on this
 * machine; the other rows' times follow from their FLOPs. A plugin that crashes so takes nothing else with it.
 */
#ifndef ABLATE_ESTIMATE_H
#define ABLATE_ESTIMATE_H
#include "commands/options.h"
#include "config/spec.h"

typedef struct {
    size_t row;            /* of the spec */
    double parameters;     /* learned numbers */
    double flops_token;    /* forward and backward, per source and target token */
    double memory, disk;   /* bytes of one run at work; of what one run leaves */
    double seconds;        /* of one run's training; NaN: not known */
    double gpu_memory;     /* bytes that one run takes of its GPU's memory; 0: none */
} row_estimate;

typedef struct {
    row_estimate *rows; /* one for each row that is to run; n of them */
    size_t n;
    int gpus;        /* that runs may get; 0: none */
    double gpu_free; /* bytes free on that which has least */
    const char *missing; /* why a task cannot be opened: its data are not there; or NULL */
    const char *unknown; /* why there are no figures, or NULL */
    arena memory;
} sweep_estimate;

/* The child: prints the estimates as lines for estimate_sweep; patient: it may take some seconds to time steps. Returns the exit code. */
int estimate_print(const spec *s, const places *p, const char *device, int64_t threads, bool patient);
/* Starts `program estimate ...` with the arguments of `c` and reads what it prints. It fails only in what it says in `out`. */
void estimate_sweep(const invocation *c, sweep_estimate *out);
void estimate_free(sweep_estimate *x);

/* "27 runs, about 3.4 hours with 2 at a time, 1.2 GiB of memory each, 0.3 GB of disk": for so many runs of each row (n_runs[row of the
 * spec]). */
void estimate_line(const sweep_estimate *x, const size_t *n_runs, int64_t workers, str *out);
void estimate_table(const sweep_estimate *x, const spec *s, str *out); /* for --dry-run: a line for each row */
#endif
