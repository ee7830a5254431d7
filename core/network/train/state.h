/* state.h - the state of a running training, shared by loop.c and state.c (its files). */
#ifndef ABLATE_TRAIN_STATE_H
#define ABLATE_TRAIN_STATE_H
#include "network/train/train.h"

typedef struct {
    train_job *j;
    model *m;
    train_step *s;
    struct watch *watch; /* see watch.h; NULL: off, or another rank watches */
    batcher *batches;
    int64_t step; /* updates made */
    double best;
    int64_t best_step;  /* step of the lowest dev perplexity */
    int64_t best_saved; /* best_step of the state on disk, whose weights a resumed run needs */
    double dev_ppl;
    int64_t dev_step; /* step of the last evaluation */
    int64_t worse;    /* number of evaluations since the best one */
    double seconds, src_tokens, tgt_tokens;
    double run_before, processor_before; /* train_result's */
    struct {
        double seconds, src_tokens, tgt_tokens; /* share of updates that used more threads than the run's own */
    } lent;
    /* running mean of the unsmoothed loss: 0.98 of the last value + 0.02 of the step's (recent_loss) */
    double recent;
    /* losses, which a device reports some steps late */
    double waiting[STEPPER_PENDING]; /* target tokens of each batch whose loss is still unknown */
    int n_waiting;
    double sum, tokens;     /* sums over the step whose batches are being counted */
    int64_t counted, known; /* counted: batches of that step so far; known: last step with a known loss */
    double plain;           /* loss per token of step `known` */
    bool stopping;          /* some rank was asked to stop, so all stop */
    double limit;           /* max_time in seconds; 0: no limit */
    bool out_of_time;       /* some rank has reached the limit, so this step is the last */
    str points;             /* all points of the run's curves so far: lines of metric, step, value */
} training;

#define STATE_FILE "state.safetensors" /* the state to resume from; with keep_states also state-STEP.safetensors */
/* Writes the values as a model file. from: where a result's weights come from, or NULL. */
int state_write_values(const training *t, const train_result *from, const char *path, err *e);
/* Reads another run's model (TRAINED_FILE) as the result. Returns 1, 0 if no such model fits, or -1 and e. */
int state_trained(training *t, train_result *out, err *e);
/* Writes the weights of best_step. Removes the previous best's file (step `before`), unless the state needs it. */
int state_write_best(const training *t, int64_t before, err *e);
/* Writes the state to resume from. */
int state_write(const training *t, err *e);
/* Continues from the folder's state, if there is one, and sets t->step. */
int state_resume(training *t, err *e);
/* At step 0: reads the parameters that fit from the model start_from. said: a description of what was read. */
int state_start_from(training *t, char *said, size_t most, err *e);
/* With start_step: continues from another run's state, the file start_from, without its best checkpoint and times. */
int state_fork(training *t, char *said, size_t most, err *e);
/* Writes a checkpoint and the state, if the run has a folder, and removes obsolete checkpoints. */
int state_save(training *t, err *e);
/* Loads and writes the final weights: the last, the best or an average. */
int state_choose_weights(training *t, train_result *out, err *e);
#endif
