/* worker.h - a run in its worker: what worker.c opens and trains, and score.c scores. */
#ifndef ABLATE_WORKER_H
#define ABLATE_WORKER_H
#include "comm/comm.h"
#include "data/dataset.h"
#include "decode/constrain.h"
#include "plugin/plugin.h"
#include "train/train.h"

typedef struct {
    const char *folder; /* config.json lies here; checkpoints go here */
    const char *cache_dir, *data_dir;
    const char *device;
    int64_t seed, threads, fd, ranks;
    const char *events; /* file or pipe of events, for ranks: what starts them passes no descriptors on */
    bool profile;
    bool fresh; /* nothing in the folder is this run's */
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
    const backend *on;
    model model;
    bool model_open;
    train_result trained;
    const comm *comm;               /* the other ranks; NULL: none */
    bool leads;                     /* it is rank 0, or there are no others */
    struct last_recorded *recorded; /* what plugins record, newest first; in memory */
    double *nll,
        *hits; /* of the dev set: negative log-likelihood and target tokens of each pair; right and all target tokens */
} worker_run;

extern const char *const worker_split_names[AB_SPLITS];
bool worker_decoder_only(const worker_run *r);
bool worker_decodes(const worker_run *r, ab_split split); /* does decode_split ask for it? */

/* Each sends its results to the host. -1: *e says why not. */
int score_perplexity(worker_run *r, err *e); /* of dev; keeps r->nll and r->hits */
int score_decoded(worker_run *r, err *e);    /* of what is decoded, by the task; outputs are kept as files */
int score_likelihoods(
    worker_run *r,
    err *e); /* of decoder-only tasks: test, or dev where there is no test or both are wanted */
void score_token_accuracy(
    const worker_run *r); /* after the task's own scores, so that those come first in tables */
#endif
