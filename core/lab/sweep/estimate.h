/* estimate.h - estimates a sweep before anything is written: is its data present, and how many hours, how much memory
 * and disk does it need? A separate process, since a plugin may crash it, opens each task once, counts each row's costs
 * on its traced tape and times a few updates of each kind of row; FLOPs give the times of rows that differ only in
 * size. Dev perplexity, decoding, scores, searches and the data's time are counted too. */
#ifndef ABLATE_ESTIMATE_H
#define ABLATE_ESTIMATE_H
#include "lab/sweep/call.h"

typedef struct { /* trials of a row's search that are not done, and their updates, by rung */
    size_t rungs, trials[SEARCH_RUNGS];
    int64_t steps[SEARCH_RUNGS];
} search_left;

typedef struct {
    size_t row;          /* the row's number in the spec */
    size_t left;         /* runs still to train */
    double parameters;   /* learned numbers */
    double flops_token;  /* forward and backward, per source and target token */
    double memory, disk; /* memory: bytes that a running run uses; disk: bytes of its files */
    double seconds;      /* seconds of one run's updates; NaN: not known */
    double beside;       /* one run's other seconds: data, dev perplexity, checkpoints, decoding and scores */
    double search;       /* seconds of the search for the row's settings, and its trials */
    size_t trials;
    double gpu_memory;          /* bytes of GPU memory per run; 0: none */
    double flops, flops_search; /* FLOPs of one run's updates, and of all updates of the search's trials */
} row_estimate;

typedef struct { /* a row that cannot be trained, and why */
    size_t row;
    const char *why;
} row_refused;

typedef struct {
    row_refused *refused;
    size_t n_refused, refused_cap;
    row_estimate *rows; /* [n], one for each row to run */
    size_t n, timed;    /* n: rows; timed: how many of the first rows have timed updates */
    int gpus;           /* GPUs available to runs; 0: none */
    double gpu_free;    /* free bytes of the GPU with the least */
    /* Why a task cannot be opened: missing data; or NULL. `rows` exist nevertheless if the data's sizes are known. */
    const char *missing;
    double busy;         /* seconds on the clock per second of a processor, while updates were timed; 0: not known */
    str notes;           /* the tasks' notes on their data, one per line */
    const char *unknown; /* why rows are missing or, if there are rows, why their times are missing; or NULL */
    arena memory;
} sweep_costs;

/* Starts `program estimate ...` with the arguments of `c` and reads its output. Ends that program if a row takes longer
 * than its announced limit, or if this process ends. Reports failures in `out`. */
void estimate_sweep(const sweep_call *c, sweep_costs *out);
void estimate_free(sweep_costs *x);

/* Writes "27 runs: about 3.4 hours on this machine (updates 3.1 hours; ...), 3.4 core hours and 8.2e+15 FLOPs, 1.2 GB
 * of memory each, 0.3 GB of disk; 2 at a time about 1.7 hours" for n_runs[row of the spec] runs; searches: counts the
 * searches, too; threads: per run, 0: unknown. */
void estimate_line(const sweep_costs *x, const size_t *n_runs, bool searches, int64_t workers, int64_t threads,
                   str *out);
void estimate_searches(const sweep_costs *x, str *out);             /* one line, if there are searches */
void estimate_table(const sweep_costs *x, const spec *s, str *out); /* for --dry-run: one line per row */
#endif
