/* away.h - runs that a job engine trains: Slurm (slurm.c), or any other that starts commands (engine.c). The host
 * (away.c) and the tasks (task.c), one process per run or per few runs, share FOLDER/EXPERIMENT/ENGINE/TOKEN/, on a
 * file system that all machines see:
 *
 *     claims           one line per run, written before anything is submitted: the claim as stored in the database,
 *                      and the run's folder
 *     arguments-I      the worker's command line of run I, one argument per line
 *     owner-I          the task that has run I; touched while it lives. Two tasks for one run are harmless: the second
 *                      exits, or takes over when the first has been silent for a lease
 *     submitter        the host that claims and submits (db_owner): if it ends before the engine has the runs, the next
 *                      host queues them again
 *     events-I[.K]     the worker's events (event.h), of its start K
 *     exit-I           "CODE SIGNAL", written once by the task when run I has ended for good
 *     and files of the engine
 *
 * Claims are owned by "ENGINE/TOKEN", not by a process, with a lease of AWAY: a host may exit (--detach) or die, and
 * launch_sync continues. Processing an event twice is harmless, so a host that starts again reads the files from the
 * beginning. Nothing needs a lock. */
#ifndef ABLATE_AWAY_H
#define ABLATE_AWAY_H
#include "lab/launch/internal.h"
#include <time.h>

/* lease of a claim in seconds; consecutive checks that find no task before a run counts as lost */
enum { AWAY = 30 * 24 * 3600, AWAY_GRACE = 3 };

typedef struct {
    worker w;
    int start;    /* number of the worker's start whose events are being read */
    off_t read;   /* bytes of the events read */
    int missing;  /* consecutive checks in which the engine did not know the run's task */
    int launched; /* how often the run's command was started; the last start was in round `round` (engine.c) */
    int round;
    bool over;
} away_run;

typedef struct away_job away_job;
typedef struct { /* functions with `e` return 0, or -1 and set *e */
    const char *name;
    int ask;                                  /* seconds between calls of `look`; 0: away_pause() */
    size_t (*room)(launcher *l, away_job *j); /* how many more runs the engine accepts now; NULL: any number */
    int (*submit)(launcher *l, away_job *j, err *e);
    int (*read)(away_job *j, err *e);              /* reads an earlier host's job; 1: it was submitted, 0: not */
    int (*look)(launcher *l, away_job *j, err *e); /* every `ask` seconds: ends runs whose tasks are lost */
    void (*cancel)(away_job *j);
    void (*end)(const away_run *a); /* called when a run has ended; or NULL */
} away_engine;
extern const away_engine slurm_engine, command_engine;

struct away_job {
    const away_engine *engine;
    char *spool;
    char *id;    /* the engine's id of the job; NULL: not submitted */
    size_t part; /* tasks per array job (slurm.c) */
    away_run *run;
    size_t n;
    int per_task, ranks; /* runs per task; the largest number of ranks of a run */
    double asked;        /* ticks() of the engine's last `look` */
    int rounds, unread;  /* both for engine.c; unread: consecutive checks that found an unreadable file */
    bool cancelled;
};

/* launch_runs for runs that are away: returns when all have ended, or at once if detached. */
int away_runs(launcher *l, const away_engine *how, err *e);
/* Queues again the runs from `first` on, which the engine did not accept, and removes them from the job. */
int away_give_back(launcher *l, away_job *j, size_t first, err *e);
char *slurm_task(const away_job *j, size_t i); /* the Slurm task that trains run i, "17_3"; the caller frees */
int away_end(launcher *l, away_job *j, size_t i, int code, int sig, err *e);
/* Returns 1 if the task has recorded the end of run i. */
int away_ended(const away_job *j, size_t i, int *code, int *sig);

/* SPOOL/WHAT-I; the caller frees. */
char *away_part(const char *spool, const char *what, int64_t i);
char *away_events(const char *spool, int64_t i, int start);
/* Returns the seconds since SPOOL/WHAT-I was written or touched (its task touches owner-I); *touched: that time. -1: no
 * such file. 0 and *e: the file cannot be opened, or no file can be written beside it to compare times. */
double away_age(const char *spool, const char *what, int64_t i, struct timespec *touched, err *e);
/* Seconds of silence after which a task loses its run: 60, or $ABLATE_TASK_LEASE. */
double away_lease(void);
/* Seconds between a task's signs of life, and between checks of them: 2, or a quarter of the lease if that is less. */
double away_pause(void);
struct timespec away_timespec(double seconds);
/* Sleeps for `seconds`, or until a signal. */
void away_rest(double seconds);
#endif
