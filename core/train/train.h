/* train.h - training one model: updates, dev perplexity, checkpoints, resuming, averaging, early stopping. */
#ifndef ABLATE_TRAIN_H
#define ABLATE_TRAIN_H
#include "comm/comm.h"
#include "data/batch.h"
#include "model/model.h"

/* What the trainer tells and asks; every function may be NULL. */
typedef struct {
    void *self;
    void (*point)(void *self, const char *metric, int64_t step, double value); /* a point of a curve */
    /* after each update: mean unsmoothed loss of its batch as perplexity, tokens (source and target) a second
     * so far */
    void (*progress)(void *self, int64_t step, int64_t total, double ppl, double tokens_per_second);
    bool (*stop)(void *self); /* true: write a checkpoint and leave */
} train_events;

typedef struct {
    model *m;
    const dataset *data;
    const vocab *src, *tgt; /* the same pointer when shared; src NULL: decoder-only; stored in checkpoints */
    const char *folder;     /* checkpoints: state.safetensors, step-N.safetensors, best.safetensors,
                               model.safetensors; NULL: none */
    train_events events;    /* of rank 0 alone, but for `stop`, which any rank may answer */
    const comm *comm;       /* the other ranks that train this run; NULL: none. Rank 0 alone writes files and goes on after the last update */
} train_job;

typedef enum { TRAIN_DONE, TRAIN_STOPPED, TRAIN_DIVERGED, TRAIN_FAILED } train_outcome;

typedef struct {
    int64_t step;   /* updates made */
    double dev_ppl; /* of the weights that are left in the model */
    double best_ppl;
    int64_t best_step;
    const char *how; /* "last", "best", "average of 5" ...: which weights those are */
    char how_text[48];
    double tokens_per_second; /* source and target tokens over the time of updates */
    double target_tokens_per_second;
    double seconds; /* in updates */
    double tokens;  /* source and target tokens of the updates made by this call; the rest counts what a resumed run did before, too */
    double fill;    /* mean fill of the batches */
} train_result;

/* Trains to cfg.steps, resuming from folder/state.safetensors when it is there. On TRAIN_DONE the model holds
 * the selected weights and folder/model.safetensors has them. TRAIN_DIVERGED: e says at which step and why.
 */
train_outcome train_run(train_job *j, train_result *out, err *e);

/* exp of the unsmoothed cross-entropy per target token, EOS counted, over all pairs (recipe: "perplexity").
 * ranks (NULL: none) share the work, and all get the same figure. */
double train_perplexity(model *m, const pairs *p, const comm *ranks, err *e);
/* The same, and nll (may be NULL): [pairs.n][2] negative log-likelihood and tokens of each pair, by its place in `p`; hits (may be
 * NULL): [pairs.n][2] target tokens that are the likeliest ones given the true tokens before them, and target tokens:
 * token accuracy, EOS counted. Reads every logit back, so it is for the end of a run. */
double train_score(model *m, const pairs *p, double *nll, double *hits, err *e);

/* Opens the model in a checkpoint file: settings, vocabularies (freed by the caller; *tgt == *src when
 * shared, *src NULL where the model is decoder-only), values. Plugins are those at hand that have the recorded names, with a warning where the recorded sha256 is
 * another; the file's own paths are never opened (load.c). */
int train_load(const char *path, model *m, dtype compute, const backend *b, vocab **src, vocab **tgt, err *e);

/* Are the plugins of a state (its entry "plugins") those of now (model_plugins_json), by name and sha256? -1 and words. */
int train_same_plugins(const char *path, const char *then, const char *now, err *e);

/* One training step over a batch at a time, as the trainer does it: for bench and for tests. */
typedef struct train_step train_step;
train_step *train_step_open(model *m, err *e);
/* Gradients are summed over these ranks from now on; every rank makes the same calls. c outlives s; NULL: no others. */
void train_step_share(train_step *s, const comm *c);
void train_step_close(train_step *s);
/* Adds the gradient of a batch. -1 and words. On a device nobody waits for it. */
int train_step_gradient(train_step *s, const batch *b, int64_t step, err *e);
/* The sums of the losses (smoothed, plain) of each batch since the last call, oldest first, valid until the next gradient; waits for
 * them. Returns how many, or -1 and words. To be called before STEPPER_PENDING batches have gathered. */
enum { STEPPER_PENDING = 256 };
int train_step_losses(train_step *s, const double (**sums)[2], err *e);
/* Calls f with each number that plugins recorded (ab_log, ab_add_loss) for the last batch; waits for them. -1 and words. */
int train_step_recorded(const train_step *s, void (*f)(void *self, const char *name, double value), void *self, err *e);
/* As train_perplexity; on a device its tapes and their graphs are kept for the next call. */
double train_step_perplexity(train_step *s, const pairs *p, const comm *ranks, err *e);
/* Updates the parameters by what train_step_gradient has summed, over `tokens` target tokens. */
int train_step_update(train_step *s, double tokens, int64_t step, err *e);
/* batch_options.round for this model: a device takes every batch at one number of rows. */
int64_t train_step_round(const model *m, int64_t batch_tokens, int64_t ranks);
#endif
