/* score.h - score programs: what an attention does to its scores between q k' and the softmax, as straight-line code that the
 * kernel of ATTEND_PROGRAM runs on the block of one sentence and head while it lies in the nearest cache.
 *
 *     t = f(scale q k', leaves)        p = dropout(softmax(t))        y = p v
 *
 * f is elementwise over [B,H,Tq,Tk]. A leaf is a value of the tape that does not depend on the scores: any shape whose axes are 1
 * or those of the scores (a slope a head [1,H,1,1], a bias of distances [1,H,Tq,Tk] or [1,1,Tq,Tk], a length [B,1,1,1] ...), or, gathered, a
 * row of numbers for every query [.,.,Tq,n] of which ids [Tq,Tk] choose one for every key (relative positions of Shaw et al. 2018).
 * Such rows may also be made by the kernel, as keys_scale q E' of a table E [1,1,n,d_k] of vectors, one an id: then the leaf is E. And another
 * table, [1,1,n,d_v], may be added to the values: y += z E, z [Tq,n] the used weights of a query summed by id.
 * Gradients flow into q, k, v and every leaf: the program is differentiated by the tape's own rules.
 *
 * What is added to the scores last may hide keys by HIDDEN or less: a kernel may leave out what is all hidden, whose weights are 0,
 * unless all keys of a query are hidden: those have the weights that softmax gives them, forward and backward.
 * A leaf that is no value of the program may be a window [B or 1,1,Tq,2]: each query's first key and the one behind its last. Keys outside
 * have no weight and are not computed. A query whose window holds no key that it may see, sees all of those.
 */
#ifndef ABLATE_SCORE_H
#define ABLATE_SCORE_H
#include "graph/tape.h"

enum { SCORE_LEAVES = 4, SCORE_STEPS = 48 };
#define HIDDEN (-1e8)
/* Values: the scaled product, the leaves, the gradient of t, then one a step. */
enum { VALUE_SCORE, VALUE_LEAF, VALUE_GRADIENT = VALUE_LEAF + SCORE_LEAVES, VALUE_STEP };
/* PASS_HIDING computes the value that hides keys. */
enum { PASS_FORWARD, PASS_BACKWARD, PASS_HIDING, PASSES };

typedef struct {
    op op; /* ADD SUB MUL DIV MINIMUM LESS_THAN MUL_SCALAR ADD_SCALAR MAP MAP_BACK */
    int n_in, in[3];
    double by;          /* MUL_SCALAR, ADD_SCALAR */
    int64_t fn;         /* MAP, MAP_BACK: ab_fn */
    bool runs[PASSES];  /* in which pass it is wanted */
} score_step;

typedef struct score_program {
    int n_leaves, n_steps;
    bool gathered[SCORE_LEAVES];
    bool reads[PASSES][SCORE_LEAVES], back_reads_score;
    score_step step[SCORE_STEPS];
    int result;                /* value: t */
    int window;                /* leaf; -1: none */
    int keys, values;          /* leaves that are tables of vectors, keys gathered; -1: none */
    double keys_scale;
    int hiding;                /* value: the last that is added to make t, which depends neither on scores nor on anything learned; -1: none */
    int d_score;               /* value: the gradient of VALUE_SCORE; -1: none */
    int d_leaf[SCORE_LEAVES];  /* values; -1: not wanted */
} score_program;

/* Inputs and outputs of the operations (op.h). */
enum { PROGRAM_IDS = 5, PROGRAM_LEAF = 6, PROGRAM_LSE = PROGRAM_LEAF + SCORE_LEAVES, PROGRAM_DY, PROGRAM_D_COUNTS, PROGRAM_Y, PROGRAM_Z, PROGRAM_INPUTS };
enum { PROGRAM_COUNTS = 2, PROGRAM_D_LEAF = 2 };

/* A tape on which every value is one number: where a program is written down, and differentiated. */
typedef struct {
    ab_ctx *tape;
    ab_t score, leaf[SCORE_LEAVES], gradient;
    int n_leaves;
} score_draft;
void score_draft_open(score_draft *d, const ab_ctx *c);
ab_t score_draft_leaf(score_draft *d, bool wants_gradient);
/* The program that computes `result`, in c's memory; NULL: it is too long, or holds an operation that programs do not have. */
score_program *score_draft_close(score_draft *d, ab_ctx *c, ab_t result);

/* May an operation of this kind stand in a program? */
bool score_op(op o);
/* As t_attend, with dropout's place in the model, a program, its leaves and (id 0: none) the ids by which gathered ones are read. Output PROGRAM_COUNTS is empty until
 * t_attend_counts asks for it. */
ab_t t_attend_program(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t q_off, ab_t k_off, const attend_spec *s, int64_t place,
                      const score_program *f, ab_t ids, const ab_t *leaf);
/* The same of one step of decoding: a row of qkv for each hypothesis (op.h, ATTEND_PROGRAM_STEP). */
ab_t t_attend_program_step(ab_ctx *c, ab_t qkv, ab_t cache, ab_t ancestors, ab_t time, const attend_spec *s, const score_program *f, ab_t ids,
                           const ab_t *leaf);
/* [B,H,Tq,n]: the weights p of attention y, summed by the ids it was made with (ab_scatter_add), n of them; 0 for queries without a token. */
ab_t t_attend_counts(ab_ctx *c, ab_t y, int64_t batch, int64_t q_time, int64_t n);
/* y again, a result of t_attend_program nobody reads the counts of, with `table` [1,1,n,d_v] added to its values by id. id 0: it has no room. */
ab_t t_attend_values(ab_ctx *c, ab_t y, ab_t table);
void attend_program_rule(ab_ctx *c, ab_t y, ab_t dy);
#endif
