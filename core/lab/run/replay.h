/* replay.h - trains a part of a run again, in this process, without leaving files. */
#ifndef ABLATE_LAB_REPLAY_H
#define ABLATE_LAB_REPLAY_H
#include "lab/run/worker.h"

typedef struct {
    worker_job job;     /* config, data_dir, cache_dir, device, seed, threads, profile */
    const char *resume; /* the state to resume from; NULL: train from the start */
    int64_t until;      /* the last update */
    int64_t show_from;  /* first update for which `show` is called */
    FILE *show;
    /* called for each point of a curve; or NULL */
    void (*point)(void *self, const char *metric, int64_t step, double value);
    void *self;
} replay_job;

/* Opens the run and trains it until update `until`. e: why it failed, or where and why it diverged. */
train_outcome replay_train(const replay_job *j, err *e);
#endif
