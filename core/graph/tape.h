/* tape.h - a tape of values. A forward pass is traced once; its gradient is more tape; a plan gives every
 * value an address; running is a loop over kernel calls.
 *
 * Ownership: an `ab_ctx` (one tape) owns its nodes, constants and arena; `params` owns the learned values and
 * is shared by every tape of a model; a `backend` is a constant. Shapes have four axes aligned at the right,
 * padded with ones: packed rows [rows,n] are [1,1,rows,n].
 */
#ifndef ABLATE_TAPE_H
#define ABLATE_TAPE_H
#include "api/ab_plugin.h"
#include "base/base.h"

typedef enum { F32, F64, BF16, I32 } dtype; /* the numbers are those of ab_view.dtype */
size_t dtype_size(dtype t);
const char *dtype_name(dtype t);

typedef struct backend backend;

/* ---- learned values: three flat buffers (values, gradients, optimizer slots) with one table of names
 * ------------ */

enum { PARAM_ALIGN = 16 }; /* elements; every parameter starts at a multiple */
typedef struct {
    char *name; /* "dec.0.self.qkv.w" */
    int64_t dim[4];
    size_t at, count; /* first element in the flat buffers, number of elements */
    double scale;     /* > 0: uniform in [-scale, scale]; < 0: normal, sd -scale; 0: `fill` */
    double fill;      /* value when scale is 0 (1 for layer-norm gains) */
} param;
typedef struct {
    param *p;
    size_t n, cap;
    size_t total;       /* elements of a flat buffer, gaps of alignment included */
    dtype type;         /* F32, or F64 in conformance checks */
    void *value, *grad; /* [total]; NULL until params_alloc */
    void *slot[4];      /* [total] each; NULL when the optimizer has fewer */
    void *shadow;       /* [total] BF16: the values as products take them; a device backend's own, else NULL */
    uint64_t version;   /* raised whenever values change: packed copies are refreshed */
    bool frozen;        /* a new name is an error, not a new parameter */
    const backend *backend;  /* whose memory the vectors are in; NULL: the host's */
    uint64_t shadow_version; /* of the values that `shadow` has */
} params;
param *params_find(const params *s, const char *name);
/* Memory for all vectors, and the initial values. A backend with memory of its own has the vectors there. */
void params_alloc(params *s, dtype type, uint32_t n_slots, uint64_t seed, const backend *b);
/* Vector `which` (0: values, 1 ..: slots) for the host to read and change: itself, or a copy. params_host_done gives it back,
 * written back if it was changed. NULL and e when the device failed. */
void *params_host(params *s, uint32_t which, err *e);
void params_host_done(params *s, uint32_t which, void *v, bool changed);
int64_t params_count(const params *s); /* learned numbers, alignment gaps not counted */
void params_free(params *s);

/* ---- operations
 * ------------------------------------------------------------------------------------------------- */

