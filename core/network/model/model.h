/* model.h - the encoder-decoder Transformer (Vaswani et al. 2017, section 3), or a decoder-only one, traced onto tapes.
 *
 * A `model` has the settings, the plugins with their settings, and the learned values. Tapes are traced from it for
 * given shapes: one for training (loss and gradient), one for evaluation (loss), two for decoding (encode; one step).
 * The model owns params and the plugins' settings; a tape belongs to the caller (tape_free, before model_free).
 */
#ifndef ABLATE_MODEL_H
#define ABLATE_MODEL_H
#include "network/settings/config.h"
#include "base/vmath.h"
#include "tensor/graph/tape.h"
#include "network/plugin/plugin.h"

enum { ROLE_ENCODER, ROLE_DECODER, ROLE_CROSS, ROLES };

typedef struct param_group param_group; /* groups.h */

/* The plugins and settings of one layer in one role: those of the run, changed by [layers ...] (settings/places.h). */
typedef struct {
    config cfg;
    const settings *set;
    const plugin *attention, *position, *feed_forward, *norm;
    void *attention_cfg, *position_cfg, *feed_forward_cfg, *norm_cfg;
} model_part;

typedef struct model {
    config cfg;                     /* resolved */
    settings set;                   /* the settings as texts, including plugins' parameters */
    const plugin *attention[ROLES]; /* NULL: a decoder-only model lacks this role */
    void *attention_cfg[ROLES];
#define MODEL_KIND(NAME, name, ...)                                                                                    \
    const plugin *name;                                                                                                \
    void *name##_cfg; /* position, position_cfg, feed_forward, ... */
    AB_MODEL_KINDS(MODEL_KIND)
#undef MODEL_KIND
    model_part *parts[ROLES];     /* [layers] each; ROLE_CROSS has the decoder's number; NULL: no such role */
    config widest;                /* cfg with the largest value of any layer for heads, d_ff, d_k and d_v */
    int64_t src_vocab, tgt_vocab; /* numbers of ids; src_vocab 0: decoder-only, without encoder and cross-attention */
    dtype compute;                /* type of activations */
    const backend *backend;
    params params;
    param_group *groups; /* [n_groups] optimizer settings by param.group; group 0 has the run's settings */
    int n_groups;
    table_cache tables; /* tables of positions, kept across traces */
    /* loss tapes keep attention weights as SCOPE.weights (plugin/attention_context.h), which prevents fusion */
    bool keep_weights;
    /* with keep_weights: for an attention without kept weights, loss tapes also compute on which keys its output
     * depends (trace_influence); values that depend on the batch alone are then in phase SETUP */
    bool keep_influence;
    bool keep_outputs; /* loss tapes keep each sublayer's output as "dec.0.ffn" KEPT_OUTPUT */
    /* loss tapes have inputs "dec.0.ffn" PATCH [rows,d_model] and PATCHED_ROWS [rows,1]; where PATCHED_ROWS is 1, PATCH
     * replaces the sublayer's output; F32 or F64 only */
    bool patches;
    bool bidirectional; /* the decoder sees whole lines (MODEL_BIDIRECTIONAL) */
    bool wide_logits;   /* evaluation computes logits in fp32, not bf16, for a teacher */
    bool prints;        /* loss tapes keep what ab_print prints */
    FILE *print_to;     /* file to which runs of loss tapes print those values, or NULL; owned by the caller */
    bool generic;       /* never fuse attention, or a norm with its addition: for `ablate check` */
    struct {
        /* id [n], token [n]: token[i] has n-gram id[i]; until model_set_ngrams, a token has ten made-up n-grams */
        const int32_t *id, *token;
        int64_t n;
    } ngram;
    arena memory;
} model;

/* Type of the model's products, such as "fp32". */
static inline const char *model_precision(const model *m) { return m->params.int8 ? "int8" : dtype_name(m->compute); }

/* Finds the plugins, binds their settings, checks that they fit each other and the vocabularies, traces once to find
 * all parameters, and initialises them from cfg.seed. `set` has every setting of the run. src_vocab 0: a decoder-only
 * model; its shapes and batches have no source (0 rows), and attention_encoder and attention_cross are ignored. */
