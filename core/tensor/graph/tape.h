/* tape.h - a tape of values. A forward pass is traced once; its gradient is appended to the tape; planning gives
 * every value an address; running is a loop over kernel calls.
 *
 * Ownership: an `ab_ctx` (one tape) owns its nodes, constants and arena; `params` owns the learned values and
 * is shared by all tapes of a model; a `backend` is a constant. Shapes have four right-aligned axes, padded with ones:
 * packed rows [rows,n] are [1,1,rows,n].
 */
#ifndef ABLATE_TAPE_H
#define ABLATE_TAPE_H
#include "tensor/graph/backend.h"
#include "tensor/graph/params.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    enum op op;
    dtype type;
    uint8_t n_in, n_out; /* n_out > 1: the next n_out - 1 nodes are its PARTs */
    uint8_t phase;
    bool needs; /* depends on a parameter or on an input that needs a gradient */
    bool cut;   /* has no gradient, whatever its inputs: ids, comparisons, ab_detach */
    bool live;  /* the node is read, or is a result */
    bool exact; /* LINEAR must not cast it to the type of rows */
    bool waits; /* runs with a later node: a member of its group, or the norm of its result (together.h) */
    union {     /* ids of the inputs' nodes, by number and by name; 0: no such input */
        int32_t in[MAX_IN];
        op_ids i;
    };
    int64_t dim[4];
    attr a;
    int32_t param;       /* index in params for PARAM, -1 otherwise */
    int32_t alias;       /* the node whose storage this node shares, or this node's id */
    int32_t last;        /* last node that reads the storage; the tape's n: kept to the end */
    void *data;          /* address, after planning */
    size_t offset;       /* offset in the arena [bytes]; SIZE_MAX: not in the arena */
    int32_t joint;       /* 1 + number of its group in ctx.joints; 0: no group */
    int32_t product;     /* NORM: the LINEAR that runs with this node; 0: no LINEAR */
    int32_t slab, place; /* 1 + number of its slab in ctx.slabs, or 0: no slab; its place in the slab */
    const char *name;    /* INPUT, STATE, named results; NULL otherwise */
    const char *scope;   /* part of the model in which the node was traced or differentiated, "dec.0.self", or "" */
    const char *file;    /* source file of the plugin's call that made the node; NULL: the host made it */
    int line;
    const ab_op *call;
    const void *call_attr; /* CALL; ATTEND_PROGRAM and the like: its score_program */
} node;

/* LINEAR_DW nodes that run as a batch when the last one's turn comes (together.h). stride: bytes from the x, dy, dw, db
 * of a member to those of the member before it. */
enum { TOGETHER_MOST = 8 };
typedef struct {
    int n; /* 0: dissolved */
    int32_t member[TOGETHER_MOST];
    int64_t stride[4];
} joint_group;
typedef struct { /* values of equal size, side by side in the arena */
    int n;
    int32_t last; /* last node that reads one of them: all are kept until then */
    bool taken;
    size_t at; /* in the arena */
} slab;

/* One arena shared by tapes that run one at a time; grows to the largest. Free it before the backend closes. */
typedef struct {
    char *data;
    size_t size;
} workspace;
/* Tables computed by plugins (ab_table), by a key of function, settings and shape: later traces reuse them. */
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

/* A number recorded by a plugin in training; auxiliary losses are part of the training loss. */
typedef struct noted {
    const char *name;
    ab_t value;
    double weight; /* the loss's weight; 0: only recorded */
    struct noted *next;
} noted;

/* A value that a plugin prints, as a copy, and the gradient of the value, once there is one. */
typedef struct printed {
    const char *name, *scope, *file;
    int line;
    int32_t of; /* id of the value */
    ab_t copy, gradient;
    struct printed *next;
} printed;

/* A buffer's value after this training step. */
typedef struct buffer_value {
    int32_t param;
    ab_t value;
    struct buffer_value *next;
} buffer_value;

/* A plugin's own operation where it was called, whether it became a CALL or its reference. */
typedef struct op_use {
    const ab_op *op;
    ab_t in[4], y;
    const void *attr; /* [attr_size], a copy */
    size_t attr_size;
    struct op_use *next;
} op_use;

/* How an optimizer's function uses sums over all parameters (ab_optimizer_plugin.measure): it uses none, computes them,
 * or reads them. */
typedef enum { NO_SUMS, SUMS_MADE, SUMS_READ } sums_use;

typedef struct attn_context attn_context; /* where in the model a plugin is called: plugin/attention_context.h */