/* name, inputs, outputs, doc. R = rows of packed tokens; views are described in op.h beside each kernel. */
#define OPS(X)                                                                                               \
    X(NONE, 0, 1, "the failed tensor")                                                                       \
    X(INPUT, 0, 1, "given before each run")                                                                  \
    X(PARAM, 0, 1, "a learned value")                                                                        \
    X(CONST, 0, 1, "fixed when the tape was traced")                                                         \
    X(STATE, 0, 1, "kept from one decoding step to the next")                                                \
    X(PART, 1, 1, "a further output of the node in front of it")                                             \
    X(ADD, 2, 1, "a + b, broadcast")                                                                         \
    X(SUB, 2, 1, "a - b, broadcast")                                                                         \
    X(MUL, 2, 1, "a * b, broadcast")                                                                         \
    X(DIV, 2, 1, "a / b, broadcast")                                                                         \
    X(MINIMUM, 2, 1, "the smaller, broadcast")                                                                 \
    X(LESS_THAN, 2, 1, "a < b as 0 or 1, broadcast")                                                              \
    X(MUL_SCALAR, 1, 1, "f0 * a")                                                                                 \
    X(ADD_SCALAR, 1, 1, "a + f0")                                                                                 \
    X(MAP, 1, 1, "elementwise function i0 (ab_fn)")                                                          \
    X(MAP_BACK, 3, 1, "gradient of MAP from x, y, dy")                                                       \
    X(CAST, 1, 1, "the same numbers in another type")                                                        \
    X(DROPOUT, 1, 1, "keep with probability 1 - f0 and divide by it; i0 numbers the place")                  \
    X(SUM_TO, 1, 1, "sums over the axes in which the output has length 1")                                    \
    X(BROADCAST_TO, 1, 1, "repeats along the axes in which the input has length 1")                                \
    X(SOFTMAX, 1, 1, "over the last axis")                                                                   \
    X(SOFTMAX_BACK, 2, 1, "gradient of SOFTMAX from y, dy")                                                  \
    X(MATMUL, 2, 1, "product of the last two axes; i0, i1: transpose a, b")                                  \
    X(RESHAPE, 1, 1, "the same storage under other axes")                                                    \
    X(TRANSPOSE, 1, 1, "axes i0 and i1 exchanged")                                                                \
    X(SLICE, 1, 1, "axis i0 from i1")                                                                        \
    X(PAD, 1, 1, "zeros with the input put at i1 of axis i0")                                              \
    X(CONCAT, 2, 1, "along axis i0")                                                                           \
    X(ROTATE_HALF, 1, 1, "(x1,x2) -> (-x2,x1) on the halves of the last axis")                                      \
    X(EMBEDDING, 2, 1, "rows of a table by id")                                                                   \
    X(EMBEDDING_BACK, 2, 1, "gradient of EMBEDDING: rows summed by id")                                                \
    X(TO_FLOAT, 1, 1, "ids as numbers")                                                                          \
    X(RELATIVE_POSITION, 2, 1, "key position minus query position")                                                        \
    X(CLIPPED_RELATIVE_POSITION, 2, 1, "clipped distance as an id; i0: clip")                                                     \
    X(GATHER, 2, 1, "y[..q,k] = x[..q,ids[q,k]]")                                                              \
    X(SCATTER_ADD, 2, 1, "adjoint of GATHER into i0 buckets")                                                       \
    X(MASK, 4, 1, "s where the key may be seen, -inf elsewhere; s, qpos, kpos, klen; i0: causal")            \
    X(HEADS, 2, 1, "rows, offsets -> [B,H,T,d], zeros at padding; i0: first column, i1: H, i2: d, i3: T")    \
    X(MERGE, 2, 1, "[B,H,T,d], offsets -> rows [R,n]; i0: first column; other columns zero")                 \
    X(LINEAR, 3, 1, "x W + b; i0: W is given transposed, i1: ReLU")                                          \
    X(LINEAR_DX, 3, 1, "dy W' (+ base, in place); i0 as LINEAR")                                             \
    X(LINEAR_DW, 2, 1, "x' dy (i0: dy' x)")                                                                  \
    X(COLUMN_SUM, 1, 1, "sum over rows")                                                                         \
    X(RELU_BACK, 2, 1, "dy where y > 0")                                                                     \
    X(EMBED_TOKENS, 2, 1, "f0 * row of a table by id; id < 0 gives zeros")                                          \
    X(EMBED_TOKENS_BACK, 3, 1, "base + f0 * rows of dy summed by id, in place; base, dy, ids")                      \
    X(NORM, 4, 3,                                                                                            \
      "LN(x + dropout(s)); x, s or none, gain, bias -> y, z = x + dropout(s), mean and 1/sd per row")        \
    X(NORM_BACK, 4, 4, "z, stats, gain, dy -> dz, ds, d gain, d bias")                                       \
    X(DROPOUT_ADD, 2, 1, "x + dropout(s)")                                                                       \
    X(ATTEND, 5, 2, "fused attention on packed rows: q, k, v rows, q and k offsets -> y, log-sum-exp [R,H]") \
    X(ATTEND_BACK, 8, 2, "q, k, v, offsets, y, lse, dy -> d of q's rows, d of k's and v's rows")             \
    X(ATTEND_STEP, 4, 1, "one decoding step of causal attention: qkv rows, cache, ancestors, time")          \
    X(KV_CACHE_APPEND, 4, 1,                                                                                        \
      "x [R,H,1,d] written to the cache at time t; all of the past [R,H,T,d]; x, cache, ancestors, t")       \
    X(CACHE_REORDER, 2, 1, "a carried state, rows taken from the hypotheses' parents; state, parents")              \
    X(STATE_WRITE, 2, 1, "writes the second input to the first, a state")                                          \
    X(GRU, 5, 1, "a gated recurrent layer on packed rows: x, W, b, U, offsets -> states")                    \
    X(GRU_BACK, 6, 4, "x, W, b, U, offsets, dy -> dx, dW, db, dU")                                           \
    X(CONV, 3, 1, "a convolution along each sentence on packed rows: x, W, offsets -> y")                    \
    X(CONV_BACK, 4, 2, "x, W, offsets, dy -> dx, dW")                                                        \
    X(CE, 3, 2,                                                                                              \
      "label-smoothed cross-entropy: logits, targets, norm -> (smoothed, plain) per row, d logits in place") \
    X(CALL, 4, 1, "a plugin's fused operation with its own kernel")                                          \
    X(ASSIGN, 2, 1, "the first input's storage takes the second's value")

