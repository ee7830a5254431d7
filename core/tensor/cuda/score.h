/* score.h - launchers of attention with a score program (attend_score.cu): ATTEND_PROGRAM and ATTEND_PROGRAM_BACK of
 * op.h, programs of graph/score.h.
 *
 * A program is one list of steps per pass. A thread runs it for SCORE_AT_ONCE (query, key) pairs at once; all threads
 * of a warp run the same steps, so only the numbers differ. Pointers are device memory; a launcher returns 0, or -1
 * (message: gpu_error). The order of sums depends only on the shapes.
 */
#ifndef ABLATE_CUDA_SCORE_H
#define ABLATE_CUDA_SCORE_H
#include "tensor/cuda/attention.h"
C_BEGIN

enum {
    GPU_SCORE_REGISTERS = 32,
    SCORE_AT_ONCE = 8,
    SCORE_WORKING = 3 /* registers after a program's own */
};
enum { GPU_SCORE_TILE = ATTEND_TILE /* queries of a warp */ };
#define GPU_HIDDEN ((float)HIDDEN)

/* Source of an operand: register 0 .. 31, leaf 32 + i, or one of these. SCORE_NOWHERE as an operand is 0. */
enum {
    SCORE_LEAF = 32,
    SCORE_PRODUCT = SCORE_LEAF + SCORE_LEAVES,
    SCORE_GRADIENT,
    SCORE_LAST,
    SCORE_BY,
    SCORE_NOWHERE = 255
};
typedef struct {
    uint8_t what, function; /* OP_ADD .. OP_WHERE, and ab_fn for MAP and MAP_BACK */
    uint8_t in[3], out;     /* operands; the register of the result, or SCORE_NOWHERE */
    float by;
} gpu_score_step;
enum { GPU_SCORE_FORWARD, GPU_SCORE_BACKWARD, GPU_SCORE_HIDING, GPU_SCORE_PASSES };
typedef struct {
    int n;
    gpu_score_step step[SCORE_STEPS];
    /* operands that hold results. Forward: the score. Backward: the gradients of the product and of each leaf */
    uint8_t result[1 + SCORE_LEAVES];
} gpu_score_pass;

typedef struct { /* a value [B or 1, H or 1, Tq or 1, Tk or 1], or gathered [B or 1, H or 1, Tq, n] */
    const float *at;
    int64_t sentence, head, query; /* strides; 0: shared */
    int key;                       /* stride: 1 or 0 */
    int gathered;
    /* Where tiles of queries sum its gradient (NULL: not needed): [part][head][line][place]. Parts are sentences or
     * chunks of them; a line is a query, or a tile if all queries share one number. Only one thread adds to a place. */
    float *sum;
    int64_t part, sum_head, line;
    int of_sentence, of_query;
} gpu_score_leaf;

typedef struct gpu_score {
    int n_leaves, n_registers;
    gpu_score_pass pass[GPU_SCORE_PASSES];
    gpu_score_leaf leaf[SCORE_LEAVES];
    int hides;          /* tiles of keys may be outside every window: run GPU_SCORE_HIDING first */
    int sink;           /* the leaf with each query's logit that has no value; -1: no sink */
    int plain;          /* WEIGHTS_PLAIN: the scores are the weights, and lse is 0 */
    const int32_t *ids; /* [Tq, Tk], or NULL */
    int64_t ids_row;
    float *counts;                   /* forward: [B,H,Tq,n] weights summed by id, initially zero; NULL: not needed */
    const float *z, *dz;             /* backward: the weights summed by id and their gradient, or NULL */
    int64_t counts_head, counts_row; /* strides of a sentence's head and of a query */
    float *delta;                    /* backward: [rows, heads], working memory */
    /* backward: [rows, heads][2], working memory: largest score and log of the sum if all keys of a query are hidden */
    float *terms;
    /* for leaf.sum: chunks of sentences, processed in order (0: no sums); tiles of queries in the longest sentence */
    int chunks, tiles;
} gpu_score;

int gpu_ATTEND_PROGRAM(const gpu_attention *a, const gpu_score *f);
int gpu_ATTEND_PROGRAM_BACK(const gpu_attention *a, const gpu_score *f);
int gpu_score_delta(const gpu_attention *a, const gpu_score *f); /* writes f->delta for gpu_ATTEND_PROGRAM_BACK */

/* The kernel `expression` (attend_score.h) for this program, generated and compiled (score_source.c), for
 * gpu_run_kernel; *kernel NULL: use the interpreter. Returns 0, or -1: compiling is wanted, but failed. */
int gpu_written_kernel(const char *expression, const gpu_score *f, void **kernel);

/* A decoding step (gpu_ATTEND_STEP) with program f; f->counts [rows,H,1,n]; scores [rows,heads,capacity]: scratch. */
int gpu_ATTEND_PROGRAM_STEP(const gpu_attention_step *a, const gpu_score *f, float *scores);

C_END
#endif