struct ab_ctx {
    err error; /* the first error */
    const char *file;
    int line; /* the current plugin call */
    node *v;
    int32_t n;
    size_t cap;        /* v[0] is the failed tensor */
    int32_t forward_n; /* nodes of the forward pass; the gradient follows */
    int32_t *grad;
    size_t grad_cap;      /* grad: node -> node of its gradient; 0: no gradient */
    int32_t grad_from;    /* nodes below need no gradient (t_gradient) */
    dtype compute;        /* type of rows: F32, BF16 or F64 */
    bool training;        /* dropout is on */
    bool batch_invariant; /* inference: a row's result must not depend on other rows */
    int64_t n_dropout;    /* dropout places numbered so far */
    struct params *params;
    attn_context *attn;
    ab_hook hook;                /* the plugin function being run; AB_IN_HOST: no plugin runs */
    const ab_parameter *updated; /* the parameter whose update is traced, NULL elsewhere */
    sums_use sums;               /* how the function being traced uses sums */
    int n_sums;                  /* SUMS_READ: number of sums */
    ab_t second;                 /* an update's second gradient; id 0: none */
    struct owned_name *names;    /* names of learned values used so far in this layer: plugin/attention_context.h */
    struct shared_value *across; /* values shared by earlier layers: plugin/attention_context.h */
    noted *recorded;             /* in the order of calls */
    buffer_value *sets;          /* the buffers' next values */
    bool prints;                 /* does ab_print keep values? Else it does nothing */
    printed *to_print;           /* in the order of calls */
    op_use *calls, *last_call;   /* plugins' own operations, in order */
    ab_t loss_scale;             /* factor on auxiliary losses, besides their weight; id 0: 1 */
    const char *scope;           /* prefix of parameter names: "dec.0.self" */
    char unfused[240];           /* first reason why an attention runs unfused; "": none runs unfused */
    arena memory;                /* names, constants, attributes */
    const struct backend *backend;
    workspace *shared;   /* holds the arena; NULL: the tape has its own. Owned by the caller */
    table_cache *tables; /* may be NULL. Owned by the caller */
    void *consts;        /* on a device: copy of the constants */
    void *device;        /* the backend's data for this tape (backend.drop_graph) */
    char *buffer;
    size_t buffer_size, naive_size; /* arena of values [bytes]; its size without reuse */
    joint_group *joints;            /* [n_joints] */
    slab *slabs;                    /* [n_slabs] */
    size_t n_joints, joints_cap, n_slabs, slabs_cap;
    bool planned;
};

/* ---- building (ops_*.c). Functions pass on failed inputs and return the failed tensor after an error. ---- */