#define OP_ENUM(name, n_in, n_out, doc) OP_##name,
typedef enum { OPS(OP_ENUM) OP_COUNT } op;
extern const char *const op_names[OP_COUNT];
extern const char *const op_docs[OP_COUNT];

enum { MAX_IN = 8, MAX_OUT = 4 };

typedef struct {
    double f[3];
    int64_t i[9];
} attr; /* an operation's constants, meaning beside it in OPS and op.h */

typedef enum {
    PHASE_CONST,
    PHASE_SETUP,
    PHASE_STEP
} phase; /* once a tape | when parameters or memory change | every run */

typedef struct {
    op op;
    dtype type;
    uint8_t n_in, n_out; /* n_out > 1: the next n_out - 1 nodes are its PARTs */
    uint8_t phase;
    bool needs;         /* a parameter (or an input that wants a gradient) lies below */
    bool live;          /* something reads it, or it is a result */
    int32_t in[MAX_IN]; /* node ids; 0: not given */
    int64_t dim[4];
    attr a;
    int32_t param;    /* index in params for PARAM, -1 otherwise */
    int32_t alias;    /* the node whose storage this one shares; own id otherwise */
    int32_t last;     /* last node that reads the storage; n of the tape: keep to the end */
    void *data;       /* address, once planned */
    size_t offset;    /* place in the arena [bytes]; SIZE_MAX: not in the arena */
    const char *name; /* INPUT, STATE, named results; NULL otherwise */
    const ab_op *call;
    const void *call_attr; /* CALL */
} node;

/* One arena for several tapes of which one runs at a time; grows to the largest. workspace_free before the
 * backend goes. */
typedef struct {
    char *data;
    size_t size;
} workspace;
/* Tables that plugins computed (ab_table), by function, settings and shape: a tape traced again finds them
 * ready. */
typedef struct {
    uint64_t key;
    int64_t dim[4];
    void *data;
} cached_table;
typedef struct {
    cached_table *at;
    size_t n, cap;
    arena memory;
} table_cache;

typedef struct attn_context attn_context; /* where in the model a plugin is being called: plugin/attention_context.h */

struct ab_ctx {
    err error; /* the first error sticks */
    const char *file;
    int line; /* of the plugin call under way */
    node *v;
    int32_t n;
    size_t cap;        /* v[0] is the failed tensor */
    int32_t forward_n; /* nodes of the forward pass; the gradient follows */
    int32_t *grad;
    size_t grad_cap;   /* node -> its gradient's node, 0: none */
    dtype compute;     /* of rows: F32, BF16 or F64 */
    bool training;     /* dropout is on */
    bool batch_invariant;   /* inference: a row's result must not depend on the other rows */
    int64_t n_dropout; /* places numbered so far */
    params *params;
    attn_context *attn;
    const char *scope; /* prefix of parameter names: "dec.0.self" */
    arena memory;      /* names, constants, attributes */
    const backend *backend;
    workspace *shared;   /* where the arena lies; NULL: the tape has its own. Owned by the caller */
    table_cache *tables; /* NULL: none. Owned by the caller */
    void *consts;        /* a device's copy of the constants */
    void *device;        /* what the backend keeps for this tape (backend.drop_graph) */
    char *buffer;
    size_t buffer_size, naive_size; /* arena of values [bytes]; what it would be without reuse */
    bool planned;
};

