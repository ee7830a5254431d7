/* state.h - a run under way, shared by its loop (loop.c) and its files (state.c). */
#ifndef ABLATE_TRAIN_STATE_H
#define ABLATE_TRAIN_STATE_H
#include "network/train/train.h"

typedef struct {
    train_job *j;
    model *m;
    train_step *s;
    struct watch *watch; /* watch.h; NULL: not asked for, or another rank does it */
    batcher *batches;
    int64_t step; /* updates made */
    double best;
    int64_t best_step;  /* lowest dev perplexity */
    int64_t best_saved; /* the folder's state's best_step: a run that resumes there needs its weights */
    double dev_ppl;
    int64_t dev_step; /* the last evaluation */
    int64_t worse;    /* evaluations since the best */
    double seconds, src_tokens, tgt_tokens;
    struct {
        double seconds, src_tokens, tgt_tokens; /* of these, with more threads than its own */
    } lent;
    /* of the unsmoothed loss: 0.98 of the value before + 0.02 of the step's; recent_loss() is the mean */
    double recent;
    /* losses, which a device tells some steps late */
    double waiting[STEPPER_PENDING]; /* target tokens of the batches whose losses are not known yet */
    int n_waiting;
    double sum, tokens;     /* of the step whose batches are being counted */
    int64_t counted, known; /* its batches so far; last step of which the loss is known */
    double plain;           /* per token, of that step */
    bool stopping;          /* some rank was asked to stop: all of them do */
    double limit;           /* max_time in seconds; 0: none */
    bool out_of_time;       /* a rank's updates have taken that long: the step is the last one of all ranks */
    str points;             /* all points of its curves so far: lines of metric, step, value */
} training;

#define STATE_FILE "state.safetensors" /* what a run resumes from; with keep_states also state-STEP.safetensors */
/* The values, as a model's file. */
int state_write_values(const training *t, const char *path, err *e);
/* The weights of best_step, which was `before` until now; the file of `before` goes, unless the state needs it. */
int state_write_best(const training *t, int64_t before, err *e);
/* What a run resumes from, as the file of the folder's state. */
int state_write(const training *t, err *e);
/* Continues from the folder's state, if there is one: t->step tells where. */
int state_resume(training *t, err *e);
/* At step 0: the values of the model start_from, as far as they fit; said: what was taken. */
int state_start_from(training *t, char *said, size_t most, err *e);
/* start_step: goes on from another run's state, the file start_from, without its best checkpoint and its time. */
int state_fork(training *t, char *said, size_t most, err *e);
/* A checkpoint and the state, if there is a folder; checkpoints that are too old go. */
int state_save(training *t, err *e);
/* Loads and writes the weights that the run's result is of: the last, the best or an average. */
int state_choose_weights(training *t, train_result *out, err *e);
#endif
