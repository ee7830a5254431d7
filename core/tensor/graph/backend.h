/* backend.h - where a tape runs: a table of kernels and their memory. Backends are `cpu_backend` (cpu/cpu.h) and the
 * CUDA module's. A backend is a constant; op.h specifies the kernels. */
#ifndef ABLATE_BACKEND_H
#define ABLATE_BACKEND_H
#include "tensor/graph/op.h"
#include "base/base.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct params params; /* params.h */
typedef struct backend backend;
typedef enum {
    PHASE_CONST,
    PHASE_SETUP,
    PHASE_STEP
} phase; /* CONST: once per tape; SETUP: when parameters or memory change; STEP: every run */

/* A request of beam search to a device, in the host's memory: the most likely continuations of each sentence's
 * hypotheses. Row sentence * beam + h is hypothesis h. */
typedef struct {
    int64_t sentences, beam, v; /* logits [sentences * beam, v] */
    int64_t k, wanted;          /* maximum numbers: choices per row; continuations per sentence */
    const double *log_prob;     /* [rows]: each hypothesis's log probability; -infinity: no hypothesis, skip the row */
    /* Allowed ids: bit id % 32 of word id / 32 of line [n_lines, (v + 31) / 32]; line_of [rows]: a row's line, -1: all
     * ids are allowed. line NULL: all ids are allowed in all rows */
    const uint32_t *line;
    const int32_t *line_of;
    int64_t n_lines;
} choosing;
typedef struct {
    double log_prob;
    int32_t parent, id; /* hypothesis of the sentence; token. -1: no more continuations */
} continuation;
/* Reads a result y block by block, so that y is never stored as a tensor. A kernel either passes all of y to `columns`
 * and leaves y unwritten, or never calls it. (LINEAR on the CPU calls it for F32 rows times packed weights, unless
 * threads divide the columns.) block [i1 - i0, j1 - j0]: rows i0 .. i1 and columns j0 .. j1, `row` floats from one row
 * to the next, valid during the call. A row's columns come in order, from one thread; different rows may come from
 * several. */