/* ---- building (ops_*.c). Every function passes a failed input on and returns the failed tensor after an
 * error. ---- */

ab_ctx *tape_new(params *s, const backend *b, dtype compute, bool training);
void tape_free(ab_ctx *c);
ab_t tape_fail(ab_ctx *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
ab_t tape_push(ab_ctx *c, op o, dtype type, const int64_t dim[4], int n_in, const ab_t *in, const attr *a);
ab_t tape_part(ab_ctx *c, ab_t of, int k); /* output k of a node with several */
static inline node *tape_at(ab_ctx *c, ab_t x) { return &c->v[x.id]; }
static inline int64_t node_count(const node *v) { return v->dim[0] * v->dim[1] * v->dim[2] * v->dim[3]; }
char *shape_text(const int64_t dim[4], char out[64]);

ab_t t_input(ab_ctx *c, const char *name, dtype type, phase ph, int64_t a, int64_t b, int64_t d, int64_t e);
ab_t t_state(ab_ctx *c, const char *name, dtype type, int64_t a, int64_t b, int64_t d, int64_t e);
ab_t t_param(ab_ctx *c, const char *full_name, const int64_t dim[4], double scale, double fill);
ab_t t_const(ab_ctx *c, const int64_t dim[4], const double *v); /* copies v; type is that of generic values */
ab_t t_const_at(ab_ctx *c, const int64_t dim[4],
                void *data);                        /* data: of the generic type, outlives the tape */
ab_t t_ids(ab_ctx *c, int64_t n, const int32_t *v); /* constant ids [1,1,1,n] */
ab_t t_binary(ab_ctx *c, op o, ab_t a, ab_t b);     /* ADD SUB MUL DIV MINIMUM LESS_THAN */
ab_t t_mul_scalar(ab_ctx *c, ab_t a, double by);
ab_t t_add_scalar(ab_ctx *c, ab_t a, double by);
ab_t t_map(ab_ctx *c, ab_t a, ab_fn f);
ab_t t_cast(ab_ctx *c, ab_t a, dtype type);  /* a itself when it has the type */
ab_t t_dropout(ab_ctx *c, ab_t a, double p); /* a itself when not training or p = 0 */
ab_t t_sum_to(ab_ctx *c, ab_t a, const int64_t dim[4]);
ab_t t_broadcast_to(ab_ctx *c, ab_t a, const int64_t dim[4]);
ab_t t_softmax(ab_ctx *c, ab_t a);
ab_t t_matmul(ab_ctx *c, ab_t a, ab_t b, int ta, int tb);
ab_t t_reshape(ab_ctx *c, ab_t a, const int64_t dim[4]);
ab_t t_transpose(ab_ctx *c, ab_t a, int axis1, int axis2); /* axes as -1..-4 */
ab_t t_slice(ab_ctx *c, ab_t a, int axis, int64_t from, int64_t n);
ab_t t_concat(ab_ctx *c, ab_t a, ab_t b, int axis);
ab_t t_rotate_half(ab_ctx *c, ab_t a);
ab_t t_embedding(ab_ctx *c, ab_t table, ab_t ids);
ab_t t_to_float(ab_ctx *c, ab_t ids);
ab_t t_relative_position(ab_ctx *c, ab_t q, ab_t k);
ab_t t_clipped_relative_position(ab_ctx *c, ab_t q, ab_t k, int64_t clip);
ab_t t_gather(ab_ctx *c, ab_t x, ab_t ids);
ab_t t_scatter_add(ab_ctx *c, ab_t p, ab_t ids, int64_t n);
ab_t t_mask(ab_ctx *c, ab_t s, ab_t qpos, ab_t kpos, ab_t klen, int causal);
ab_t t_heads(ab_ctx *c, ab_t rows, ab_t offset, int64_t col, int64_t heads, int64_t width, int64_t time);
ab_t t_merge(ab_ctx *c, ab_t x, ab_t offset, int64_t rows, int64_t col, int64_t cols);
ab_t t_linear(ab_ctx *c, ab_t x, ab_t w, ab_t b, int transposed, int relu); /* b: id 0 for none */
ab_t t_embed_tokens(ab_ctx *c, ab_t table, ab_t ids, double scale);
ab_t t_norm(ab_ctx *c, ab_t x, ab_t s, ab_t gain, ab_t bias, double p, double eps); /* s: id 0 for none */
ab_t t_dropout_add(ab_ctx *c, ab_t x, ab_t s, double p);
/* q, k, v are rows with the wanted columns from col[0..2] on; when q is k and v too, one gradient holds all
 * columns. */
typedef struct {
    int64_t col[3], heads, d_k, d_v;
    double scale, dropout;
    int causal;
    int64_t longest_key, longest_query; /* of a sentence, at most; longest_query 0: all rows */
} attend_spec;
ab_t t_attend(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t q_off, ab_t k_off, const attend_spec *s);
ab_t t_gru(ab_ctx *c, ab_t x, ab_t w, ab_t b, ab_t u, ab_t offset, int backwards, int64_t longest);
ab_t t_conv(ab_ctx *c, ab_t x, ab_t w, ab_t offset, int64_t before, int64_t behind, int64_t longest);
ab_t t_attend_step(ab_ctx *c, ab_t qkv, ab_t cache, ab_t ancestors, ab_t time, const attend_spec *s);
ab_t t_kv_cache_append(ab_ctx *c, ab_t x, ab_t cache, ab_t ancestors, ab_t time, int64_t seen);
ab_t t_cache_reorder(ab_ctx *c, ab_t state, ab_t parents);
void t_state_write(ab_ctx *c, ab_t state, ab_t value);
/* logits [R,V], targets [1,1,1,R] (-1: no token here), norm [1,1,1,1]: the loss is norm * sum of the smoothed
 * column. */
ab_t t_ce(ab_ctx *c, ab_t logits, ab_t targets, ab_t norm, double smoothing, int others);
ab_t t_call(ab_ctx *c, const ab_op *o, const ab_t *in, const void *a, size_t a_size);
void t_assign(ab_ctx *c, ab_t to, ab_t value);
void t_keep(ab_ctx *c, ab_t x,
            const char *name); /* a result: computed, and readable after a run by tape_find */
ab_t tape_find(const ab_ctx *c,
               const char *name); /* inputs, states and kept results; id 0 when there is none */

/* Do two tapes, traced for different batches and neither planned, run the same kernels on values of the same shapes? Only inputs may
 * have other lengths, where nothing but attention on packed rows reads them (first rows of sentences), and only its bounds of
 * sentences may differ. Then the one serves the other's batches, if its inputs and bounds are no less. */
bool tape_same_structure(const ab_ctx *a, const ab_ctx *b);

/* ---- gradient, plan, run
 * ------------------------------------------------------------------------------------------ */

/* Emits the gradient of `root` (one element; or a CE node, whose own norm gives the weight) for every
 * parameter and every input marked needs; parameters' gradients end in params->grad ("=", not "+="). Returns
 * 0 or -1 (c->error). */
int tape_backward(ab_ctx *c, ab_t root);
/* Drops what nobody reads and gives every value an address. States come from `find_state` (name, bytes wanted
 * -> address). */
void workspace_free(workspace *w, const backend *b);
int tape_plan(ab_ctx *c, void *(*find_state)(void *self, const char *name, size_t bytes), void *self);

typedef struct {
    void *data;
    int64_t dim[4];
    dtype type;
    int32_t param;
} view;          /* param: index, or -1 */
typedef struct { /* one kernel call, as a backend sees it */
    op op;
    int n_in, n_out;
    view in[MAX_IN], out[MAX_OUT]; /* in[i].data == NULL: not given */
    attr a;
    bool training, batch_invariant;
    uint64_t seed, step; /* dropout's key */
    params *params;
    const ab_op *call;
    const void *call_attr;
} call;
typedef int (*kernel)(const call *k, err *e);
typedef struct {
    uint64_t seed, step;
    phase from;
} run_options;
/* A tape over a tile of some long vectors (an optimizer's update), run tile by tile over all of each vector.
 */
typedef struct {
    int32_t n_vectors;
    struct {
        int32_t id;
        void *data;
    } vector[8];         /* the INPUT node that stands for a tile of `data` */
    int64_t count, tile; /* elements of each vector; of the INPUT nodes */
    dtype type;          /* of the vectors */
} tiling;
struct backend {
    const char *name;             /* "cpu" */
    kernel kernels[OP_COUNT];     /* NULL: this backend has none (refused when planned) */
    void *(*alloc)(size_t bytes); /* 64-byte aligned, not zeroed */
    void (*release)(void *p);
    /* A device's own memory, which the host reaches by these alone; all NULL when memory is the host's (then
     * backend_write and the rest copy). copy_in: `from` is free at return. copy_out waits for all before it. */
    void (*copy_in)(void *to, const void *from, size_t bytes);
    int (*copy_out)(void *to, const void *from, size_t bytes, err *e);
    void (*copy)(void *to, const void *from, size_t bytes); /* within the device */
    void (*zero)(void *at, size_t bytes);
    int (*run_tiled)(ab_ctx *c, const tiling *t,
                     const run_options *o); /* nodes of phase STEP, assignments at each tile's end */
    void (*release_params)(const params *s); /* what it keeps for these values, before they are freed (packed weights); NULL: nothing */
    double (*sum_squares)(const void *v, int64_t n, dtype type);         /* in a fixed order */
    void (*accumulate)(void *sum, const void *v, int64_t n, dtype type); /* sum += v */
    /* The rest is a device's, NULL elsewhere. */
    int (*run)(ab_ctx *c, const run_options *o, phase first, phase last); /* instead of kernel after kernel */
    void (*drop_graph)(ab_ctx *c);                                            /* what `run` keeps for a tape */
    void (*sync_bf16)(params *s); /* values were changed by the host: brings the shadow up to date */
    /* *scale_at = scale, less if the gradient's length times it is over clip_norm (> 0); does not wait */
    void (*clip)(float *scale_at, const void *grad, int64_t n, double scale, double clip_norm);
    void (*add_columns)(double *two, const void *losses, int64_t rows); /* sums of losses [rows,2], in device memory */
    void (*stats)(char *words, size_t n); /* who multiplied how often and how many graphs were made so far, for the run's facts */
    bool (*supports)(op o); /* has it kernels for GRU or CONV here? Without them the host composes the layer of other operations */
    /* As select_best of decode/select.h for every row of logits [rows,v]; allowed [rows,v] or NULL, ids and logits [rows,k] (an
     * id of -1: no more), log_sum [rows] in the host's memory. Waits. */
    int (*select)(const void *logits, dtype type, int64_t rows, int64_t v, const uint8_t *allowed, int64_t k, int32_t *id,
                  float *logit, double *log_sum, err *e);
};
static inline bool on_device(const backend *b) { return b && b->copy_in != NULL; }
/* Between the host's memory and a backend's. backend_read: 0, or -1 and words when something failed before. */
void backend_write(const backend *b, void *to, const void *from, size_t bytes);
int backend_read(const backend *b, void *to, const void *from, size_t bytes, err *e);
void backend_zero(const backend *b, void *at, size_t bytes);
void backend_move(const backend *b, void *to, const void *from, size_t bytes); /* both in its memory */
/* A value of a planned tape; bytes: of the whole value or its beginning. Nothing happens where nobody reads it. */
void tape_write(ab_ctx *c, ab_t x, const void *from, size_t bytes);
void tape_put(ab_ctx *c, const char *name, const void *from); /* all of the value of that name, if there is one */
int tape_read(const ab_ctx *c, ab_t x, void *to, size_t bytes, err *e);
int tape_run(ab_ctx *c, const run_options *o); /* runs the nodes of phases o->from .. PHASE_STEP in order */
int tape_run_phase(ab_ctx *c, const run_options *o, phase only);
void tape_call(const ab_ctx *c, int32_t i, const run_options *o, call *k); /* node i as a kernel call */
bool tape_is_call(const node *v); /* does running this node call a kernel? */
/* Runs one node. wait (may be NULL): returns when all kernels are done, for the profile. */
int tape_run_node(ab_ctx *c, int32_t i, const run_options *o, void (*wait)(void));

/* ---- profile: time, FLOP and bytes per operation over all runs since it was switched on
 * ------------------------------ */

typedef struct {
    double seconds, flops, bytes;
    int64_t calls;
} op_profile;
void profile_enable(bool on);
bool profile_is_on(void);
void profile_print(FILE *f); /* a line an operation, largest first, with GFLOP/s and GB/s */
#endif
