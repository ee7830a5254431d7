/* train.h - trains one model: updates, dev perplexity, checkpoints, resuming, averaging, early stopping. */
#ifndef ABLATE_TRAIN_H
#define ABLATE_TRAIN_H
#include "tensor/comm/comm.h"
#include "text/data/batch.h"
#include "network/model/model.h"

/* Callbacks of the trainer; each may be NULL. */
typedef struct {
    void *self;
    void (*point)(void *self, const char *metric, int64_t step, double value); /* reports a point of a curve */
    /* after each update: perplexity from the mean unsmoothed loss of its batch, tokens (source and target) per
     * second so far */
    void (*progress)(void *self, int64_t step, int64_t total, double ppl, double tokens_per_second);
    bool (*stop)(void *self); /* true: write a checkpoint and stop */
    /* returns true before an update with more threads than the run's own, which tokens per second do not count */
    bool (*lent)(void *self, int64_t step);
} train_events;

typedef struct {
    model *m;
    const dataset *data;
    const vocab *src, *tgt; /* one pointer if shared; src NULL: decoder-only; checkpoints store both */
    const char *folder;     /* checkpoints: state.safetensors, step-N.safetensors, best-N.safetensors,
                               model.safetensors; NULL: none */
    train_events events;    /* called on rank 0 only, except `stop`, which is called on every rank */
    /* the ranks that train this run; NULL: one process. Only rank 0 writes files and continues after the last update */
    const comm *comm;
    /* Repeats part of a run without a folder: from the state in this file (NULL: from the start) to update `until` (0:
     * the end). The model then has the weights of that update */
    const char *resume;
    int64_t until;
    double began, processor; /* ticks() and the processor's seconds when the run began in this process */
    /* prints the losses and ab_print's values (model.prints) of updates from `show_from` on; NULL: prints nothing */
    FILE *show;
    int64_t show_from;
    void (*renew)(void *renewed, int64_t epoch); /* batch_options.renew; NULL: ids stay */
    void *renewed;
} train_job;

typedef enum { TRAIN_DONE, TRAIN_STOPPED, TRAIN_DIVERGED, TRAIN_FAILED } train_outcome;

typedef struct {
    int64_t step;   /* updates made */
    double dev_ppl; /* dev perplexity of the weights in the model */
    double best_ppl;
    int64_t best_step;
    const char *how;  /* origin of the weights: "last", "best", "average of 5" ... */
    int64_t how_step; /* step of the weights; of an average: its last checkpoint's step */
    char how_text[48];
    double tokens_per_second; /* source and target tokens, over updates without lent threads; 0: none */
    double target_tokens_per_second;
    double seconds; /* time of the updates */
    /* seconds and processor's seconds before the state that the run was resumed from */
    double run_before, processor_before;
    /* source and target tokens of this call; other fields include earlier parts of a resumed run */
    double tokens;
    double fill;       /* mean fill of the batches (batcher_fill) */
    char started[512]; /* description of the values read from start_from; "": unset or resumed */
    char taught[512];  /* description of the teacher; "": no teacher */
    bool out_of_time;  /* training ended at max_time, before its last step */
} train_result;

/* Reads the weights of folder/TRAINED_FILE if it exists; else trains to cfg.steps, resuming from
 * folder/state.safetensors if it exists. On TRAIN_DONE the model and folder/model.safetensors have the selected
 * weights. TRAIN_DIVERGED: e says at which step and why. */
train_outcome train_run(train_job *j, train_result *out, err *e);

/* Returns the perplexity, exp of the unsmoothed cross-entropy per target token, EOS counted, over all pairs. `ranks`
 * (NULL: one process) share the work and all get the same figure. NAN and e on failure. */
double train_perplexity(model *m, const pairs *p, const comm *ranks, err *e);
/* train_perplexity with figures per pair, by index in `p`: nll [pairs.n][2] (may be NULL), negative log-likelihood and
 * number of tokens; hits [pairs.n][2] (may be NULL), target tokens ranked first given the true previous tokens, and
 * number of tokens, EOS counted. Reads back every logit, so use it only at the end of a run. */