typedef struct {
    int32_t node;
    void (*columns)(void *self, const float *block, int64_t row, int64_t i0, int64_t i1, int64_t j0, int64_t j1);
    void *self;
} column_reader;
typedef struct call { /* one kernel call, as a backend sees it */
    enum op op;       /* `enum` and `struct` are spelled out: C++ needs them if a member has its type's name */
    int n_in, n_out;
    union { /* by number and by name; data NULL: absent */
        view in[MAX_IN];
        op_inputs i;
    };
    union {
        view out[MAX_OUT];
        op_outputs o;
    };
    attr a;
    bool training, batch_invariant;
    uint64_t seed, step; /* dropout's key */
    struct params *params;
    const ab_op *call;
    const void *call_attr;
    int64_t batch,
        stride[4]; /* LINEAR_DW: number of products (0: one); bytes from a product's x, dy, dw, db to the next one's */
    const column_reader *reader; /* reads this result block by block; NULL: no reader */
    const struct call *product;  /* NORM: the LINEAR that computes s, run with it; NULL: s is computed already */
} call;
typedef int (*kernel)(const call *k, err *e);
typedef struct {
    uint64_t seed, step;
    phase from;
    /* Called after each kernel: nodes up to `node` have run. May be NULL. A device's backend, which runs many kernels
     * as one graph, calls it only after the nodes in `stops` [n_stops] (ascending), when the kernels up to there have
     * been launched. */
    int (*after)(void *self, int32_t node, err *e);
    void *self;
    const int32_t *stops;
    int n_stops;
    const column_reader *reader; /* may be NULL */
} run_options;
/* A tape over one tile of long vectors (an optimizer's update), run for every tile of the vectors. */
typedef struct {
    int32_t n_vectors;
    struct {
        int32_t id;
        void *data;
    } vector[11];        /* the INPUT node that stands for a tile of `data` */
    int64_t count, tile; /* elements of each vector; elements of each INPUT node */
    dtype type;          /* the vectors' type */
} tiling;
struct backend {
    const char *name;         /* "cpu" */
    kernel kernels[OP_COUNT]; /* NULL: not implemented (refused by tape_plan) */
    bool takes_tables;        /* ATTEND_PROGRAM supports windows and tables of vectors as leaves (score.h) */
    bool joins_gradients;     /* LINEAR_DW takes a batch: tapes join gradients (together.h) */
    bool joins_norms;   /* NORM takes the product whose result it adds (call.product): decoding's tapes plan for it */
    bool takes_sinks;   /* ATTEND_PROGRAM supports sinks and WEIGHTS_PLAIN */
    bool takes_weights; /* ATTEND_PROGRAM supports each weights_kind, sinks, any width, values in their own tensor */
    bool (*takes_maps)(dtype rows); /* does ATTEND_PROGRAM sum maps faster than one call per map does? NULL: no */
    void *(*alloc)(size_t bytes);   /* 64-byte aligned, not zeroed */
    void (*release)(void *p);
    /* Access to a device's own memory; all NULL if memory is the host's (then backend_write and the like copy).
     * copy_in: `from` can be reused at return. copy_out waits for all earlier work. */
    void (*copy_in)(void *to, const void *from, size_t bytes);
    int (*copy_out)(void *to, const void *from, size_t bytes, err *e);
    void (*copy)(void *to, const void *from, size_t bytes); /* copies within the device */
    void (*zero)(void *at, size_t bytes);
    int (*run_tiled)(ab_ctx *c, const tiling *t,
                     /* runs nodes of phase STEP, assignments at the end of each tile; on a device also phase SETUP */
                     const run_options *o);
    /* frees the backend's data for these values (packed weights) before they are freed; NULL: there is no such data */
    void (*release_params)(params *s);
    double (*sum_squares)(const void *v, int64_t n, dtype type);         /* in a fixed order */
    void (*accumulate)(void *sum, const void *v, int64_t n, dtype type); /* sum += v */
    /* The rest is for devices, NULL elsewhere. */
    int (*run)(ab_ctx *c, const run_options *o, phase first, phase last); /* runs the phases; NULL: kernel by kernel */
    void (*drop_graph)(ab_ctx *c); /* frees the data that `run` keeps for a tape */
    void (*sync_bf16)(params *s);  /* after the host changed values: updates their bf16 copies */
    /* *scale_at = scale, reduced if the scaled gradient's norm exceeds clip_norm (> 0); does not wait */
    void (*clip)(float *scale_at, const void *grad, int64_t n, double scale, double clip_norm);
    void (*add_columns)(double *two, const void *losses, int64_t rows); /* sums of losses [rows,2], in device memory */
    /* counts of products per library and of graphs made so far, for the run's record */
    void (*stats)(char *text, size_t n);
    bool embeds_tokens; /* EMBED_TOKENS takes positions and dropout, and its gradient sorted ids (op.h) */
    /* put_choosing, before a step: sends the contents of c. choose, after it: out [sentences, wanted], most likely
     * first, ties by hypothesis, then by id (as select_best of decode/select.h and advance of decode/search.c do);
     * log_prob is NaN if a sentence's logits are NaN. choose waits for the device. */
    int (*put_choosing)(const choosing *c, err *e);
    int (*choose)(const choosing *c, const void *logits, dtype type, continuation *out, err *e);
    /* to [rows, capacity]: row i is row parents[i] of `from` (of the same sentence), with parents[i] in column `step`,
     * the last one. `copy` gets the same values, unless it is NULL. All arrays but the parents lie in the device's
     * memory */
    void (*follow)(int32_t *to, int32_t *copy, const int32_t *from, const int32_t *parents, int64_t rows,
                   int64_t capacity, int64_t step);
    size_t (*free_memory)(void); /* bytes */
};
static inline bool on_device(const backend *b) { return b && b->copy_in != NULL; }
/* Copy between the host's memory and a backend's. backend_read returns 0, or -1 and e if earlier work failed. */
void backend_write(const backend *b, void *to, const void *from, size_t bytes);
int backend_read(const backend *b, void *to, const void *from, size_t bytes, err *e);
void backend_zero(const backend *b, void *at, size_t bytes);
void backend_move(const backend *b, void *to, const void *from, size_t bytes); /* copies within the backend's memory */

/* Runs the reference of a CALL, on a separate tape, if its kernel does not support the type. Slow but correct. */
int call_reference(const call *k, const backend *b, err *e);
double call_flops(const call *k, const backend *b); /* multiply-adds counted as two */
double call_bytes(const call *k);                   /* each view counted as read or written once */
#ifdef __cplusplus
}
#endif
#endif