int model_open(model *m, const settings *set, int64_t src_vocab, int64_t tgt_vocab, dtype compute, const backend *b,
               err *e);
/* Set by tasks with AB_BIDIRECTIONAL; not a key: the decoder's self-attention sees all tokens. */
#define MODEL_BIDIRECTIONAL "task.bidirectional"
extern const uint32_t role_bits[ROLES];        /* by ROLE_...: AB_SELF, AB_CAUSAL, AB_CROSS */
uint32_t model_role(const model *m, int role); /* returns AB_SELF, AB_CAUSAL or AB_CROSS for role ROLE_... */
/* Returns AB_POS_... bits of the position's functions that the attention does not accept (`embed` excepted). */
uint32_t position_missing(const plugin *position, const plugin *attention);
/* Checks that the part's attention fits its role (ROLE_...) and position. Returns 0, or -1 and e. */
int model_check_part(const model *m, const model_part *part, int role, err *e);
/* Reads a plugin's parameters from the settings; allocates in `a`. Returns NULL and e on failure. */
void *model_bind_plugin(arena *a, const settings *set, const plugin *p, err *e);
enum { TASK_SAYS = 1024 }; /* bytes */
/* Opens a task with its settings, in `a`. said: its message about the data, or "". Returns 0, or -1 and e. */
int model_open_task(const plugin *p, const settings *set, const ab_env *env, arena *a, void **self,
                    char said[TASK_SAYS], err *e);
/* Sets the source tokens' n-grams if cfg.char_ngrams; call it before the first tape. id and token [n] (tokens/ngrams.h)
 * must outlive the model. */
void model_set_ngrams(model *m, const int32_t *id, const int32_t *token, int64_t n);
void model_free(model *m);
static inline bool model_has_encoder(const model *m) { return m->src_vocab > 0; }
/* A parameter's description for optimizers. */
ab_parameter model_parameter(const param *p);
/* The kind of plugin that a key names; 0: no kind, or `attention`, which names plugins of three roles. */
ab_kind model_plugin_kind(const char *key);
/* Opens the plugin files that a user's settings name (plugin.h). Returns 0, or -1 and e. */
int model_open_plugins(const settings *set, err *e);
/* Appends the plugins that the settings name: {"position":{"name":"rotary","sha256":"...","file":"/..."},...}. */
int model_plugins_json(const settings *set, str *out, err *e);
/* Called before each function of a layer's plugin; NULL: nothing is called. The conformance check fills the stack with
 * garbage here, to expose arrays that a plugin does not initialise. */
extern void (*model_before_plugin)(void);

/* Refuses a length beyond the table of the position or an attention, which the parameter `max_len` limits
 * (ab_plugin.h). needed: rows [tokens]; why: a clause for the message. Returns 0, or -1 and e. */
int model_check_reach(const model *m, int64_t needed, const char *why, err *e);

/* Element i of the numbers at x, which are of this type and in host memory. */
static inline double number_at(const void *x, dtype type, size_t i)
{
    switch (type) {
    case F64: return ((const double *)x)[i];
    case F32: return (double)((const float *)x)[i];
    case BF16: return (double)from_bf16(((const bf16 *)x)[i]);
    default: return ((const int32_t *)x)[i];
    }
}

/* ---- shapes and inputs ---- */

typedef struct {
    int64_t batch;              /* sentences B */
    int64_t src_rows, tgt_rows; /* numbers of packed rows, padding rows included */
    int64_t src_time, tgt_time; /* longest sentence of each side */
} model_shape;

/* Views of one batch, described in data/batch.h. Lengths exclude padding. */
typedef struct {
    model_shape shape;
    const int32_t *src_ids, *src_pos, *src_offset;
    const int32_t *tgt_in, *tgt_out, *tgt_pos, *tgt_offset;
} model_batch;

/* Input of a training tape whose head asks for the teacher's logits [tgt_rows,tgt_vocab], which the caller writes. With
 * teacher = TEACHER_MADE_UP (`ablate check`), model_loss_inputs writes made-up logits. */
