/* heads.h - what each attention head of a trained model does on the dev set, and what the model loses without it. */
#ifndef ABLATE_HEADS_H
#define ABLATE_HEADS_H
#include "commands/options.h"
#include "commands/weights.h"

/* What a head may be there for, after Voita et al. 2019 (section 5): its strongest weight goes to the token before; to the rarest token of the sentence;
 * to another word of the smallest constituent around the word. */
enum head_role { ROLE_PREVIOUS, ROLE_RARE, ROLE_SYNTAX, HEAD_ROLES };

typedef struct {
    const char *part; /* "encoder", "decoder", "source" */
    int64_t layer;    /* from 1, as the head */
    size_t head;
    double queries;
    double entropy; /* of the weights, mean over queries [bits] */
    double
        gradient; /* Frobenius norm of the softmax's Jacobian, diag(p) - p p', mean over queries: 0 where one key has all the weight */
    /* Queries whose strongest weight goes where the role says, and queries that count, of even and of odd sentences: the head is chosen by the one
     * half and reported by the other. */
    double hits[HEAD_ROLES][2], counted[HEAD_ROLES][2];
    /* What hits would be without looking: a key at random; for syntax the better of that and of the best fixed distance up to 3 [share of those counted,
     * NaN: none is] */
    double chance[HEAD_ROLES];
    double cost; /* log of the dev PPL without the head less that with it; NaN: not measured */
} head_figures;

typedef struct {
    const char *row;
    int64_t run, seed;
    head_figures *head;
    size_t n, cap;
    double ppl;
} measured_run;

typedef struct {
    int64_t sentences; /* the dev set's first ones */
    bool prune;
} measure_options;

/* Fills out->head and ppl for the model file at `path`. The task's data must be at hand. 0, or -1 and e. */
int heads_measure(const char *path, const places *p, const measure_options *o, measured_run *out, err *e);
/* Share of the half's counted queries, NaN where none counts. */
double head_share(const head_figures *h, enum head_role role, int half);
#endif
