/* internal.h - shared by the files of this folder: a run's worker, the launcher, and their parts. */
#ifndef ABLATE_LAUNCH_INTERNAL_H
#define ABLATE_LAUNCH_INTERNAL_H
#include "lab/launch/care.h"
#include "base/cleanup.h"
#include "lab/launch/event.h"
#include "lab/launch/launch.h"
#include <signal.h>
#include <sys/types.h>

typedef struct {
    db_claim claim;
    pid_t pid; /* process id of the worker; 0: no process */
    int fd;    /* the worker's events; -1: closed */
    bool gone; /* the worker's process has ended and was reaped */
    int jobs;  /* > 0: socket for further runs and numbers of threads */
    int lent;  /* threads lent to the worker; 0: it uses only its own */
    bool idle; /* the worker's process waits for a run */
    char *folder, *log, *argv_json;
    const char *model; /* trained model to decode with, of a run that differs only in decoding; NULL: train */
    int ranks;         /* processes of the run; if more than one, pid is mpirun's */
    char *events;      /* with ranks: the named pipe or file for the ranks' events */
    str buffer;        /* incomplete events */
    str late;          /* events after those in `buffer`, read while another process held the database */
    db_point *points;  /* points received but not yet written; their metrics' names are in `buffer` */
    size_t n_points, points_cap;
    char phase[24], device[24]; /* "cpu", "cuda:1" */
    int64_t step, total, first_step;
    double ppl, tokens_per_second, dev_ppl;
    care_curve curve;
    double news;                /* ticks() of the worker's last event */
    double term_at;             /* ticks() when the watchdog asked the worker to stop; 0: never */
    bool silent;                /* the worker's silence has been reported */
    double started, first_tick; /* ticks() at the process's start, and at the process's first progress */
    bool diverged, ended;       /* ended: the worker has sent the line `end` */
    double reported;            /* ticks() when the worker reported done, stopped or diverged; 0: not yet */
    double asked_at;            /* ticks() when the worker was last asked to stop; 0: never */
    bool hung;                  /* mpirun did not exit after its ranks and was killed */
    char error[2048];
    char scores[256];    /* "  PPL 5.31  BLEU 24.9": the run's results so far, as text */
    db_provenance facts; /* texts owned by `texts` */
    arena texts;
} worker;

/* Creates FOLDER/EXPERIMENT/HASH-sSEED-gGENERATION with config.json; sets w->log, w->ranks and w->events. */
int worker_folder(worker *w, const launch_options *o, err *e);
/* Returns the process's command line, NULL-terminated, in w->texts; sets w->device and w->argv_json. */
char **worker_arguments(worker *w, int slot, const launch_options *o, int threads);
/* A process that has trained a run and waits for another (worker --stay). pid 0: none. */
typedef struct {
    pid_t pid;
    int fd, jobs;
} resting;
/* Sends the run to the idle process *r if that can train it, else starts a process with its events on fd 3 and its
 * output in FOLDER/log.txt. *r is empty afterwards. */
int worker_start(worker *w, resting *r, int slot, const launch_options *o, int threads, err *e);
/* Detaches the process from an idle worker. */
resting worker_detach_process(worker *w);
void worker_dismiss(resting *r);          /* ends the process and waits until it has ended */
int launch_gpus(const launch_options *o); /* number of GPUs for the runs; 0: the runs use the CPU */
void worker_clear(worker *w);
/* Asks the worker to checkpoint and exit: by SIGTERM, or with ranks by SIGUSR1, which mpirun forwards to all ranks. */
void worker_ask_stop(worker *w);
/* Sends SIGKILL; with ranks to mpirun, whose end ends them, and to a program around mpirun ($ABLATE_MPIRUN). */
void worker_kill(const worker *w);
/* Did the process end because it was asked to stop: by itself, or killed by the signal before it could catch it? */
bool worker_was_asked(int code, int sig);

/* ---- runs of several processes (ranks.c) ---- */

