/* replay.h - a part of a run again, in this process, which leaves no files. */
#ifndef ABLATE_LAB_REPLAY_H
#define ABLATE_LAB_REPLAY_H
#include "lab/run/worker.h"

typedef struct {
    worker_job job;     /* config, data_dir, cache_dir, device, seed, threads, profile */
    const char *resume; /* the state that it goes on from; NULL: from the start */
    int64_t until;      /* the last update */
    int64_t show_from;  /* updates from here on are told to `show` */
    FILE *show;
    void (*point)(void *self, const char *metric, int64_t step, double value); /* each point of a curve, or NULL */
    void *self;
} replay_job;

/* Opens the run and trains it up to `until`. e: why it failed, or where and why it diverged. */
train_outcome replay_train(const replay_job *j, err *e);
#endif
