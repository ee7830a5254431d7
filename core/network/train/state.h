/* state.h - a run under way, shared by its loop (loop.c) and its files (state.c). */
#ifndef ABLATE_TRAIN_STATE_H
#define ABLATE_TRAIN_STATE_H
#include "network/train/train.h"

typedef struct {
    train_job *j;
    model *m;
    train_step *s;
    struct watch *watch; /* watch.h; NULL: off, or another rank watches */
    batcher *batches;
    int64_t step; /* updates made */
    double best;
    int64_t best_step;  /* lowest dev perplexity */
    int64_t best_saved; /* best_step of the state in the folder: a resumed run needs its weights */
    double dev_ppl;
    int64_t dev_step; /* the last evaluation */
    int64_t worse;    /* evaluations since the best */
    double seconds, src_tokens, tgt_tokens;
    double run_before, processor_before; /* train_result's */
    struct {
        double seconds, src_tokens, tgt_tokens; /* the part of these with more threads than the run's own */
    } lent;
    /* running unsmoothed loss: 0.98 of the last value + 0.02 of the step's; see recent_loss() */
    double recent;
    /* losses, which a device tells some steps late */
    double waiting[STEPPER_PENDING]; /* target tokens of the batches whose losses are not known yet */
    int n_waiting;
    double sum, tokens;     /* sums of the step whose batches are being counted */
    int64_t counted, known; /* the step's batches so far; last step whose loss is known */
    double plain;           /* the loss per token of that step */
    bool stopping;          /* a rank was asked to stop: all ranks stop */
    double limit;           /* max_time in seconds; 0: none */
    bool out_of_time;       /* a rank has reached the limit: this step is the last one of all ranks */
    str points;             /* all points of the run's curves so far: lines of metric, step, value */
} training;

#define STATE_FILE "state.safetensors" /* the state to resume from; with keep_states also state-STEP.safetensors */
/* Writes the values as a model file; from: the origin of a result's weights, or NULL. */
int state_write_values(const training *t, const train_result *from, const char *path, err *e);
/* Takes the model that another run has trained (TRAINED_FILE) as the result: 1; 0: there is none that fits; -1. */
int state_trained(training *t, train_result *out, err *e);
/* Writes the weights of best_step. Removes the file of the previous best, `before`, unless the state needs it. */
int state_write_best(const training *t, int64_t before, err *e);
/* Writes the state to resume from to the folder's state file. */
int state_write(const training *t, err *e);
/* Continues from the folder's state, if there is one: t->step tells where. */
int state_resume(training *t, err *e);
/* At step 0: reads the values of the model start_from, as far as they fit; said: a description of them. */
int state_start_from(training *t, char *said, size_t most, err *e);
/* start_step: goes on from another run's state, the file start_from, without its best checkpoint and its time. */
int state_fork(training *t, char *said, size_t most, err *e);
/* Writes a checkpoint and the state, if there is a folder; removes checkpoints that are too old. */
int state_save(training *t, err *e);
/* Loads and writes the weights of the run's result: the last, the best or an average. */
int state_choose_weights(training *t, train_result *out, err *e);
#endif
