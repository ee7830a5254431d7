/* score.h - score programs: an attention's operations on its scores between q k' and the softmax, as straight-line
 * code. The kernel of ATTEND_PROGRAM runs it on the block of one sentence and head in the first-level cache.
 *
 *     t = f(scale q k', leaves)        p = dropout(weights(t))        y = p v
 *
 * weights: softmax, or what weights_kind says. A leaf that the program does not read may be a sink [.,.,Tq or 1,1]: a
 * logit in the softmax's sum whose key has no value, so the weights' sum is below 1.
 *
 * Several maps of the same queries, each a softmax of its own q k' by the same program, can be summed before dropout:
 *
 *     t_m = f(scale q_m k_m', leaves)        p = dropout(sum over m of factor_m number_m softmax(t_m))
 *
 * number_m: a leaf [.,.,Tq or 1,1] that the program does not read, or 1.
 *
 * f is elementwise over [B,H,Tq,Tk]. A leaf is a value of the tape that does not depend on the scores. Its axes are 1
 * or those of the scores (a slope per head [1,H,1,1], a bias by distance [1,H,Tq,Tk] or [1,1,Tq,Tk], a length [B,1,1,1]
 * ...). Or it is gathered: a row of numbers per query [.,.,Tq,n] from which ids [Tq,Tk] select one per key (relative
 * positions of Shaw et al. 2018). The kernel can compute such rows itself, as keys_scale q E' from a table E
 * [1,1,n,d_k] with one vector per id; then the leaf is E. Another table, [1,1,n,d_v], can be added to the values: y +=
 * z E, z [Tq,n] being a query's weights after dropout, summed by id. Gradients flow into q, k, v and every leaf: the
 * tape's own rules differentiate the program.
 *
 * The last term added to the scores may hide keys by a value of HIDDEN or less. A kernel may skip fully hidden blocks,
 * whose weights are 0, unless all keys of a query are hidden: these have the weights that softmax gives them, forward
 * and backward. A leaf that the program does not read may be a window [B or 1,1,Tq,2]: each query's first key and the
 * key after its last. Keys outside the window have no weight and are not computed. A query with no visible key in its
 * window sees all visible keys. Another leaf that the program does not read may choose blocks of keys [B or 1,H or 1,
 * Tq or 1, blocks of the longest sentence]: a query sees only those whose number is above 0. If that leaves it no
 * visible key of its window, it sees all of them.
 */
#ifndef ABLATE_SCORE_H
#define ABLATE_SCORE_H
#include "tensor/graph/tape.h"

/* Arithmetic, comparisons, functions and their gradients, number by number: programs and updates consist of them. */
static inline bool op_elementwise(op o) { return o >= OP_ADD && o <= OP_WHERE; }

/* Values: the scaled product, the leaves, the gradient of t, then one per step. */
enum { VALUE_SCORE, VALUE_LEAF, VALUE_GRADIENT = VALUE_LEAF + SCORE_LEAVES, VALUE_STEP };
/* PASS_HIDING computes only the value that hides keys. */
enum { PASS_FORWARD, PASS_BACKWARD, PASS_HIDING, PASSES };

/* How a query's weights are computed from t, over the keys that it sees. */
typedef enum {
    WEIGHTS_SOFTMAX,
    WEIGHTS_PLAIN,    /* t itself; 0 for keys that it does not see */
    WEIGHTS_ENTMAX15, /* max(0, t/2 - tau)^2, tau such that their sum is 1 (Peters et al. 2019) */
    WEIGHTS_SPARSEMAX /* max(0, t - tau), tau as above (Martins and Astudillo 2016) */
} weights_kind;

typedef struct {
    enum op op; /* op_elementwise */
    int n_in, in[3];
    double by;         /* MUL_SCALAR, ADD_SCALAR */
    int64_t fn;        /* MAP, MAP_BACK: ab_fn */
    bool runs[PASSES]; /* the passes that need it */
} score_step;

