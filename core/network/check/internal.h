/* internal.h - shared by the checks: results, models around a plugin, sentences, and a pass over sentences. */
#ifndef ABLATE_CHECK_INTERNAL_H
#define ABLATE_CHECK_INTERNAL_H
#include "base/cleanup.h"
#include "network/check/check.h"
#include "tensor/cpu/cpu.h"
#include "network/model/model.h"
#include "text/tokens/vocab.h"

/* ---- results ---- */

/* Sets outcome and message. A first failure is never replaced; a note (CHECK_OK) replaces no other outcome. */
void check_result_set(check_result *r, check_outcome outcome, const char *fmt, ...) PRINTF_LIKE(3, 4);
#define check_fail(r, ...) check_result_set(r, CHECK_FAIL, __VA_ARGS__)
#define check_none(r, ...) check_result_set(r, CHECK_NONE, __VA_ARGS__)
#define check_note(r, ...) check_result_set(r, CHECK_OK, __VA_ARGS__)
/* Keeps the largest figure. Returns true if `figure` exceeds the bound or is NaN. */
bool check_beyond(check_result *r, double figure);
/* The larger of a and b; NaN if either is NaN, unlike fmax. */
double check_larger(double a, double b);

size_t check_memory_in_use(void); /* bytes currently allocated */

/* ---- settings (settings.c) ---- */

void check_add_settings(settings *s, arena *a);  /* adds the settings of -s and of check_try */
int check_settings_fit(const plugin *p, err *e); /* -1 and e if a setting of -s names no parameter of p */
/* Sets p's parameter `name` to value in later checks; name NULL: later checks set no parameter. */
void check_try(const plugin *p, const char *name, const char *value);
void check_begins(const char *name, size_t n_done); /* names the check for a crash report */

const plugin *check_find(const char *name, err *e); /* name: "attention/dot", "dot" or a path */
/* Is r the complete list of results of check_plugin for this kind? all false: is r the first n results of that list? */
bool check_is_whole(ab_kind kind, const check_result *r, size_t n, bool all);
/* Forks the process that starts check_elsewhere's others, before a sandbox forbids forks. Those first call `shut`. */
void check_second_start(int (*shut)(err *e));

/* ---- a plugin among others ---- */

/* Kinds that are traced into a model: all kinds that own a hook, except optimizers. */
#define KIND_BIT_(NAME, owner, doc) | 1u << AB_##owner
enum { CHECK_TRACED = (0 AB_HOOKS(KIND_BIT_)) & ~(1u << AB_NO_KIND | 1u << AB_OPTIMIZER) };
#undef KIND_BIT_

typedef struct { /* the plugins of a model, as paths or names; NULL: the default plugin */
    const char *attention[ROLES];
#define PAIRING_KIND(NAME, name, ...) const char *name;
    AB_MODEL_KINDS(PAIRING_KIND)
#undef PAIRING_KIND
    const char *key, *value; /* one more setting; key NULL: no more */
    uint32_t claims;         /* claims of the checked plugin */
    char name[96];           /* for messages, such as "dot with alibi" */
} pairing;
/* Pairs an attention with every loaded position that it supports (scaled_dot fills the roles that the attention lacks),
 * a position with scaled_dot, another kind with scaled_dot and sinusoid. Sets r if there is no partner. The caller
 * frees the array, also after 0. */
size_t check_pairings(const plugin *p, pairing **out, check_result *r);
bool check_first_pairing(const plugin *p, pairing *one, check_result *r); /* without a partner: false and r */
typedef void pairing_check(const pairing *w, check_result *r);
void check_each_pairing(const plugin *p, check_result *r, pairing_check *f); /* stops at the first failure */

enum { CHECK_VOCAB = 13 };
typedef struct {
    dtype compute;
    double dropout;    /* value of all three dropout settings */
    bool generic;      /* attention is never fused */
    bool square;       /* d_k = d_v, so that keys and values are interchangeable */
    int layers, heads; /* layers 0: 1 in the encoder and 2 in the decoder; heads 0: 3 */
    int width;         /* d_model; 0 means 12 */
    double spread;     /* factor on the learned values; 0 means 1 */
    const backend *on; /* backend; NULL: the CPU */
} model_kind;
/* Opens a small model. Its values are exact in fp32, so models of every number type have equal values. */
int check_model_open(model *m, const pairing *w, const model_kind *k, err *e);
bool check_has_model(model *m, const pairing *w, const model_kind *k, check_result *r); /* if not, sets r */
/* Returns a pseudo-random number in [-1, 1), or a token, determined by `place` and i. */
double check_hashed(uint64_t place, uint64_t i);
int32_t check_token(uint64_t place, uint64_t i);

typedef struct {       /* loss and gradient of one pass over the four sentences */
    double loss, size; /* size: norm of the gradient */
    double *grad;      /* [n], in the order of parameters' names */
    size_t n, n_rows;
    const double *row; /* [n_rows]: losses; part of grad's memory */
    bool fused;        /* the tape has fused attention or DELTA_SCAN */
} pass_outcome;
void pass_outcome_free(pass_outcome *o);
/* The larger of the relative differences of losses and of gradients (norm of the difference over the norm). If the
 * plugin may jump (AB_DISCONTINUOUS): the third quartile of the rows' relative differences. */
double check_distance(const pairing *w, const pass_outcome *a, const pass_outcome *b);

/* ---- sentences and batches ---- */

