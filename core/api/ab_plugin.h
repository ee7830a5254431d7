/* ab_plugin.h - the one header a plugin includes.
 *
 * A plugin is a shared object that exports one constant, `ab_plugin_v2`. It does not link against ablate:
 *
 *     cc -shared -fPIC -I<include> mine.c -o mine.so
 *
 * The host reads the constant and checks it (magic, version, sizes, parameter table) before any plugin code runs. The
 * author of a layer writes only the forward pass, with the host's tensor operations (ab_host.h). The host derives the
 * backward pass, step-by-step decoding, INI keys, the entry in `ablate list plugins` and `ablate check`.
 *
 * Tensors. An ab_t names a value of the graph being built. It belongs to its context and is valid as long as the
 * context; plugins never free tensors. Shapes have up to four axes, aligned at the right: [B,H,T,d] is batch, heads,
 * time, width per head; axis -1 is the last. "Rows" are packed real tokens [rows, d_model], without padding.
 * Errors. ab_t 0 is the failed tensor: an operation on it returns it, and the context keeps the first error with
 * the plugin's file and line and both shapes. Plugins need no error handling of their own.
 */
#ifndef AB_PLUGIN_H
#define AB_PLUGIN_H
#include <stddef.h>
#include <stdint.h>

#define AB_ABI_MAJOR 2u
#define AB_ABI_MINOR 7u
#ifndef AB_TARGET_MINOR /* compile with -DAB_TARGET_MINOR=0 to support 2.0 hosts too */
#define AB_TARGET_MINOR AB_ABI_MINOR
#endif
#define AB_MAGIC 0x41424c54u /* 'ABLT' */

typedef struct ab_ctx ab_ctx; /* one graph being built */
typedef struct {
    int32_t id;
} ab_t; /* one tensor of a graph; id 0: failed */
typedef struct ab_host ab_host;

/* ---- kinds of plugins: loading, folders, INI keys, reference, `ablate check` and the build are derived from this
 * list */
/* Columns: AB_NAME; name (of the folder, the INI key, KIND in KIND/NAME, and in ab_name_plugin); number; the
 * plugin used where an INI names none; the minor version of the ABI that added the kind; description. */
#define AB_MODEL_KINDS(X) /* one plugin of each kind per model (layers may have another position, norm ...) */         \
    X(POSITION, position, 2, "sinusoid", 0,                                                                            \
      "positional encoding by embeddings, rotations, score biases (section 3.5)")                                      \
    X(FEED_FORWARD, feed_forward, 3, "relu", 0,                                                                        \
      "the part of a layer that is applied to each position separately (section 3.3)")                                 \
    X(NORM, norm, 4, "layer_norm", 0, "normalisation of each position's values (section 3.1)")                         \
    X(BLOCK, block, 5, "post_norm", 0,                                                                                 \
      "the order of a layer's sublayers, norms and residual connections (section 3.1)")                                \
    X(HEAD, head, 9, "softmax", 5, "the end of the decoder: logits, and losses besides (section 3.4)")                 \
    X(OPTIMIZER, optimizer, 6, "adam", 0, "the update of the parameters (section 5.3)")                                \
    X(SCHEDULE, schedule, 7, "noam", 0, "the learning rate of each update (section 5.3)")
#define AB_KINDS(X)                                                                                                    \
    X(TASK, task, 8, "translation", 0, "data, vocabularies and the score")                                             \
    X(ATTENTION, attention, 1, "scaled_dot", 0,                                                                        \
      "a layer's token mixer: how positions exchange information (section 3.2)")                                       \
    AB_MODEL_KINDS(X)
#define AB_KIND_ENUM_(NAME, name, number, ...) AB_##NAME = number,
#define AB_KIND_ONE_(...)                      +1
typedef enum { AB_NO_KIND, AB_KINDS(AB_KIND_ENUM_) AB_KIND_COUNT = 1 AB_KINDS(AB_KIND_ONE_) } ab_kind;

/* ---- hooks: the plugin functions that the host calls ------------------------------------------------------------- */
/* Every host function (ab_host.h) has a tag: the hooks that may call it. From other hooks it fails with an error that
 * names function and hook. ANY: all. MODEL: hooks that build a model, all but REFERENCE, GRAD and UPDATE. ATTENTION:
 * FORWARD, STEP, ROTATE, BIAS, SCORES and VALUES. SENTENCE: the hooks of ATTENTION, and FEED_FORWARD and BLOCK of a
 * plugin that claims AB_MIXES_TOKENS. LAYER: BLOCK and FINISH. HEAD: LOGITS and LOSSES. FORWARD, BLOCK, LOSSES, UPDATE:
 * the hook of that name. */
