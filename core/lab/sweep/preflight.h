/* preflight.h - what `ablate run` does before it writes anything: device, threads and workers, data, costs. */
#ifndef ABLATE_PREFLIGHT_H
#define ABLATE_PREFLIGHT_H
#include "cli/estimate.h"
#include "lab/launch/launch.h"

typedef struct {
    option_list set, only;
    const char *seeds, *device;
    const char *at_a_time; /* --workers */
    bool no_check, nice;
    char own_device[64]; /* the INI's */
    int64_t workers, threads, ranks, step_limit;
    bool dry_run, profile;
    int rerun, progress; /* which word; rerun -1: not asked for */
    int slurm;           /* --launcher */
    const char *slurm_args;
    int64_t per_task;
    bool detach;
} sweep_options;

/* The largest number of processes of a selected row's run. */
int most_ranks(const spec *s);
/* Takes `device` and `threads` from the INI's [base] unless the command line sets them. They apply to the whole sweep:
 * a row with other values is an error. */
int take_machine(const spec *s, sweep_options *o, err *e);
/* Parses --workers. */
int take_workers(sweep_options *o, err *e);
/* --workers auto: sets o->workers from the estimated memory of the rows. */
void pack(sweep_options *o, const spec *s, const sweep_estimate *x, bool talk);
/* Fails if data are missing. */
int check_data(const sweep_estimate *x, const invocation *c, err *e);
/* Prints the rows and what they would cost. Returns the exit code. */
int dry_run(const spec *s, sweep_options *o, const invocation *c, err *e);
/* Prints one line before the first run starts: costs, and where results go. f [n]: the runs. */
void say_preflight(const sweep_estimate *x, const spec *s, const db_frozen *f, size_t n, const launch_options *l,
                   const invocation *c);
#endif