ab_ctx *tape_new(params *s, const backend *b, dtype compute, bool training);
void tape_free(ab_ctx *c);
ab_t tape_fail(ab_ctx *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* This thread's latest context, to report where a plugin was when its process died (check/child.c). NULL: none. */
extern __thread ab_ctx *tape_latest;
/* Checks a tensor from a plugin: an id that is not on this tape is an error. 0, the failed tensor, is accepted. */
bool tape_owns(ab_ctx *c, ab_t x);
/* Checks a plugin function's result as tape_owns does. A failed tensor without an error is an error, too. who, name:
 * "attention", "dot". */
ab_t tape_given(ab_ctx *c, ab_t x, const char *who, const char *name);
ab_t tape_push(ab_ctx *c, op o, dtype type, const int64_t dim[4], int n_in, const ab_t *in, const attr *a);
ab_t tape_part(ab_ctx *c, ab_t of, int k); /* output k of a node with several outputs */
static inline node *tape_at(ab_ctx *c, ab_t x) { return &c->v[x.id]; }
static inline void tape_cut(ab_ctx *c, ab_t x) { c->v[x.id].needs = false, c->v[x.id].cut = true; }
/* The scalar of MUL_SCALAR and ADD_SCALAR, the function of MAP and its gradient; 0 in other operations. */
static inline double node_by(const node *v)
{
    return v->op == OP_MUL_SCALAR || v->op == OP_ADD_SCALAR ? v->a.MUL_SCALAR.by : 0;
}
static inline int64_t node_function(const node *v)
{
    return v->op == OP_MAP || v->op == OP_MAP_BACK ? v->a.MAP.function : 0;
}
static inline int64_t node_count(const node *v) { return v->dim[0] * v->dim[1] * v->dim[2] * v->dim[3]; }
char *shape_text(const int64_t dim[4], char out[64]);

ab_t t_input(ab_ctx *c, const char *name, dtype type, phase ph, int64_t a, int64_t b, int64_t d, int64_t e);
ab_t t_state(ab_ctx *c, const char *name, dtype type, int64_t a, int64_t b, int64_t d, int64_t e);
ab_t t_param(ab_ctx *c, const char *full_name, const int64_t dim[4], double scale, double fill);
/* A value without gradient, stored with the learned ones (ab_buffer). t_set_buffer sets its value after a training
 * step; tape_backward writes it to the buffer's part of the gradients. */
ab_t t_buffer(ab_ctx *c, const char *full_name, const int64_t dim[4], double fill);
void t_set_buffer(ab_ctx *c, ab_t buffer, ab_t value);
ab_t t_const(ab_ctx *c, const int64_t dim[4], const double *v); /* copies v, in the generic type */
ab_t t_const_at(ab_ctx *c, const int64_t dim[4], void *data);   /* data has the generic type and outlives the tape */
ab_t t_ids(ab_ctx *c, int64_t n, const int32_t *v);             /* constant ids [1,1,1,n] */
ab_t t_binary(ab_ctx *c, op o, ab_t a, ab_t b);                 /* ADD SUB MUL DIV MINIMUM LESS_THAN */
ab_t t_where(ab_ctx *c, ab_t condition, ab_t a, ab_t b);        /* the condition has no gradient */
ab_t t_mul_scalar(ab_ctx *c, ab_t a, double by);
ab_t t_add_scalar(ab_ctx *c, ab_t a, double by);
ab_t t_unit(ab_ctx *c, ab_t a, double eps); /* a / sqrt(sum of squares + eps) over the last axis */
ab_t t_map(ab_ctx *c, ab_t a, ab_fn f);
ab_t t_cast(ab_ctx *c, ab_t a, dtype type);  /* a itself if it has the type */
ab_t t_dropout(ab_ctx *c, ab_t a, double p); /* a itself if not training or p = 0 */
ab_t t_sum_to(ab_ctx *c, ab_t a, const int64_t dim[4]);
ab_t t_broadcast_to(ab_ctx *c, ab_t a, const int64_t dim[4]);
ab_t t_softmax(ab_ctx *c, ab_t a);
ab_t t_matmul(ab_ctx *c, ab_t a, ab_t b, int ta, int tb);
ab_t t_before(ab_ctx *c, int64_t n, bool self); /* [n,n]: 1 below the diagonal and, if `self`, on it */
ab_t t_cumsum(ab_ctx *c, ab_t a);               /* along axis -2 */
ab_t t_reshape(ab_ctx *c, ab_t a, const int64_t dim[4]);
ab_t t_transpose(ab_ctx *c, ab_t a, int axis1, int axis2); /* axes as -1..-4 */
ab_t t_slice(ab_ctx *c, ab_t a, int axis, int64_t from, int64_t n);
/* x among zeros: at `from` of n positions of the axis. */
ab_t t_place(ab_ctx *c, ab_t x, int axis, int64_t from, int64_t n);
ab_t t_concat(ab_ctx *c, ab_t a, ab_t b, int axis);
ab_t t_rotate_half(ab_ctx *c, ab_t a);
ab_t t_embedding(ab_ctx *c, ab_t table, ab_t ids);
ab_t t_to_float(ab_ctx *c, ab_t ids);
ab_t t_relative_position(ab_ctx *c, ab_t q, ab_t k);
ab_t t_clipped_relative_position(ab_ctx *c, ab_t q, ab_t k, int64_t clip);
ab_t t_gather(ab_ctx *c, ab_t x, ab_t ids);
ab_t t_scatter_add(ab_ctx *c, ab_t p, ab_t ids, int64_t n);
ab_t t_top_k(ab_ctx *c, ab_t x, int64_t k, bool smallest); /* ids [..,k] */
ab_t t_max(ab_ctx *c, ab_t x); /* over the last axis [..,1]; of equal numbers the first gets the gradient */
ab_t t_to_ids(ab_ctx *c, ab_t x);
ab_t t_qr(ab_ctx *c, ab_t a); /* no gradient */
ab_t t_random(ab_ctx *c, const int64_t dim[4], bool normal);
ab_t t_sum_rows_by_id(ab_ctx *c, ab_t rows, ab_t ids, int64_t n); /* [T,d],[T] -> [n,d]: EMBEDDING's adjoint */
ab_t t_mask(ab_ctx *c, ab_t s, ab_t qpos, ab_t kpos, ab_t klen, int causal);
ab_t t_heads(ab_ctx *c, ab_t rows, ab_t offset, int64_t col, int64_t heads, int64_t width, int64_t time);
ab_t t_merge(ab_ctx *c, ab_t x, ab_t offset, int64_t rows, int64_t col, int64_t cols);
/* Rotary positions: rotates `heads` heads of width d, from column `col` of rows, by the angles given as cos and sin
 * [1,1,T,d]. */
ab_t t_rotate(ab_ctx *c, ab_t rows, ab_t cosine, ab_t sine, ab_t offset, int64_t col, int64_t heads);
ab_t t_linear(ab_ctx *c, ab_t x, ab_t w, ab_t b, int transposed, int relu);      /* b: id 0 for none */
ab_t t_embed_tokens(ab_ctx *c, ab_t table, ab_t ids, ab_t sorted, double scale); /* sorted: id 0 for none, see op.h */
/* Dropout of embedded tokens x (with positions added, if any), in the type of rows; on a device fused with the
 * embedding. */
ab_t t_embedded(ab_ctx *c, ab_t x, double p);
ab_t t_norm(ab_ctx *c, ab_t x, ab_t s, ab_t gain, ab_t bias, double p, double eps); /* s: id 0 for none */
ab_t t_dropout_add(ab_ctx *c, ab_t x, ab_t s, double p);
/* q, k, v are rows whose columns start at col[0..2]; if they are the same rows, one gradient has all columns. */
typedef struct {
    int64_t col[3], heads, d_k, d_v;
    double scale, dropout;
    int causal;
    int64_t longest_key, longest_query; /* upper bounds per sentence; longest_query 0: the number of all rows */
} attend_spec;
attr t_attend_attr(const attend_spec *s,
                   int64_t rows); /* rows: the number of queries, used if no longest sentence is known */
ab_t t_attend(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t q_off, ab_t k_off, const attend_spec *s);
/* A gated recurrent unit over rows x [R,3d], or a long short-term memory over [R,4d], along each sentence: u [d,3d] or
 * [d,4d] -> [R,d], in F32 or F64 (op.h, RECURRENT). */
ab_t t_recurrent(ab_ctx *c, ab_t x, ab_t u, ab_t offset, int lstm, int backwards);
/* Each row concatenated with its neighbours in the sentence (op.h). */
ab_t t_neighbours(ab_ctx *c, ab_t x, ab_t offset, int64_t before, int64_t behind);
/* Convolves each column of rows x along each sentence with w [taps,n], `before` of whose taps lie before the row
 * (op.h). */
ab_t t_depthwise_conv(ab_ctx *c, ab_t x, ab_t w, ab_t offset, int64_t before);
/* Convolves each column of rows x along each sentence with a filter h [L,n] of any length (op.h, LONG_CONV). */
ab_t t_long_conv(ab_ctx *c, ab_t x, ab_t h, ab_t offset, int backwards);
/* y_t = q_t S_t, where the state S is a matrix (op.h, DELTA_SCAN): q, k [B,H,T,d_k], v [B,H,T,d_v]; beta, decay
 * [B,H,T,1] or id 0. t_delta_scan is one operation; t_delta_scan_composed builds it from others, if there is no kernel.
 * ops_delta.c */
enum { DELTA_CHUNK = 32 };
ab_t t_delta_scan(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t beta, ab_t decay, int backwards, int64_t chunk);
ab_t t_delta_scan_composed(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t beta, ab_t decay, int backwards, int64_t chunk);
/* y_t = q_t S_t with a diagonal decay and a rank-1 change of the state (op.h, DPLR_SCAN): k, a, b and decay as q. */
ab_t t_dplr_scan(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t a, ab_t b, ab_t decay, int backwards, int64_t chunk);
ab_t t_dplr_scan_composed(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t a, ab_t b, ab_t decay, int backwards, int64_t chunk);
/* (1 + L)^-1 b, L the part of l [a,b,n,n] below the diagonal, b [a,b,n,m]; transposed: with L'. */
ab_t t_solve_lower(ab_ctx *c, ab_t l, ab_t b, int transposed);
ab_t t_solve_lower_composed(ab_ctx *c, ab_t l, ab_t b);
ab_t t_attend_step(ab_ctx *c, ab_t qkv, ab_t cache, ab_t ancestors, ab_t time, const attend_spec *s);
ab_t t_kv_cache_append(ab_ctx *c, ab_t x, ab_t cache, ab_t ancestors, ab_t time, int64_t seen);
ab_t t_cache_reorder(ab_ctx *c, ab_t state, ab_t parents);
void t_state_write(ab_ctx *c, ab_t state, ab_t value);
/* logits [R,V], targets [1,1,1,R] (-1: no token), norm [1,1,1,1]: the loss is norm * sum of the smoothed column. */
ab_t t_ce(ab_ctx *c, ab_t logits, ab_t targets, ab_t norm, double smoothing, int others);
ab_t t_call(ab_ctx *c, const ab_op *o, const ab_t *in, const void *a, size_t a_size);
void t_assign(ab_ctx *c, ab_t to, ab_t value);
void t_keep(ab_ctx *c, ab_t x,
            const char *name); /* marks a result: computed, and available through tape_find after a run */
ab_t tape_find(const ab_ctx *c, const char *name); /* finds an input, state or kept result, else id 0 */

/* True if both tapes, traced for different batches and not planned, run the same kernels on equal shapes. Only inputs
 * read by attention on packed rows alone (sentence offsets) may differ in length, and only attention's sentence bounds
 * may differ. The tape with the larger inputs and bounds can then run the other's batches. */
bool tape_same_structure(const ab_ctx *a, const ab_ctx *b);

/* Floating-point operations of node i, a multiply-add counted as two. pairs: (query, key) pairs of its attention,
 * summed over sentences but not over heads. 0 for a node that is never read. */
double node_flops(const ab_ctx *c, int32_t i, double pairs);

/* ---- gradient, plan, run ---- */

/* Emits the gradient of `root` (one element, or a CE node, weighted by its norm) plus the recorded losses with respect
 * to every parameter and every input marked `needs`. Parameter gradients are written to params->grad ("=", not "+=").
 * Returns 0 or -1 (c->error). */
int tape_backward(ab_ctx *c, ab_t root);
/* ab_gradient: the gradient of the sum of y's elements with respect to x, of x's shape, emitted in the forward pass; it
 * can be differentiated again. An error if y does not depend on x, or if an operation has no second gradient. */
ab_t t_gradient(ab_ctx *c, ab_t y, ab_t x);
void workspace_free(workspace *w, const backend *b);
/* Plans without allocating memory or parameters: sets buffer_size to the bytes of the arena and marks unread nodes.
 * Afterwards the tape can only be inspected and freed. Returns 0, or -1 (c->error). */
int tape_measure(ab_ctx *c);
/* Drops unread nodes and gives every value an address. `find_state` maps a state's name and size in bytes to an
 * address. */
int tape_plan(ab_ctx *c, void *(*find_state)(void *self, const char *name, size_t bytes), void *self);

/* Write and read a value of a planned tape; bytes may cover only its beginning. Writing an unread value does
 * nothing. */
void tape_write(ab_ctx *c, ab_t x, const void *from, size_t bytes);
void tape_set(ab_ctx *c, const char *name, const void *from); /* writes the whole value of that name, if there is one */
int tape_read(const ab_ctx *c, ab_t x, void *to, size_t bytes, err *e);
int tape_run(ab_ctx *c, const run_options *o); /* runs the nodes of phases o->from .. PHASE_STEP in order */
int tape_run_phase(ab_ctx *c, const run_options *o, phase only);
void tape_call(const ab_ctx *c, int32_t i, const run_options *o, call *k); /* node i as a kernel call */
bool tape_is_call(const node *v);                    /* does this node run a kernel in its turn? */
int32_t tape_written_by(const ab_ctx *c, int32_t i); /* the node that runs when node i's value is written */
/* Runs a planned tape on the CPU again, with its present inputs, up to the first operation whose result has NaN or
 * +infinity. Returns true and writes to out a sentence that names the operation, its place in the model and the
 * plugin's line. false: there is none, or the tape is not on the CPU. */
bool tape_find_not_finite(ab_ctx *c, const run_options *o, char *out, size_t n);
/* print.c: keeps a copy of x, and of its gradient on a tape that has one. */
void t_print(ab_ctx *c, ab_t x, const char *name);
void print_gradient(ab_ctx *c, int32_t x);   /* call it when the gradient of node x is complete */
bool is_printed(const ab_ctx *c, int32_t i); /* is node i a copy made by t_print? */
/* Writes what ab_print kept in the last run: a line per value and per gradient, each beginning with `when`. */
int tape_print(const ab_ctx *c, const char *when, FILE *to, err *e);
/* Runs one node. wait (may be NULL) returns when all kernels are done; for the profile. */
int tape_run_node(ab_ctx *c, int32_t i, const run_options *o, void (*wait)(void));
#ifdef __cplusplus
}
#endif
#endif