enum { MOST_SENTENCES = 16, MOST_TOKENS = 1024, MOST_ROWS = MOST_SENTENCES * MOST_TOKENS + 16 };
typedef struct {
    int64_t n;
    int32_t src_n[MOST_SENTENCES], tgt_n[MOST_SENTENCES]; /* EOS counted */
    int32_t src[MOST_SENTENCES][MOST_TOKENS], tgt[MOST_SENTENCES][MOST_TOKENS];
} sentences;
void check_sentences(sentences *s); /* makes four sentences of different lengths */
/* Runs a pass over s (NULL: those four), in training. False: it failed, and r says how. */
bool check_compute(const sentences *s, const pairing *w, const model_kind *k, pass_outcome *o, check_result *r);
void check_change_from(sentences *s, int32_t first); /* replaces target tokens from index `first` on */
void check_one(const sentences *from, int64_t i, sentences *to);

typedef struct {
    int32_t src[MOST_ROWS], src_pos[MOST_ROWS], src_off[MOST_SENTENCES + 1];
    int32_t in[MOST_ROWS], out[MOST_ROWS], pos[MOST_ROWS], off[MOST_SENTENCES + 1];
    model_batch b;
    int64_t real_rows; /* target rows without padding rows */
} packed;
typedef struct {
    model *m;
    ab_ctx *c;
    packed p;
} pass;
/* Traces, plans and fills a loss tape: pass_trace, then pass_plan (mark nodes to keep between the two). more_rows:
 * padding rows after the last sentence. more_time: padding of the time axis beyond the longest sentence. */
int pass_open(pass *p, model *m, const sentences *s, bool training, int64_t more_rows, int64_t more_time, err *e);
int pass_trace(pass *p, model *m, const sentences *s, bool training, int64_t more_rows, int64_t more_time, err *e);
int pass_plan(pass *p, err *e);
void pass_fill(pass *p, const sentences *s); /* sets the next run's inputs; sentences must keep their lengths */
void pass_close(pass *p);
int pass_run(pass *p, uint64_t seed, err *e);
double pass_loss(const pass *p);             /* sum of the smoothed losses, and in training of the plugins' losses */
double pass_row(const pass *p, int64_t row); /* smoothed loss of one target row */

/* Checks a schedule's rates over several run lengths: finite, >= 0 and not all 0. Returns 0, or -1 and e. */
int check_some_rates(const plugin *p, const void *cfg, err *e);

/* Hashes each of the first n nodes: the node's operation, inputs and attributes. */
void check_hash_tape(const ab_ctx *c, uint64_t *out, int32_t n);
typedef uint64_t check_hash(const plugin *p, err *e); /* hashes what a plugin computes; sets e on failure */
check_hash check_hash_updates, check_hash_examples, check_hash_rates;
/* Fails if the plugin's losses, updates or examples (`what`) differ in other processes. */
void check_elsewhere(const plugin *p, const char *what, check_result *r);
/* Traces an optimizer's update with these settings. Returns 0, or -1 and e. */
int check_trace_update(const plugin *p, const void *cfg, err *e);

/* ---- a plugin in disguise (disguise.c) ---- */

/* Shows the plugin the disguise of check_disguise_as from now on. Returns the number of replaced functions. */
size_t check_disguise(const plugin *p);
/* Returns a hash of the static variables of the plugin's shared object; 0 for a plugin in Python. */
uint64_t check_statics(const plugin *p);
/* Sets the disguise: shifts the date by `seconds`; variables: 0: the real ones; 1: none; 2: all "1"; 3: all "no". */
void check_disguise_as(int64_t seconds, int variables);

/* ---- the checks ---- */

/* Options of later checks in this process, set by check_set, check_try, check_use_device and check_..._at_most. */
typedef struct {
    size_t most_pairings; /* an attention runs with its first positions only */
    int32_t most_tokens;  /* sentences of the check "sizes" are not longer */
    settings given;       /* the settings of -s; never freed */
    arena memory;
    setting tried; /* setting that is being tried; key NULL: no setting */
    const backend *device;
    backend composing; /* the device without fused embedding, so that it has the CPU's tapes */
    backend cpu;       /* the CPU without the fused operations that the device lacks */
} check_setup;
extern check_setup check_given;         /* settings.c */
bool check_has_device(check_result *r); /* if false, r says why the check does not apply */
const backend *
check_the_composing_device(void);           /* the device with layers composed of other operations, as on the CPU */
const backend *check_the_devices_cpu(void); /* the CPU with the device's fusions, so that both have equal tapes */

typedef void check_run(const plugin *p, check_result *r);
check_run check_parameters, check_calls, check_kernels, check_process, check_op_gradients, check_sizes, check_positions,
    check_relative, check_fused, check_choices, check_long, check_long_decode, check_device_ops, check_device;
pairing_check check_build, check_sublayers, check_same_seed, check_gradient, check_dropout, check_future, check_padding,
    check_batch, check_decode, check_fp32, check_bf16;
/* Runs a check with one pairing, on sentences of `tokens` tokens; max_len is raised if necessary. */
void check_one_partner(const plugin *p, pairing_check *each, int tokens, check_result *r);
check_run check_elementwise, check_tiles, check_apart, check_zero, check_minimises, check_resumes, check_updates,
    check_device_update;
check_run check_rate, check_stateless, check_open, check_examples, check_repeatable, check_score;
#endif