#define AB_HOOKS(X) /* the kind that the hook belongs to, or NO_KIND */                                                \
    X(FORWARD, ATTENTION, "an attention's forward")                                                                    \
    X(STEP, ATTENTION, "a step of ab_scan")                                                                            \
    X(EMBED, POSITION, "a position's embed")                                                                           \
    X(ROTATE, POSITION, "a position's rotate")                                                                         \
    X(BIAS, POSITION, "a position's bias")                                                                             \
    X(SCORES, POSITION, "a position's scores")                                                                         \
    X(VALUES, POSITION, "a position's values")                                                                         \
    X(FEED_FORWARD, FEED_FORWARD, "a feed-forward's forward")                                                          \
    X(NORM, NORM, "a norm's forward")                                                                                  \
    X(ADD_NORM, NORM, "a norm's add")                                                                                  \
    X(BLOCK, BLOCK, "a block's forward")                                                                               \
    X(FINISH, BLOCK, "a block's finish")                                                                               \
    X(REFERENCE, NO_KIND, "an operation's reference")                                                                  \
    X(GRAD, NO_KIND, "an operation's grad")                                                                            \
    X(UPDATE, OPTIMIZER, "an optimizer's update, refresh, measure or shift")                                           \
    X(LOGITS, HEAD, "a head's logits")                                                                                 \
    X(LOSSES, HEAD, "a head's losses")
#define AB_HOOK_ENUM_(NAME, ...) AB_IN_##NAME,
typedef enum { AB_IN_HOST, AB_HOOKS(AB_HOOK_ENUM_) AB_HOOK_COUNT } ab_hook;

/* ---- parameters: one table gives INI schema, defaults, ranges and help -------------------------------------- */

typedef enum { AB_INT = 1, AB_REAL, AB_BOOL, AB_CHOICE, AB_TEXT } ab_type;
/* Storage in the config struct: AB_INT, AB_BOOL and AB_CHOICE (index into choices) int64_t; AB_REAL double;
 * AB_TEXT const char * (owned by the host, lives as long as the config). */
typedef struct { /* one INI key; {0} ends the table */
    const char *name;
    ab_type type;
    size_t offset;        /* offsetof(config, field) */
    double def, min, max; /* AB_CHOICE: def is the index; AB_TEXT, AB_BOOL: min and max unused */
    const char *choices;  /* AB_CHOICE: "post|pre"; AB_TEXT: the default text or NULL;
                                          AB_INT: words for the values -1, -2, ... ("auto") or NULL */
    /* description with the unit in brackets: "longest sequence [tokens]". Required. */
    const char *doc;
} ab_option;
typedef ab_option ab_param; /* the type's name before 2.3 */

/* ---- attention ------------------------------------------------------------------------------------------------ */

/* roles: encoder self, decoder self (masked), encoder-decoder */
enum { AB_SELF = 1, AB_CAUSAL = 2, AB_CROSS = 4 };
/* a position's hooks; AB_POS_ALL: every hook of this header */
enum { AB_POS_EMBED = 1, AB_POS_ROTATE = 2, AB_POS_BIAS = 4, AB_POS_SCORES = 8, AB_POS_VALUES = 16, AB_POS_ALL = 31 };

typedef struct { /* the place of this call in the model */
    int64_t heads, d_k, d_v, d_model, d_ff;
    int64_t layer, n_layers; /* layer counts from 0 */
    /* AB_SELF, AB_CAUSAL or AB_CROSS; outside attention AB_SELF in the encoder, AB_CAUSAL in the decoder */
    uint32_t role;
    uint32_t training; /* 1: dropout is on */
    /* dropout rate here: attention_dropout in an attention, activation_dropout in a feed-forward, else 0 */
    double dropout;
    /* for blocks: cross is 1 if the layer reads an encoder's output, feed_forward is 1 if the layer has one */
    uint32_t cross, feed_forward;
    /* Since 2.6, for heads, else 0. tied: 1 if ab_token_vectors is an embedding's table (share_embeddings), so that
     * using it adds no parameters. vocabulary: number of tokens */
    uint32_t tied;
    int64_t vocabulary;
} ab_info;

typedef struct {
    uint32_t roles; /* supported roles */
    /* supported position hooks; the host rejects incompatible pairs before the run */
    uint32_t accepts;
    /* x: rows of the query side; mem: rows of the key side (the same ab_t as x in self-attention). Returns rows [rows,
     * d_model]. */
    ab_t (*forward)(ab_ctx *c, const void *cfg, ab_t x, ab_t mem);
} ab_attention_plugin;

