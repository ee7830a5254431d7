/* backend.h - where a tape runs: a table of kernels and the memory they work on. `cpu_backend` (cpu/cpu.h) is one, the CUDA module's
 * another. A backend is a constant; what a kernel must do is said in op.h. */
#ifndef ABLATE_BACKEND_H
#define ABLATE_BACKEND_H
#include "graph/op.h"
#include "graph/params.h"

typedef enum {
    PHASE_CONST,
    PHASE_SETUP,
    PHASE_STEP
} phase; /* once a tape | when parameters or memory change | every run */

typedef struct {
    void *data;
    int64_t dim[4];
    dtype type;
    int32_t param;
} view;          /* param: index, or -1 */
/* What beam search asks of a device at a step, in the host's memory: the likeliest continuations of each sentence's hypotheses. Row
 * sentence * beam + h is hypothesis h. */
typedef struct {
    int64_t sentences, beam, v; /* logits [sentences * beam, v] */
    int64_t k, wanted;          /* choices of a row, continuations of a sentence, at most */
    const double *log_prob;     /* [rows]: of the hypothesis so far; -infinity: there is none, the row is not looked at */
    /* What may follow: bit id % 32 of word id / 32 of line [n_lines, (v + 31) / 32]; line_of [rows]: a row's, -1: everything may. NULL: everywhere */
    const uint32_t *line;
    const int32_t *line_of;
    int64_t n_lines;
} choosing;
typedef struct {
    double log_prob;
    int32_t parent, id; /* hypothesis of the sentence, token; -1: there is no further one */
} continuation;
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
    /* After each kernel: nodes up to `node` have run. NULL: none. A device's backend, which runs many kernels as one graph, calls it
     * after the nodes in `stops` [n_stops] alone (ascending), when the kernels up to there are under way. */
    int (*after)(void *self, int32_t node, err *e);
    void *self;
    const int32_t *stops;
    int n_stops;
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
    bool takes_tables;            /* its ATTEND_PROGRAM takes windows and tables of vectors as leaves (score.h) */
    void *(*alloc)(size_t bytes); /* 64-byte aligned, not zeroed */
    void (*release)(void *p);
    /* A device's own memory, which the host reaches by these alone; all NULL when memory is the host's (then
     * backend_write and the rest copy). copy_in: `from` is free at return. copy_out waits for all before it. */
    void (*copy_in)(void *to, const void *from, size_t bytes);
    int (*copy_out)(void *to, const void *from, size_t bytes, err *e);
    void (*copy)(void *to, const void *from, size_t bytes); /* within the device */
    void (*zero)(void *at, size_t bytes);
    int (*run_tiled)(ab_ctx *c, const tiling *t,
                     const run_options *o); /* nodes of phase STEP, assignments at each tile's end; a device's: those of phase SETUP, too */
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
    /* Before a step: sends what c holds. After it: out [sentences, wanted], likeliest first, equal ones by hypothesis, then by id (as select_best of
     * decode/select.h and advance of decode/beam.c have them); log_prob is no number where a sentence's logits are none. Waits. */
    int (*put_choosing)(const choosing *c, err *e);
    int (*choose)(const choosing *c, const void *logits, dtype type, continuation *out, err *e);
    /* to [rows, capacity] = from's rows parents [rows] (of the same sentence), and parents themselves at `step`, which come last. In its memory */
    void (*follow)(int32_t *to, const int32_t *from, const int32_t *parents, int64_t rows, int64_t capacity, int64_t step);
    size_t (*free_memory)(void); /* bytes */
};
static inline bool on_device(const backend *b) { return b && b->copy_in != NULL; }
/* Between the host's memory and a backend's. backend_read: 0, or -1 and words when something failed before. */
void backend_write(const backend *b, void *to, const void *from, size_t bytes);
int backend_read(const backend *b, void *to, const void *from, size_t bytes, err *e);
void backend_zero(const backend *b, void *at, size_t bytes);
void backend_move(const backend *b, void *to, const void *from, size_t bytes); /* both in its memory */

/* A CALL whose kernel declined the type: the operation's reference on a tape of its own. Slow, but right. */
int call_reference(const call *k, const backend *b, err *e);
double call_flops(const call *k, const backend *b); /* multiply-adds counted as two */
double call_bytes(const call *k); /* every view read or written once */
#endif