double train_score(model *m, const pairs *p, double *nll, double *hits, err *e);

/* Does the model see the future? Changes the tokens in the second half of each sentence of the first batch, which is
 * cut as for evaluation or, if `training`, drawn as for training with seed 1. Returns the change of the losses before
 * these tokens, relative to the larger of 1 and the loss; 0 if all is well. NAN and e on failure. */
double train_sees_future(model *m, const pairs *p, bool training, err *e);

/* model_open for texts in these vocabularies (src NULL: decoder-only). Sets the tokens' n-grams if cfg.char_ngrams. */
int train_open_model(model *m, const settings *set, const vocab *src, const vocab *tgt, dtype compute, const backend *b,
                     err *e);
/* Opens the model in a checkpoint file: settings, values, vocabularies (freed by the caller; *tgt == *src if shared,
 * *src NULL for a decoder-only model). Uses the available plugins with the recorded names, and warns if a recorded
 * sha256 differs. Never opens paths in the file (load.c). */
int train_load(const char *path, model *m, dtype compute, const backend *b, vocab **src, vocab **tgt, err *e);

/* Checks that the plugins of a state (its entry "plugins") have the names and sha256 of the current ones
 * (model_plugins_json). Returns 0, or -1 and e. */
int train_same_plugins(const char *path, const char *then, const char *now, err *e);

/* Training steps, one batch at a time, for the trainer, bench and tests. */
typedef struct train_step train_step;
typedef struct teacher teacher; /* teacher.h */
/* The batch as loss tapes read it, padding rows included. Borrows its arrays. */
model_batch train_view(const batch *b);
train_step *train_step_open(model *m, err *e);
/* Sums gradients over these ranks from now on; all must make the same calls. c must outlive s; NULL: one rank. */
void train_step_share(train_step *s, const comm *c);
/* Sets the teacher whose logits the head reads. t must outlive s; NULL: no teacher. */
void train_step_teach(train_step *s, teacher *t);
void train_step_close(train_step *s);
/* Adds the gradient of a batch. Returns 0, or -1 and e. Does not wait for a device. */
int train_step_gradient(train_step *s, const batch *b, int64_t step, err *e);
/* The tape that ran last (NULL: no tape has run), and the gradient of the last update [params.total], summed over
 * ranks. Both are valid until the next batch. */
const ab_ctx *train_step_tape(const train_step *s);
const void *train_step_summed(const train_step *s);
/* *sums: the summed losses (smoothed, plain) of each batch since the last call, oldest first, valid until the next
 * gradient. Waits for a device. Returns their number, or -1 and e. Call it at least every STEPPER_PENDING batches. */
enum { STEPPER_PENDING = 256 };
int train_step_losses(train_step *s, const double (**sums)[2], err *e);
/* Calls f with each number that plugins recorded (ab_log, ab_add_loss) for the last batch: "PLUGIN.name", or for a
 * vector "PLUGIN.name[0]" and so on. Waits for a device. Returns 0, or -1 and e. */
int train_step_recorded(const train_step *s, void (*f)(void *self, const char *name, double value), void *self, err *e);
/* Runs the last batch again to describe the operation that made its numbers infinite or NaN (tape_find_not_finite). The
 * batch's gradient is lost. False: no such operation was found. */
bool train_step_not_finite(train_step *s, char *out, size_t n);
/* Like train_perplexity; on a device keeps tapes and their graphs for the next call. */
double train_step_perplexity(train_step *s, const pairs *p, const comm *ranks, err *e);
/* Updates the parameters with the gradients summed by train_step_gradient, over `tokens` target tokens. */
int train_step_update(train_step *s, double tokens, int64_t step, err *e);
/* batch_options.round for this model: on a device every batch then has the same number of rows. */
int64_t train_step_round(const model *m, int64_t batch_tokens, int64_t ranks);
#endif
