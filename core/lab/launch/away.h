/* away.h - runs that a job engine trains: Slurm (slurm.c), or any other that is told commands (engine.c). The host
 * (away.c) and the tasks (task.c), one process per run or per few runs, share FOLDER/EXPERIMENT/ENGINE/TOKEN/, on a
 * file system that all machines see:
 *
 *     claims           one line per run, written before anything is submitted: the claim as stored in the database,
 *                      and the run's folder
 *     arguments-I      the worker's command line of run I, one argument per line
 *     owner-I          the task that has run I; touched while it lives. Two tasks for one run are harmless: the second
 *                      goes, or takes over when the first has been silent for a lease
 *     submitter        the host that claims and submits (db_owner): if it ends before the engine has the runs, the next
 *                      host takes them back
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

/* seconds: a claim's lease. Looks in a row that must not find a task */
enum { AWAY = 30 * 24 * 3600, AWAY_GRACE = 3 };

typedef struct {
    worker w;
    int start;    /* of its worker, whose events are read */
    off_t read;   /* of them */
    int missing;  /* consecutive times that the engine did not know its task */
    int launched; /* how often its command was started, the last time in this round (engine.c) */
    int round;
    bool over;
} away_run;

typedef struct away_job away_job;
typedef struct { /* each returns 0, or -1 and sets *e */
    const char *name;
    int ask;                                        /* seconds between looks; 0: away_pause() */
    size_t (*room)(const launcher *l, away_job *j); /* the most runs that it takes now; NULL: any number */
    int (*submit)(launcher *l, away_job *j, err *e);
    int (*read)(away_job *j, err *e);              /* of an earlier process, its runs are known; 1: submitted; 0: not */
    int (*look)(launcher *l, away_job *j, err *e); /* every `ask` seconds: ends runs whose tasks are lost */
    void (*cancel)(away_job *j);
    void (*end)(const away_run *a); /* of a run; or NULL */
} away_engine;
extern const away_engine slurm_engine, command_engine;

struct away_job {
    const away_engine *engine;
    char *spool;
    char *id;    /* as the engine calls it; NULL: not submitted */
    size_t part; /* tasks of each of its array jobs (slurm.c) */
    away_run *run;
    size_t n;
    int per_task, ranks; /* ranks: the most of a run */
    double asked;        /* the engine, last time */
    int rounds, unread;  /* engine.c; unread: looks in a row that found a file they could not read */
    bool cancelled;
};

/* launch_runs for runs that are away: returns when all have ended, or at once if detached. */
int away_runs(launcher *l, const away_engine *how, err *e);
/* Queues again the runs from the first on, which the engine did not take; the job is then without them. */
int away_give_back(launcher *l, away_job *j, size_t first, err *e);
char *slurm_task(const away_job *j, size_t i); /* "17_3", which has run i; the caller frees */
int away_end(launcher *l, away_job *j, size_t i, int code, int sig, err *e);
/* 1: the task has recorded the end of run i. */
int away_ended(const away_job *j, size_t i, int *code, int *sig);

/* SPOOL/WHAT-I; the caller frees. */
char *away_part(const char *spool, const char *what, int64_t i);
char *away_events(const char *spool, int64_t i, int start);
/* Seconds since SPOOL/WHAT-I was written or touched, and the time when it was; -1: there is none. 0 and *e: it cannot
 * be opened, or nothing be written there to compare it with. */
double away_age(const char *spool, const char *what, int64_t i, struct timespec *touched, err *e);
/* The same of the owner file of run i, which its task touches. */
double away_silence(const char *spool, int64_t i, struct timespec *touched, err *e);
/* A task that has been silent for so long has lost its run: 60 s, or $ABLATE_TASK_LEASE. */
double away_lease(void);
/* Seconds between its signs of life, and between looks at them: 2 s, or a quarter of the lease if that is less. */
double away_pause(void);
struct timespec away_timespec(double seconds);
/* Sleeps so many seconds, or until a signal. */
void away_rest(double seconds);
#endif