int ranks_of(const char *config_json); /* the key `ranks` of a run's settings */
/* Appends the arguments that start w->ranks processes of `program` to the n existing ones; returns the new number. */
int ranks_command(worker *w, const char *program, char **args, int n, int most);
void ranks_environment(void); /* sets mpirun's variables; call in the child */
/* Makes the named pipe w->events: ends[0] for the host (reads do not wait), ends[1] for the child to hold. */
int ranks_pipe(const worker *w, int ends[2], err *e);
/* Splits a wait status into exit code and signal; -1: none. ranked: mpirun's code above 128 means a rank's signal. */
void ranks_status(int status, bool ranked, int *code, int *sig);
/* Before starting ranks: removes files left in the run's folder by ranks killed before all had met. */
void ranks_clear(const char *folder);

typedef struct {
    char host[256];
    char *commit, *diff; /* commit NULL: no checkout; diff "": no uncommitted changes */
} provenance;

void provenance_find(provenance *p, const launch_options *o);
void provenance_write(const provenance *p, worker *w); /* writes p into w->facts; p must outlive w->facts */
void provenance_free(provenance *p);

/* Returns a program's output; NULL if it fails. The caller frees. */
char *output_of(const char *const *args);

typedef struct {
    enum progress_mode mode; /* never AUTO */
    size_t total, done, failed, killed, skipped, running;
    int lines_drawn;
    double started, finished_seconds; /* ticks() at the start; seconds of the finished runs, added up */
    double tokens; /* source and target tokens trained on by runs that finished training in this call */
    size_t finished;
    double last_draw;
    int workers;
} progress;

double progress_left(const worker *w); /* seconds of training still to come; NaN: not known */
void progress_begin(progress *p, const launch_options *o);
/* Prints a permanent line; not in the modes json and none. */
void progress_line(progress *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Prints an event: start, eval, or an end: done, diverged, failed, killed, stopped, lost. */
void progress_event(progress *p, const worker *w, const char *what, double value);
void progress_interrupted(progress *p, int times, int workers);
void progress_draw(progress *p, const worker *w, size_t n, bool now); /* tty only; a few times a second */
void progress_end(progress *p, const char *resume); /* resume: after an interrupt, the command that resumes */

/* ---- the host's bookkeeping, whatever started the workers (host.c) ---- */

enum { LAUNCH_LEASE = 120, LAUNCH_BEAT = 15, LAUNCH_MAX = LAUNCH_MOST_WORKERS }; /* seconds, seconds, processes */

typedef struct {
    db *d;
    const launch_options *o;
    db_queue queue;
    progress p;
    worker w[LAUNCH_MAX];
    resting rest[LAUNCH_MAX]; /* the idle process of the worker with this index */
    int n_workers, threads;
    int lent_among; /* number of active workers when threads were lent last */
    char owner[128];
    provenance from;
    double last_beat, interrupted_at;
    int handled;                    /* interrupts handled */
    double watched;                 /* ticks() when the workers were checked last */
    bool told_room, told_notify;    /* the user was told that there is no room; launch_options.notify was started */
    size_t slurm_array, slurm_most; /* the cluster's MaxArraySize and MaxJobCount; 0: not asked yet (slurm.c) */
    launch_result *out;
} launcher;

extern volatile sig_atomic_t launch_interrupts, launch_signal; /* number of signals received; the last signal */
void launch_catch_signals(void);
void launch_let_signals_go(void);

/* Records the events that are complete lines in w->buffer. */
int launch_collect_events(launcher *l, worker *w, err *e);
/* Lends cores that no waiting run needs to the running runs (lend.c). */
void launch_lend(launcher *l);
/* Returns the number of threads with which each run starts. */
int launch_threads(const launch_options *o, int at_once);
/* Starts launch_options.notify once: when the first run fails, diverges or has trouble in its dev curve. */
void launch_notify(launcher *l, const worker *w, const char *what);
/* Removes the checkpoints in a done run's folder (leftovers.c). */
void leftovers_remove(const char *folder);
/* Renews the claim on the run by `lease` seconds, and stores its progress. */
int launch_heartbeat(launcher *l, const worker *w, int lease, err *e);
/* Records the end of a run with exit status code, or sig (-1: none), removes its checkpoints, clears the worker. */
int launch_end(launcher *l, worker *w, int code, int sig, err *e);
/* Reports that another process has taken over the run, and clears the worker. */
void launch_lost(launcher *l, worker *w);

#endif
