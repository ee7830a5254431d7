/* launch.h - trains the runs of an experiment: claims runs in the database, starts a worker process for each,
 * records the workers' events, shows progress, and handles interrupts.
 *
 * Only the host process writes the database. A worker is `PROGRAM worker --folder F ...` with its
 * events on file descriptor 3. It is started with exec, never inherits the connection, and gets SIGTERM
 * when the host dies. First Ctrl-C: no new runs start, workers checkpoint at the next step and exit; second: they
 * stop at once, without a new checkpoint; third: SIGKILL. */
#ifndef ABLATE_LAUNCH_H
#define ABLATE_LAUNCH_H
#include "lab/results/db.h"

enum { LAUNCH_MOST_WORKERS = 64 };
enum progress_mode { PROGRESS_AUTO, PROGRESS_TTY, PROGRESS_PLAIN, PROGRESS_JSON, PROGRESS_NONE };

typedef struct {
    const char *program; /* the workers' program: /proc/self/exe */
    const char *experiment;
    const int64_t *runs;
    size_t n;                         /* run ids that belong to this call, in order */
    size_t done, failed, skipped;     /* runs in each state before the call */
    const char *folder;               /* checkpoints and logs: FOLDER/EXPERIMENT/RUN/ */
    const char *data_dir, *cache_dir; /* passed on to workers */
    const char *device;               /* auto, cpu, cuda, cuda:N: passed on to workers ... */
    /* > 0: number of GPUs; with auto and cuda, worker i gets cuda:(i % gpus) instead */
    int gpus;
    int ranks;   /* the largest number of processes of a run; 0: one process */
    int workers; /* number of workers at a time; 0: one per device, divided by ranks */
    int threads; /* threads per worker; 0: all cores, divided by the number of workers */
    /* cores to share: each run gets at least `threads`, and more if fewer runs are left than fit; 0: do not share */
    int cores;
    /* seconds without a step or other event in training after which a worker is ended with TERM, then KILL; 0: never */
    int step_limit;
    bool no_mps;                   /* workers that share a GPU take turns: no daemon is started (mps.h) */
    double disk_each, memory_each; /* bytes that a run needs; 0: not known. No run starts without that room */
    bool fail_fast;                /* the first failed run stops the others, which save first */
    const char *notify; /* shell command, run once: when a run fails, diverges or has a troubled dev curve; or NULL */
    enum progress_mode progress;
    const char *resume_command; /* printed after an interrupt */
    /* NULL: runs are processes on this machine; else one Slurm array job with these arguments for sbatch, or "" */
    const char *slurm;
    int per_task; /* with Slurm: number of runs that share one task; 0: one run */
    /* a shell command that starts runs on other machines, or NULL. "{}" in it is the command of one run, and `workers`
     * of them run at a time; without "{}" it gets the commands on standard input, one per line */
    const char *command;
    bool detach; /* with slurm or command: return once the runs are submitted; launch_sync records their progress */
    const char *const *worker_args; /* more arguments for workers ("--profile"), NULL-terminated; or NULL */
} launch_options;

/* Removes the checkpoints of done runs. */
int launch_clean(db *d, const launch_options *o, err *e);

typedef struct {
    size_t done, failed, killed; /* in this call; killed: by another process; the next call resumes these */
    size_t left;                 /* runs of this call that are neither done nor failed nor skipped */
    bool stopped;                /* by fail_fast */
    int interrupted;             /* 0, or the signal: SIGINT, SIGTERM, SIGHUP */
} launch_result;

/* Returns when every run is done or failed, or after an interrupt. -1 only if the database fails. */
int launch_runs(db *d, const launch_options *o, launch_result *out, err *e);

/* Formats a duration in `out`: 1h52, 3m07, 12s. NULL: not a number. */
const char *launch_span(double seconds, char out[24]);

typedef struct {
    size_t jobs, taken, left; /* jobs found; runs whose end was recorded; unfinished runs */
} sync_result;
/* Records the events and ends so far of an experiment's runs that are away, and removes finished jobs. Reads program,
 * experiment, folder and progress of `o`. wait: returns when no run is left. Calls may be repeated. */
int launch_sync(db *d, const launch_options *o, bool wait, sync_result *out, err *e);
bool launch_is_away(const char *folder, const char *experiment); /* does the experiment have runs that are away? */
/* Finds the states of tasks ("17_3", grouped by job) in squeue: "PENDING", "RUNNING" ...; "" if unknown or without an
 * answer in five seconds. Calls squeue once; never if n is 0. */
enum { SLURM_STATE = 24 };
void slurm_states(const char *const *task, char (*state)[SLURM_STATE], size_t n);
/* The job's side (task.c): trains `per_task` runs of the spool, from run task * per_task on. Returns the exit code. */
int task_run(const char *program, const char *spool, int64_t task, int64_t per_task);
/* Trains the run that the host prepared in this folder. Returns 0 when the run has ended or another task has it, 75
 * when it was stopped before its end; -1 and e. */
int task_run_folder(const char *program, const char *folder, err *e);
/* Starts the engine's commands for the runs of a round, in a process of its own (engine.c). */
int launch_round(const char *program, const char *spool, int64_t round, err *e);
#endif