/* ---- positional encodings: every hook may be NULL, which leaves the value unchanged ------------------------------ */
/* A position or attention with a table of limited length declares it as an AB_INT parameter "max_len" [tokens]. The
 * host rejects a run with longer sentences before training and names this key. */

enum { AB_RELATIVE = 1 }; /* claim: shifting all positions changes nothing; `ablate check` tests it */
typedef struct {
    uint32_t claims;
    /* rows [rows,d_model], ids [rows] */
    ab_t (*embed)(ab_ctx *c, const void *cfg, ab_t x, ab_t pos);
    ab_t (*rotate)(ab_ctx *c, const void *cfg, ab_t qk, ab_t pos);  /* [B,H,T,d], ids [T] */
    ab_t (*bias)(ab_ctx *c, const void *cfg, ab_t qpos, ab_t kpos); /* ids -> [1, H or 1, Tq, Tk] */
    ab_t (*scores)(ab_ctx *c, const void *cfg, ab_t s, ab_t q, ab_t k, ab_t qpos, ab_t kpos); /* s [B,H,Tq,Tk] */
    /* y [B,H,Tq,d_v], p [B,H,Tq,Tk] */
    ab_t (*values)(ab_ctx *c, const void *cfg, ab_t y, ab_t p, ab_t qpos, ab_t kpos);
    /* 2.7: instead of rotate. x [rows,d_model]: the rows from which queries and keys are projected, in decoding one per
     * hypothesis. A tensor computed from x (ab_heads, ab_running_sum) must have qk's shape or broadcast to it. */
    ab_t (*rotate_by)(ab_ctx *c, const void *cfg, ab_t qk, ab_t pos, ab_t x);
} ab_position_plugin;

/* ---- feed-forward, norm, block: the rest of a layer. x are rows [rows,d_model]; each returns rows of the same
 * shape */

typedef struct { /* acts on each row separately, unless the plugin claims AB_MIXES_TOKENS */
    ab_t (*forward)(ab_ctx *c, const void *cfg, ab_t x); /* NULL: layers have no feed-forward */
} ab_feed_forward_plugin;

typedef struct { /* acts on each row separately */
    ab_t (*forward)(ab_ctx *c, const void *cfg, ab_t x);
    /* forward of x + dropout(s) as one operation; or NULL */
    ab_t (*add)(ab_ctx *c, const void *cfg, ab_t x, ab_t s);
} ab_norm_plugin;

typedef struct {
    /* one layer, built with the functions tagged BLOCK */
    ab_t (*forward)(ab_ctx *c, const void *cfg, ab_t x);
    ab_t (*finish)(ab_ctx *c, const void *cfg, ab_t x); /* called after the last layer of a stack; or NULL */
} ab_block_plugin;

/* ---- heads: from the decoder's last rows to the logits and the loss (2.5) ---------------------------------------- */

typedef struct {
    /* x: the decoder's last rows [rows,d_model]. Returns logits [rows,vocabulary], each row from its own row of x; the
     * loss is their cross entropy. NULL: ab_logits(c, x) */
    ab_t (*logits)(ab_ctx *c, const void *cfg, ab_t x);
    /* In training, adds losses to the cross entropy, by ab_add_loss. target: ids [rows], the tokens that rows are to
     * predict, -1 for none. NULL: no other losses */
    void (*losses)(ab_ctx *c, const void *cfg, ab_t x, ab_t logits, ab_t target);
    /* 2.6 Blockwise decoding (Stern et al. 2018). ahead: how many tokens after the next one this head can propose.
     * propose: logits [rows,vocabulary] of the token `by` tokens after the next, by = 1 .. ahead; uses learned values
     * of `losses`. NULL: no blockwise decoding */
    int64_t (*ahead)(const void *cfg);
    ab_t (*propose)(ab_ctx *c, const void *cfg, ab_t x, int64_t by);
} ab_head_plugin;

/* ---- optimizers -------------------------------------------------------------------------------------------------- */

