/* score.h - launchers of attention with a score program (attend_score.cu): what op.h says of ATTEND_PROGRAM and ATTEND_PROGRAM_BACK,
 * and graph/score.h of programs.
 *
 * A program comes as one list of steps a pass. A thread runs it for SCORE_AT_ONCE (query, key) pairs at once; all threads of a warp
 * take the same steps, so that only numbers differ between them. Pointers are device memory; a launcher returns 0, or -1 (gpu_error
 * has the words). Sums are taken in an order that depends on the shapes only.
 */
#ifndef ABLATE_CUDA_SCORE_H
#define ABLATE_CUDA_SCORE_H
#include "cuda/attention.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { GPU_SCORE_LEAVES = 4, GPU_SCORE_STEPS = 48, GPU_SCORE_REGISTERS = 32, SCORE_AT_ONCE = 8, SCORE_WORKING = 3 /* registers behind a program's own */ };
enum { GPU_SCORE_SLOT = 10 /* SCRATCH_SCORE of ops.h */, GPU_SCORE_TILE = 16 /* queries of a warp */ };
#define GPU_HIDDEN (-1e8f) /* HIDDEN of graph/score.h */

/* Where an operand comes from: register 0 .. 31, leaf 32 + i, or one of these. SCORE_NOWHERE as an operand is 0. */
enum { SCORE_LEAF = 32, SCORE_PRODUCT = SCORE_LEAF + GPU_SCORE_LEAVES, SCORE_GRADIENT, SCORE_LAST, SCORE_BY, SCORE_NOWHERE = 255 };
typedef struct {
    uint8_t what, function; /* GPU_ADD .. GPU_MAP_BACK, and ab_fn (generic.h) */
    uint8_t in[3], out;     /* operands; the register that takes the result, or SCORE_NOWHERE */
    float by;
} gpu_score_step;
enum { GPU_SCORE_FORWARD, GPU_SCORE_BACKWARD, GPU_SCORE_HIDING, GPU_SCORE_PASSES };
typedef struct {
    int n;
    gpu_score_step step[GPU_SCORE_STEPS];
    uint8_t result[1 + GPU_SCORE_LEAVES]; /* operands after the last step: the score; or the gradients of the product and of each leaf */
} gpu_score_pass;

typedef struct { /* a value [B or 1, H or 1, Tq or 1, Tk or 1], or gathered [B or 1, H or 1, Tq, n] */
    const float *at;
    int64_t sentence, head, query; /* numbers from one to the next; 0: the same one for all */
    int key;                       /* likewise: 1 or 0 */
    int gathered;
    /* Where tiles of queries add its gradient up (NULL: not wanted): [part][head][line][place]. Parts are sentences or chunks of them; a
     * line is a query, or a tile where all queries have one number. Nobody adds to a place but one thread. */
    float *sum;
    int64_t part, sum_head, line;
    int of_sentence, of_query;
} gpu_score_leaf;

typedef struct gpu_score {
    int n_leaves, n_registers;
    gpu_score_pass pass[GPU_SCORE_PASSES];
    gpu_score_leaf leaf[GPU_SCORE_LEAVES];
    int hides;          /* tiles of keys may lie outside of every window: GPU_SCORE_HIDING is looked at first */
    const int32_t *ids; /* [Tq, Tk], or NULL */
    int64_t ids_row;
    float *counts;        /* forward: [B,H,Tq,n] weights summed by id, zeros at first; NULL: not wanted */
    const float *z, *dz;  /* backward: those sums and their gradient, or NULL */
    int64_t counts_head, counts_row; /* numbers of a sentence's head, of a query */
    float *delta;         /* backward: [rows, heads] to work in */
    float *terms;         /* backward: [rows, heads][2] to work in: the largest score and the logarithm of the sum, where a program hides all keys of a query */
    int chunks, tiles;    /* sum: chunks of sentences that are worked on in order, tiles of queries of the longest sentence; chunks 0: none */
} gpu_score;

int gpu_attend_score(const gpu_attention *a, const gpu_score *f);
int gpu_attend_score_back(const gpu_attention *a, const gpu_score *f);

/* The kernel `expression` (attend_score.h) for this program, written out and compiled (score_written.h), for gpu_run_kernel; NULL: the interpreter
 * is to run it. 0, or -1: it was asked for and cannot be had. */
int gpu_written_kernel(const char *expression, const gpu_score *f, void **kernel);

/* One step of decoding (gpu_attend_step) whose scores go through f; f->counts likewise [rows,H,1,n]. scores: [rows, heads, capacity] to work in. */
int gpu_attend_score_step(const gpu_attention_step *a, const gpu_score *f, float *scores);

#ifdef __cplusplus
}
#endif
#endif