#define TEACHER         "teacher"
#define TEACHER_MADE_UP "teacher made up"
#define RECORDED        "recorded "
#define KEPT_OUTPUT     ".output"
#define PATCH           ".patch"
#define PATCHED_ROWS    ".patched"
/* Names with keep_influence: input PROBE, a factor on each row of an attention's output; BY_VALUES, BY_ROWS: the
 * product's gradient with respect to the values [B,heads,Tk,d] or the rows of the key side [rows,d_model]. */
#define PROBE     ".probe"
#define BY_VALUES ".by_values"
#define BY_ROWS   ".by_rows"
#define WATCHED   ".watched" /* "enc.0.watched": with watch_layers, a layer's output in training */
static inline void tape_end(ab_ctx **c) { tape_free(*c); } /* CLEANUP(tape_end) ab_ctx *c frees the tape */
/* Traces the loss of one batch; with `training` also its gradient. Results: "losses" [tgt_rows,2] (smoothed, plain; see
 * CE in op.h), and "logits" [tgt_rows, tgt_vocab] if not training. In training also RECORDED NAME for each number or
 * vector [n] that plugins record (mean over layers), and "auxiliary" [1], the plugins' share of the summed loss. */
ab_ctx *model_loss_tape(model *m, const model_shape *s, bool training, err *e);
/* Can a loss tape of shape `all` run every batch with equally many rows and no more or longer sentences? Yes if all
 * values are packed rows, which do not depend on the number or lengths of sentences(verified by comparing traces of
 * `one` and other shapes). No if values have shapes [B,..,T,..]; then `all`, which may be large, is not traced. */
bool model_shape_independent(model *m, const model_shape *one, const model_shape *all, bool training);
/* Sets a loss tape's inputs. norm: 1 / target tokens for a mean. A decoder-only model ignores the batch's source. */
void model_loss_inputs(ab_ctx *c, const model_batch *b, double norm);

/* Traces the encoder. Inputs: src.ids, src.pos, src.offset, src.len. Result: "memory" [src_rows, d_model]. */
ab_ctx *model_encode_tape(model *m, const model_shape *s, err *e);
void model_encode_inputs(ab_ctx *c, const model_batch *b);

typedef struct {
    int64_t beam;                 /* hypotheses per sentence */
    int64_t capacity, cache_rows; /* steps and rows that a cache can hold */
    int64_t seen;                 /* past steps that composed attention covers; more than `time` */
    /* a sentence's hypotheses are consecutive tokens, each row at its own time [R]; the head proposes `ahead` tokens
     * after the next one */
    bool block;
    int64_t ahead;
} model_step;

/* Traces one decoding step of `batch` sentences with `beam` hypotheses each: R = batch * beam rows, hypothesis h of
 * sentence b in row b * beam + h. Inputs of phase SETUP: memory [src_rows, d_model] (compute type), src.offset [B+1],
 * src.len [B]. Of phase STEP: tgt.ids [R], the previous tokens; time [1], or [R] with `block`; pos [R] (= time);
 * ancestors [R,capacity], the hypothesis's row in each earlier step; parents [R], the row that it continues. Caches may
 * have more rows than the step, from ended hypotheses. Results: "logits" [R, tgt_vocab]; with `ahead` also "proposal.1"
 * and so on. States (caches) are requested by name. With `block`, a node that needs one time for all rows reads an
 * input "one.time", which is never set. */
ab_ctx *model_step_tape(model *m, const model_shape *s, const model_step *step, err *e);

/* Like model_open, without memory for values: the model can be traced and its costs counted (costs.h), not run. */
int model_open_to_count(model *m, const settings *set, int64_t src_vocab, int64_t tgt_vocab, dtype compute,
                        const backend *b, err *e);
/* Like model_open, for callers that read the learned values from a file and do not train: values are 0, without memory
 * for gradients and optimizer. */
int model_open_to_read(model *m, const settings *set, int64_t src_vocab, int64_t tgt_vocab, dtype compute,
                       const backend *b, err *e);
/* FLOPs of one training step of the paper's Transformer on this many real tokens (forward and backward, products of
 * rows with weights only), for bench. For any model: costs.h. */
double model_flops(const model *m, double src_tokens, double tgt_tokens);
#endif