typedef enum {                /* the purpose of a parameter */
               AB_WEIGHT = 1, /* one or several product matrices: the last two axes are [inputs, outputs] */
               AB_BIAS,       /* a vector [1,1,1,n] other than a norm's gain */
               AB_GAIN,       /* a norm's gain or bias, or another vector with a non-zero initial value */
               AB_EMBEDDING,  /* a table of tokens [vocabulary, d_model]: embeddings, softmax */
               AB_TABLE       /* learned values of a position plugin */
} ab_parameter_kind;
typedef struct {      /* one parameter, as an update sees it */
    const char *name; /* "dec.0.self.qkv.w" */
    ab_parameter_kind kind;
    int64_t dim[4];
    /* number of matrices side by side in this parameter (queries, keys, values; else 1), and the outputs of each */
    int64_t n_parts, part[3];
    int64_t heads; /* since 2.7: number of heads side by side in the outputs of each such matrix, or 1 */
} ab_parameter;

/* Set: update is called once, on the flat vector of all parameters, and run in tiles; it sees no shapes. Not set:
 * update is called for each parameter with its shape, and may use all functions tagged ANY without randomness: matmul,
 * sums over axes, norms. */
enum { AB_ELEMENTWISE = 1 };
enum { AB_MEASURED = 8 }; /* `measure` may return at most this many numbers */
typedef struct {
    uint32_t flags;
    uint32_t n_slots;         /* state vectors per parameter, which begin as 0: at most 8, before ABI 2.6 at most 4 */
    const char *const *slots; /* their names in checkpoints, all different ("m", "v") */
    /* p, g, slot[i]: parameter, gradient, state, all of one shape; lr, step (1, 2, ...): one element each.
     * Return new values with ab_assign(c, p, value) and ab_assign(c, slot[i], value). */
    void (*update)(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step);
    /* Sets the shape of slot i of a parameter; depends on *cfg and *of only. On entry dim is the parameter's. An axis
     * of 0 means that the parameter has no such slot; slot[i] is then the tensor 0. NULL, and always with
     * AB_ELEMENTWISE: slots have their parameter's shape. */
    void (*slot_shape)(const void *cfg, const ab_parameter *of, uint32_t i, int64_t dim[4]);
    /* 2.4: 1 + index of the slot that holds the values for evaluation, decoding and checkpoints; training uses the
     * parameters. 0: the parameters are evaluated themselves. Not together with slot_shape */
    uint32_t evaluated;
    /* 2.6: `refresh` runs before `update` in steps 1, 1 + n, 1 + 2 n, ..., n = period(cfg) >= 1, and costs nothing in
     * others. It gets and assigns what update does; measure and update see its results. Set both or neither */
    int64_t (*period)(const void *cfg);
    void (*refresh)(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step);
    /* 2.6: returns numbers [1,n], n <= AB_MEASURED, the same n for every parameter. In every step, before the first
     * update, the host sums them over all parameters; update reads the sums by ab_measured. measure is called for each
     * parameter with its shape, with AB_ELEMENTWISE too, and assigns nothing. NULL: nothing is measured */
    ab_t (*measure)(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step);
    /* 2.7: assigns p the point where ab_second_gradient is taken, of the same batch with the same dropout; runs after
     * measure. update gets p and g as they were before. Values of ab_log are those at the point. A run with
     * gradient_accumulation is refused. NULL: no second gradient */
    void (*shift)(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step);
} ab_optimizer_plugin;

/* ---- schedules --------------------------------------------------------------------------------------------------- */

typedef struct { /* the run's keys: lr, lr_min, warmup and steps [updates], d_model */
    double lr, lr_min;
    int64_t warmup, steps, d_model;
} ab_run_plan;
typedef struct {
    /* The learning rate of update `step` (1, 2, ... steps). Depends on its arguments only: a resumed run asks for later
     * steps only. */
    double (*lr)(const void *cfg, const ab_run_plan *plan, int64_t step);
} ab_schedule_plugin;

#include "ab_task.h" /* tasks: data, vocabularies and the score */

/* ---- fused operations: a reference in host operations, and optional kernels -------------------------------------- */
/* A kernel gets views of dense row-major memory, 64-byte aligned on the CPU.
 * Types: each view says its own. All are float in fp32 and double in fp64 (`ablate check`), ids int32. In a bf16 run
 *     rows and what ab_linear returns are bfloat16, everything else float, so inputs and output may differ: read each
 *     dtype and return -1 for one without a kernel.
 * Threads: one call at a time per tape, but tapes of several runs or threads may call the same kernel at once: no
 *     static state. A CPU kernel may start an OpenMP region; it returns when all output is written.
 * Aliasing: out never shares memory with an input. Inputs are read-only and may be views of the same memory.
 * Determinism: the same call gives the same bits; sums in a fixed order, no floating-point atomics. Errors: returns 0,
 * or -1 for an unsupported type, before writing anything: the reference then runs. No other error is allowed,
 *     because the reference determines the shapes. */