typedef struct score_program {
    int n_leaves, n_steps;
    bool gathered[SCORE_LEAVES];
    bool reads[PASSES][SCORE_LEAVES], back_reads_score;
    score_step step[SCORE_STEPS];
    int result; /* value: t */
    weights_kind weights;
    int sink;         /* the leaf that is a sink, with WEIGHTS_SOFTMAX; -1: no sink */
    int window;       /* the leaf that is a window; -1: no window */
    int blocks;       /* leaf that chooses blocks, if `block` */
    int64_t block;    /* keys of a block; 0: no blocks are chosen. Not with WEIGHTS_PLAIN */
    int keys, values; /* leaves with the tables: E, and the table of values (see above); -1: no table */
    double keys_scale;
    int hiding;               /* value: last term of t, if independent of scores and learned values; else -1 */
    int d_score;              /* value: the gradient of VALUE_SCORE; -1: no gradient */
    int d_leaf[SCORE_LEAVES]; /* value: the gradient of each leaf; -1: not needed */
    int maps;                 /* number of maps; 0: one map, without a factor */
    double factor[SCORE_MAPS];
    int number[SCORE_MAPS]; /* leaf with the map's number; -1: the number is 1 */
} score_program;
/* Has leaf i one number per query: a sink, or a map's number? */
static inline bool score_number(const score_program *f, int i)
{
    bool yes = i == f->sink;
    for (int m = 0; m < f->maps; m++) yes |= i == f->number[m];
    return yes;
}

/* A tape whose values are single numbers, on which a program is recorded and differentiated. */
typedef struct {
    ab_ctx *tape;
    params none; /* the tape points here: do not copy an open draft */
    ab_t score, leaf[SCORE_LEAVES], gradient;
    int n_leaves;
} score_draft;
void score_draft_open(score_draft *d, const ab_ctx *c);
ab_t score_draft_leaf(score_draft *d, bool wants_gradient);
/* The program that computes `result`, in c's memory; NULL if too long or with an operation that programs lack. */
score_program *score_draft_close(score_draft *d, ab_ctx *c, ab_t result);

/* Keys that window w [B or 1,1,Tq,2] (F32 or F64) leaves for query i of a sentence, among the keys before `seen`:
 * [from, to), none if from >= to. */
typedef struct {
    double from, to;
} window_bounds;
static inline window_bounds window_of_query(const view *w, int64_t sentence, int64_t i, int64_t seen)
{
    int64_t at = ((w->dim[0] > 1 ? sentence : 0) * w->dim[2] + i) * 2;
    const double *d = (const double *)w->data;
    const float *f = (const float *)w->data;
    double from = w->type == F64 ? d[at] : (double)f[at], to = w->type == F64 ? d[at + 1] : (double)f[at + 1];
    window_bounds b = {from > 0 ? from : 0, to < (double)seen ? to : (double)seen};
    return b;
}

/* Like t_attend, with dropout's place in the model, a program, its leaves and the ids of gathered leaves (id 0: none).
 * Output z is empty until t_attend_counts requests it. */
ab_t t_attend_program(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t q_off, ab_t k_off, const attend_spec *s, int64_t place,
                      const score_program *f, ab_t ids, const ab_t *leaf);
/* Like t_attend_program, for a decoding step: one row of qkv per hypothesis (op.h, ATTEND_PROGRAM_STEP). */
ab_t t_attend_program_step(ab_ctx *c, ab_t qkv, ab_t cache, ab_t ancestors, ab_t time, const attend_spec *s,
                           const score_program *f, ab_t ids, const ab_t *leaf);
/* [B,H,Tq,n]: the weights p of attention y, summed by its n ids (ab_scatter_add); 0 for queries without a token. */
ab_t t_attend_counts(ab_ctx *c, ab_t y, int64_t batch, int64_t q_time, int64_t n);
/* Attention y (from t_attend_program, its counts unread) with `table` [1,1,n,d_v] added to its values by id. Returns id
 * 0 if no leaf is free. */
ab_t t_attend_values(ab_ctx *c, ab_t y, ab_t table);
void attend_program_rule(ab_ctx *c, ab_t y, ab_t dy);
#endif
