/* tape.h - a tape of values. A forward pass is traced once; its gradient is more tape; a plan gives every
 * value an address; running is a loop over kernel calls.
 *
 * Ownership: an `ab_ctx` (one tape) owns its nodes, constants and arena; `params` owns the learned values and
 * is shared by every tape of a model; a `backend` is a constant. Shapes have four axes aligned at the right,
 * padded with ones: packed rows [rows,n] are [1,1,rows,n].
 */
#ifndef ABLATE_TAPE_H
#define ABLATE_TAPE_H
#include "graph/backend.h"

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
    const char *scope; /* part of the model that it was traced or differentiated in: "dec.0.self"; "" outside */
    const ab_op *call;
    const void *call_attr; /* CALL; ATTEND_PROGRAM and the like: its score_program */
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

/* What plugins record in training: a number each; those of auxiliary losses are part of what is minimised. */
typedef struct noted {
    const char *name;
    ab_t value;
    double weight; /* of a loss; 0: only recorded */
    struct noted *next;
} noted;

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
    ab_hook hook;      /* the plugin function that runs; AB_IN_HOST: none */
    const ab_parameter *updated; /* the parameter whose update is traced, NULL elsewhere */
    struct owned_name *names; /* of learned values given so far in this layer: plugin/attention_context.h */
    struct shared_value *across; /* of layers given so far: plugin/attention_context.h */
    noted *recorded; /* in the order of calls */
    ab_t loss_scale;   /* what an auxiliary loss is multiplied by beside its weight; id 0: 1 */
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
/* The context made last: where a plugin was when its process dies (check/child.c). NULL: none. */
extern ab_ctx *tape_latest;
/* What plugins hand over: an id that is no tensor of this tape fails it in words. 0, the failed tensor, is one. */
bool tape_owns(ab_ctx *c, ab_t x);
/* The same of what a plugin's function returned, where also the failed tensor needs a reason. who, name: "attention", "dot". */
ab_t tape_given(ab_ctx *c, ab_t x, const char *who, const char *name);
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
ab_t t_top_k(ab_ctx *c, ab_t x, int64_t k, bool smallest); /* ids [..,k] */
ab_t t_to_ids(ab_ctx *c, ab_t x);
ab_t t_random(ab_ctx *c, const int64_t dim[4], bool normal);
ab_t t_sum_rows_by_id(ab_ctx *c, ab_t rows, ab_t ids, int64_t n); /* [T,d],[T] -> [n,d]: EMBEDDING's adjoint */
ab_t t_mask(ab_ctx *c, ab_t s, ab_t qpos, ab_t kpos, ab_t klen, int causal);
ab_t t_heads(ab_ctx *c, ab_t rows, ab_t offset, int64_t col, int64_t heads, int64_t width, int64_t time);
ab_t t_merge(ab_ctx *c, ab_t x, ab_t offset, int64_t rows, int64_t col, int64_t cols);
/* Heads from column `col` of rows on, `heads` of width d, turned by the angles whose cos and sin [1,1,T,d] are given: rotary positions. */
ab_t t_rotate(ab_ctx *c, ab_t rows, ab_t cosine, ab_t sine, ab_t offset, int64_t col, int64_t heads);
ab_t t_linear(ab_ctx *c, ab_t x, ab_t w, ab_t b, int transposed, int relu); /* b: id 0 for none */
ab_t t_embed_tokens(ab_ctx *c, ab_t table, ab_t ids, ab_t sorted, double scale); /* sorted: id 0 for none, see op.h */
/* Dropout of embedded tokens x, to which a position plugin may have added, in the type of rows: on a device one operation with what is below. */
ab_t t_embedded(ab_ctx *c, ab_t x, double p);
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

/* Floating-point operations of node i, a multiply-add counted as two. pairs: (query, key) pairs that its attention looks at, summed
 * over sentences, not over heads. 0 for a node that nobody reads. */
double node_flops(const ab_ctx *c, int32_t i, double pairs);

/* ---- gradient, plan, run ---- */

/* Emits the gradient of `root` (one element; or a CE node, whose own norm gives the weight) plus the recorded losses for every
 * parameter and every input marked needs; parameters' gradients end in params->grad ("=", not "+="). Returns
 * 0 or -1 (c->error). */
int tape_backward(ab_ctx *c, ab_t root);
/* Drops what nobody reads and gives every value an address. States come from `find_state` (name, bytes wanted
 * -> address). */
void workspace_free(workspace *w, const backend *b);
/* What tape_plan would need, without memory and parameters: afterwards buffer_size has the bytes of the arena, and nodes that nobody
 * reads are marked. The tape can only be looked at and freed then. Returns 0, or -1 (c->error). */
int tape_measure(ab_ctx *c);
int tape_plan(ab_ctx *c, void *(*find_state)(void *self, const char *name, size_t bytes), void *self);

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
#endif
