/* run.h - runs a sweep, from its INI to its table. */
#ifndef ABLATE_RUN_H
#define ABLATE_RUN_H
#include "lab/sweep/setup.h"

enum { RERUN_NONE = -1, RERUN_FAILED, RERUN_CHANGED, RERUN_ALL };

typedef struct { /* what is asked for */
    text_list set, only;
    const char *seeds, *device;
    const char *at_a_time; /* workers: a number, or "auto"; NULL: one per device */
    bool no_check, nice;
    char own_device[64]; /* the INI's */
    int64_t workers, threads, ranks, step_limit;
    bool dry_run, profile;
    int rerun, progress; /* RERUN_NONE ..; enum progress_mode */
    int slurm;           /* runs are tasks of a Slurm array job */
    const char *slurm_args;
    int64_t per_task;
    bool detach;
} sweep_options;

typedef struct { /* who asks */
    const char *ini;
    const places *p;
    int argc; /* as typed: stored with the experiment, and printed as the command that resumes it */
    char **argv;
    int verbosity; /* -1: quiet, 0, 1: verbose */
} sweep_call;

/* Fails if the device does not exist or `at_a_time` is no number. Call it first. */
int sweep_check(sweep_options *o, err *e);
/* Expands the INI, trains what is missing and prints the table; the same call again resumes. With dry_run prints the
 * rows and what they would cost. Returns the exit code; *e has the message of a failure, if it is not printed yet. */
int sweep_run(const sweep_call *c, sweep_options *o, err *e);
/* In the process that sweep_run starts to count the costs of rows (estimate.h): prints them. Returns the exit code. */
int sweep_estimate_print(const sweep_call *c, sweep_options *o);
#endif
