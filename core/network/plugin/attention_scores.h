/* attention_scores.h - finds on the tape how an attention's weights were computed from its scores (attention_scores.c),
 * and fuses sums of several weights (attention_maps.c). */
#ifndef ABLATE_ATTENTION_SCORES_H
#define ABLATE_ATTENTION_SCORES_H
#include "tensor/graph/score.h"
#include "network/plugin/attention_context.h"

typedef struct { /* the walk from weights down to the product q k' */
    ab_ctx *c;
    score_draft draft;
    int32_t product, scored; /* nodes: q k', and its product with `scale`, if that follows */
    double scale;
    ab_t leaf[SCORE_LEAVES], ids; /* nodes of the tape */
    bool gathered[SCORE_LEAVES];
    int n, window, blocks, keys, sink; /* n: number of leaves; the other fields: a leaf's index, or -1 */
    int64_t block;                     /* keys per block */
    double keys_scale;
    signed char *below; /* [nodes] depends on the scores? 1: yes; > 1: yes, use_of its twin; -1: no; 0: not known yet */
    int32_t *twin;      /* [nodes] the node's counterpart in the draft */
    /* plain: weights without softmax or entmax; covered: what is being written stands below the mask */
    bool plain, masked, covered, causal, failed;
    int32_t culprit; /* the node that prevents fusion; 0: no node */
    const char *because;
} score_walk;

typedef struct {
    double p;
    int64_t place;
} dropped_weights; /* dropout of weights */

/* Finds how weights p were computed from scores. */
traced_weights attn_weights_at(const ab_ctx *c, int32_t p);
/* The program that computes weights p, with its inputs in w (w->c is set before the call). NULL: no such program. */
const score_program *attn_program_of(score_walk *w, int32_t p);
bool attn_same_ids(const ab_ctx *c, int32_t a, int32_t b);
/* The weighted sum of v by weights p, or by a sum of several weights, in as few operations as possible; id 0 if p
 * cannot be fused. */
ab_t attn_sum_of_maps(ab_ctx *c, int32_t p, ab_t v, const dropped_weights *d);
#endif
