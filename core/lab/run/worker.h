/* worker.h - a run in its worker process (process.c): worker.c opens and trains it, score.c and contrast.c score it. */
#ifndef ABLATE_WORKER_H
#define ABLATE_WORKER_H
#include "tensor/comm/comm.h"
#include "base/cleanup.h"
#include "text/data/contrasts.h"
#include "text/data/dataset.h"
#include "network/decode/constrain.h"
#include "network/plugin/plugin.h"
#include "network/train/train.h"

typedef struct {
    const char *folder; /* contains config.json; receives checkpoints */
    const char *runs;   /* folder of the runs that settings name; NULL: the folder above `folder` */
    const char *config; /* config.json's text without a folder; NULL: read it in the folder, and open its plugins */
    const char *cache_dir, *data_dir;
    const char *device;
    int64_t seed, threads, fd, ranks;
    const char *events;    /* file or pipe for events of ranks, whose launcher passes on no descriptors */
    bool profile, sandbox; /* sandbox: writes below folder and cache_dir only, no network (base/sandbox.h) */
    bool fresh;            /* ignore files already in the folder */
    bool stay, lend;       /* take more runs, or more threads, from standard input (lab/launch/event.h) */
} worker_job;

typedef struct {
    worker_job job;
    arena memory;
    settings set;
    config cfg;
    const plugin *task_plugin;
    const ab_task_plugin *task;
    void *task_self;
    vocab *src, *tgt;
    task_rules rules;
    dataset data;
    err renew_error;     /* error in lines of get_epoch; "": no error */
    contrasts contrasts; /* pairs of the key `contrast`; n 0: none */
    pairs contrast_right, contrast_wrong;
    const backend *on;
    model model;
    bool model_open;
    int lock;                   /* descriptor that locks the folder; -1: none */
    double began, core_seconds; /* ticks() and this process's processor seconds before the run */
    int64_t lent;               /* threads that the run uses instead of its own; 0: its own */
    str lent_told;              /* "2 from step 450, 4 from step 800" */
    bool check_failed;          /* reported already */
    train_result trained;
    const comm *comm;               /* the other ranks; NULL: none */
    bool leads;                     /* this is rank 0, or the only process */
    struct last_recorded *recorded; /* values recorded by plugins, newest first; in memory */
    /* [pair][2] of a scored split. nll: negative log-likelihood, target tokens; hits: right tokens, target tokens */
    double *nll[AB_SPLITS], *hits[AB_SPLITS];
} worker_run;

/* Trains and scores one run, or several if it may stay; sends events to the host. Returns a worker's exit code
 * (lab/launch/event.h), or -1 and sets *e if it cannot reach the host. */
int worker_run_job(worker_job *j, err *e);

/* Opens the settings, the task, its data and the model, on the device r->on. */
int worker_open(worker_run *r, err *e);
train_outcome worker_do(worker_run *r, err *e);
void worker_close(worker_run *r);
void worker_obey(bool rank); /* installs the handlers that stop a run; call before each run */
bool worker_asked_to_stop(void);
double worker_core_seconds(void);               /* this process's processor seconds so far */
void worker_print_profile(const worker_run *r); /* on standard error */

bool worker_decoder_only(const worker_run *r);
/* Returns a function for batch_options.renew that calls the task's get_epoch; NULL: the task has none. */
void (*worker_renew(const worker_run *r))(void *run, int64_t epoch);
bool worker_decodes(const worker_run *r, ab_split split); /* does decode_split include this split? */
bool worker_scores(const worker_run *r, ab_split split);  /* true for dev; for test if decode_split includes it */

/* Each of these sends its results to the host. Returns 0, or -1 and *e. */
int score_perplexity(worker_run *r, err *e); /* scores each split that worker_scores; keeps r->nll and r->hits */
int score_decoded(worker_run *r, err *e);    /* the task scores decoded outputs; outputs are kept as files */
/* for decoder-only tasks: test, and dev if there is no test or both are requested */
int score_likelihoods(worker_run *r, err *e);
/* contrast_open reads and encodes the contrastive pairs, if any; contrast_score sends the model's choices. */
int contrast_open(worker_run *r, err *e);
int64_t contrast_longest(const worker_run *r); /* tokens of the longest side of these pairs, EOS counted; 0: no pairs */
int contrast_score(worker_run *r, err *e);
void contrast_close(worker_run *r);
void score_token_accuracy(const worker_run *r); /* call after the task's own scores, which come first in tables */
#endif