/* dtype: 0 float, 1 double, 2 bfloat16, 3 int32 */
typedef struct {
    void *data;
    int64_t dim[4];
    int32_t dtype;
} ab_view;
typedef struct { /* one kernel call; types may differ from view to view */
    const ab_view *in;
    int n_in;
    ab_view out;
    const void *attr;
    void *stream; /* CUDA: launch on this stream, never wait */
} ab_run;
typedef struct {
    const char *name, *doc;
    int n_in; /* at most 4 */
    /* The definition, and the tests' reference. With a kernel it also runs outside a model: it may use only its inputs
     * and attr (no ab_info, no learned values, no attention context). */
    ab_t (*reference)(ab_ctx *c, const ab_t *in, const void *attr);
    /* Writes the gradients of the inputs to din[] (id 0: no gradient). NULL: the gradient of the reference is used. */
    void (*grad)(ab_ctx *c, const ab_t *in, ab_t y, ab_t dy, ab_t *din, const void *attr);
    int (*cpu)(const ab_run *r); /* 0, or -1 for an unsupported type; then, or if NULL, the reference runs */
    int (*cuda)(const ab_run *r);
} ab_op;

/* ---- claims: deviations that `ablate check` accepts. Each names the check that remains ------------------ */
enum {
    /* In training a row may depend on other rows of the batch (batch statistics, an expert's capacity). Evaluation and
     * decoding stay independent, which is checked. */
    AB_TRAINS_ON_BATCH = 1,
    /* The gradient is not the derivative of what is computed (a straight-through estimate behind ab_detach, a rule of
     * its own). It must be finite, not 0 everywhere, repeatable and the same fused or composed. */
    AB_SURROGATE_GRADIENT = 2,
    /* The result jumps where numbers change places or are rounded (selection of the k best, quantisation): rounding may
     * change it. Most rows and most elements of the gradient must still agree in every precision. */
    AB_DISCONTINUOUS = 4,
    /* 2.4. A feed-forward or block whose rows depend on other tokens of their sentence, through the functions tagged
     * SENTENCE. `ablate check` tests causality, padding, batches and decoding as for attentions. */
    AB_MIXES_TOKENS = 8,
};

/* ---- the one exported symbol ------------------------------------------------------------------------------------- */

typedef struct {
    uint32_t magic, major, minor, size, iface_size;
    ab_kind kind;
    /* name and doc are required; paper: "Vaswani et al. 2017, eq. 1" */
    const char *name, *doc, *paper, *version;
    size_t cfg_size;
    const ab_option *params;
    /* fused operations that `ablate check` tests separately; NULL-terminated, or NULL */
    const ab_op *const *ops;
    const void *iface;    /* the kind's interface: ab_attention_plugin, ... */
    const ab_host **host; /* the host fills this before it calls any function */
    uint32_t claims;      /* 2.3: AB_TRAINS_ON_BATCH ..., or 0 */
    /* 2.4: names of the attentions that ab_call_attention may call; NULL-terminated, or NULL. Their parameters are keys
     * of a row that uses this plugin */
    const char *const *calls;
} ab_plugin;

#include "ab_host.h" /* the host's functions: ab_query, ab_linear, ab_softmax, ... */

#define AB_KIND_CASE_(NAME, name, ...) const ab_##name##_plugin * : AB_##NAME,
#define AB_KIND_(x)                    _Generic((x), AB_KINDS(AB_KIND_CASE_) default : AB_NO_KIND)
/* AB_PLUGIN(config, params, &self, .name = "mine", .doc = "what it does", .paper = "who, when"); */
#define AB_PLUGIN(cfg_t, table, iface_, ...)                                                                           \
    __attribute__((visibility("hidden"))) const ab_host *ab_host_;                                                     \
    __attribute__((visibility("default"))) const ab_plugin ab_plugin_v2 = {.magic = AB_MAGIC,                          \
                                                                           .major = AB_ABI_MAJOR,                      \
                                                                           .minor = AB_TARGET_MINOR,                   \
                                                                           .size = sizeof(ab_plugin),                  \
                                                                           .iface_size = sizeof(*(iface_)),            \
                                                                           .kind = AB_KIND_(iface_),                   \
                                                                           .cfg_size = sizeof(cfg_t),                  \
                                                                           .params = (table),                          \
                                                                           .iface = (iface_),                          \
                                                                           .host = &ab_host_,                          \
                                                                           __VA_ARGS__}
#endif
