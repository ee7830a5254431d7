/* launch.h - doing the runs of an experiment: claims runs in the database, starts a worker process for each,
 * writes down what workers tell, shows progress, and handles interrupts.
 *
 * The host is the one process that writes the database. A worker is `PROGRAM worker --folder F ...` with its
 * events on file descriptor 3; it is started fresh (exec), never inherits the connection, and gets SIGTERM
 * when the host dies. First Ctrl-C: no new runs, workers checkpoint at the next step and leave; second: they
 * end where they are, without a new checkpoint; third: SIGKILL.
 */
#ifndef ABLATE_LAUNCH_H
#define ABLATE_LAUNCH_H
#include "results/db.h"

enum { LAUNCH_MOST_WORKERS = 64 };
enum progress_mode { PROGRESS_AUTO, PROGRESS_TTY, PROGRESS_PLAIN, PROGRESS_JSON, PROGRESS_NONE };
int progress_parse(const char *text, enum progress_mode *out, err *e);

typedef struct {
    const char *program; /* of the worker: /proc/self/exe */
    const char *experiment;
    const int64_t *runs;
    size_t n;                         /* run ids that belong to this call, in order */
    size_t done, failed, skipped;     /* of these, before the call */
    const char *folder;               /* checkpoints and logs: FOLDER/EXPERIMENT/RUN/ */
    const char *data_dir, *cache_dir; /* passed on to workers */
    const char *device;               /* auto, cpu, cuda, cuda:N: passed on to workers ... */
    int gpus;                         /* > 0: ... but for auto and cuda, of which there are so many: worker i gets cuda:(i % gpus) */
    int ranks;                        /* the most processes that one of the runs has; 0: one */
    int workers;                      /* at a time; 0: one a device, or as many as ranks leave devices for */
    int threads;                      /* per worker; 0: all cores over the workers */
    int step_limit; /* seconds without a step (or any other event) in training, after which a worker is ended: TERM, then KILL; 0: never */
    enum progress_mode progress;
    const char *resume_command;     /* printed after an interrupt */
    const char *slurm;              /* NULL: processes of this machine; else arguments for sbatch ("" for none): one Slurm array job */
    int per_task;                   /* with Slurm: runs that share one task; 0: one */
    bool detach;                    /* with Slurm: return once the job is submitted; launch_sync reads what it did */
    const char *const *worker_args; /* more arguments for workers ("--profile"), NULL-terminated; or NULL */
} launch_options;

typedef struct {
    size_t done, failed, killed; /* in this call; killed: by somebody else, the next call resumes them */
    size_t left;                 /* of the runs given, those neither done nor failed nor skipped */
    int interrupted;             /* 0, or the signal: SIGINT, SIGTERM, SIGHUP */
} launch_result;

/* Until every run is done or failed, or an interrupt. -1 only when the database fails. */
int launch_runs(db *d, const launch_options *o, launch_result *out, err *e);

/* A duration for people, in `out`: 1h52, 3m07, 12s. NULL: the number is none. */
const char *launch_span(double seconds, char out[24]);

typedef struct {
    size_t jobs, taken, left; /* Slurm jobs found; runs whose end was written down; runs still away */
} sync_result;
/* Writes down what Slurm jobs of an experiment have told so far, and the ends of their runs. Jobs without runs left are forgotten.
 * folder: as launch_options. wait: until none is left. Calls may be repeated. */
int launch_sync(db *d, const char *experiment, const char *folder, bool wait, enum progress_mode mode, sync_result *out, err *e);
/* What squeue says of tasks ("17_3", those of a job beside each other): "PENDING", "RUNNING" ...; "" where it does not know or there is no answer in
 * five seconds. One call of it; none for no task. */
enum { SLURM_STATE = 24 };
void slurm_states(const char *const *task, char (*state)[SLURM_STATE], size_t n);
/* The job's side: `per_task` runs, from run task * per_task on, of those that the host wrote into `spool`. Returns the exit code of the batch script. */
int slurm_task_run(const char *program, const char *spool, int64_t task, int64_t per_task);
#endif
