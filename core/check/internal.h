/* internal.h - what the checks share: results, models around a plugin, sentences, one pass over them. */
#ifndef ABLATE_CHECK_INTERNAL_H
#define ABLATE_CHECK_INTERNAL_H
#include "check/check.h"
#include "cpu/cpu.h"
#include "model/model.h"
#include "text/vocab.h"

/* ---- results ---- */

void check_fail(check_result *r, const char *fmt, ...) PRINTF_LIKE(2, 3); /* the first failure's words stay */
void check_none(check_result *r, const char *fmt, ...)
    PRINTF_LIKE(2, 3); /* unless something failed already */
void check_note(check_result *r, const char *fmt, ...)
    PRINTF_LIKE(2, 3); /* what was looked at, when all is well */
/* Keeps the largest figure; true when it is beyond the bound (or not a number). */
bool check_beyond(check_result *r, double figure);

/* ---- settings (settings.c) ---- */

void check_add_settings(settings *s, arena *a);      /* -s, and the value that is tried */
int check_settings_fit(const plugin *p, err *e);     /* are those of -s parameters of this plugin? */
void check_try(const plugin *p, const char *name, const char *value); /* from here on; name NULL: none */
void check_begins(const char *name, size_t n_done);  /* child.c: for the words about a crash */

/* ---- a plugin among others ---- */

typedef struct {                             /* the plugins of a model */
    const char *attention[ROLES], *position, *feed_forward, *norm, *block; /* paths or names; NULL: the default */
    const char *key, *value; /* one more setting; key NULL: none */
    char words[96];                          /* "dot with alibi": for messages */
} pairing;
/* An attention goes with every position at hand that it honours (a place it cannot take is scaled_dot's), a
 * position with scaled_dot, other parts of a layer with scaled_dot and sinusoid. Sets r when there is nothing to pair it with. The array lives until the next call.
 */
size_t check_pairings(const plugin *p, const pairing **out, check_result *r);
typedef void (*pairing_check)(const pairing *w, check_result *r);
void check_each_pairing(const plugin *p, check_result *r, pairing_check f); /* up to the first failure */

enum { CHECK_VOCAB = 13 };
typedef struct {
    dtype compute;
    double dropout; /* of all three places */
    bool generic;   /* attention never fused */
    bool square;    /* keys as wide as values, so that one may stand for the other */
    const backend *on; /* NULL: the CPU */
} model_kind;
/* A small model with values that fp32 holds exactly, the same for every kind. */
int check_model_open(model *m, const pairing *w, const model_kind *k, err *e);
double check_number(const void *v, dtype type, size_t i); /* element i, of any type */
/* A number in [-1, 1) that depends on place and i only. */
double check_hashed(uint64_t place, uint64_t i);

typedef struct { /* loss and gradient of one pass over the four sentences */
    double loss, size; /* size: length of the gradient */
    double *grad;      /* [n], in the order of names; the caller's */
    size_t n;
    bool fused, layers; /* has it fused attention; layers in one operation (GRU, CONV)? */
} pass_outcome;
bool check_compute(const pairing *w, const model_kind *k, pass_outcome *o, check_result *r);
/* The larger of: relative difference of the losses, norm of the gradients' difference over the norm. */
double check_distance(const pass_outcome *a, const pass_outcome *b);

/* ---- sentences and batches ---- */

enum { MOST_SENTENCES = 8, MOST_TOKENS = 256, MOST_ROWS = MOST_SENTENCES * MOST_TOKENS + 16 };
typedef struct {
    int64_t n;
    int32_t src_n[MOST_SENTENCES], tgt_n[MOST_SENTENCES]; /* EOS counted */
    int32_t src[MOST_SENTENCES][MOST_TOKENS], tgt[MOST_SENTENCES][MOST_TOKENS];
} sentences;
void check_sentences(sentences *s); /* four of unlike lengths */
bool check_compute_on(const sentences *s, const pairing *w, const model_kind *k, pass_outcome *o, check_result *r);
void check_one(const sentences *from, int64_t i, sentences *to);

typedef struct {
    int32_t src[MOST_ROWS], src_pos[MOST_ROWS], src_off[MOST_SENTENCES + 1];
    int32_t in[MOST_ROWS], out[MOST_ROWS], pos[MOST_ROWS], off[MOST_SENTENCES + 1];
    model_batch b;
    int64_t real_rows; /* of targets */
} packed;
typedef struct {
    model *m;
    ab_ctx *c;
    packed p;
} pass;
/* Traces, plans and fills in a loss tape: pass_trace, then pass_plan (what is to be kept must be said between
 * the two). more_rows: dummy rows behind the last sentence; more_time: the padded time axis is so much longer
 * than the longest sentence. */
int pass_open(pass *p, model *m, const sentences *s, bool training, int64_t more_rows, int64_t more_time,
              err *e);
int pass_trace(pass *p, model *m, const sentences *s, bool training, int64_t more_rows, int64_t more_time,
               err *e);
int pass_plan(pass *p, err *e);
void pass_close(pass *p);
int pass_run(pass *p, uint64_t seed, err *e);
double pass_loss(const pass *p);             /* sum of the smoothed losses, and in training what plugins add */
double pass_row(const pass *p, int64_t row); /* smoothed loss of one target row */

/* A schedule's rates over several runs' lengths are numbers from 0 on, and some are not 0; -1 and a message. */
int check_some_rates(const plugin *p, const void *cfg, err *e);

/* Traces an optimizer's update with these settings; -1 and words. */
int check_trace_update(const plugin *p, const void *cfg, err *e);

/* ---- the checks ---- */

const backend *check_the_device(void); /* what check_use_device named, or NULL */
const backend *check_the_composing_device(void); /* the same, its layers composed of other operations as on the CPU */
const backend *check_the_devices_cpu(void); /* the CPU, fusing what the device fuses: its tapes are the device's */

typedef void (*check_run)(const plugin *p, check_result *r);
void check_parameters(const plugin *p, check_result *r);
void check_build(const plugin *p, check_result *r);
void check_kernels(const plugin *p, check_result *r);
void check_op_gradients(const plugin *p, check_result *r);
void check_gradient(const plugin *p, check_result *r);
void check_future(const plugin *p, check_result *r);
void check_padding(const plugin *p, check_result *r);
void check_batch(const plugin *p, check_result *r);
void check_decode(const plugin *p, check_result *r);
void check_same_seed(const plugin *p, check_result *r);
void check_dropout(const plugin *p, check_result *r);
void check_relative(const plugin *p, check_result *r);
void check_fused(const plugin *p, check_result *r);
void check_sublayers(const plugin *p, check_result *r);
void check_rate(const plugin *p, check_result *r);
void check_stateless(const plugin *p, check_result *r);
void check_fp32(const plugin *p, check_result *r);
void check_bf16(const plugin *p, check_result *r);
void check_choices(const plugin *p, check_result *r);
void check_long(const plugin *p, check_result *r);
void check_device(const plugin *p, check_result *r);
void check_device_ops(const plugin *p, check_result *r);
void check_device_update(const plugin *p, check_result *r);
void check_tiles(const plugin *p, check_result *r);
void check_elementwise(const plugin *p, check_result *r);
void check_apart(const plugin *p, check_result *r);
void check_zero(const plugin *p, check_result *r);
void check_minimises(const plugin *p, check_result *r);
void check_resumes(const plugin *p, check_result *r);
void check_open(const plugin *p, check_result *r);
void check_examples(const plugin *p, check_result *r);
void check_repeatable(const plugin *p, check_result *r);
void check_score(const plugin *p, check_result *r);
#endif
