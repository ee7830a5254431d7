/* heads.h - measures what each attention head of a trained model does on the dev set, and the cost of pruning it. */
#ifndef ABLATE_STUDY_HEADS_H
#define ABLATE_STUDY_HEADS_H
#include "lab/report/grid.h"
#include "lab/sweep/setup.h"
#include "network/train/influence.h"

/* Roles of a head, after Voita et al. 2019 (section 5). The head's strongest weight goes to the previous token; to the
 * sentence's rarest token; to another word of the smallest constituent around the word. */
enum head_role { ROLE_PREVIOUS, ROLE_RARE, ROLE_SYNTAX, HEAD_ROLES };

typedef struct {
    const char *part; /* "encoder", "decoder", "source" */
    int64_t layer;    /* from 1, like head */
    size_t head;
    weights_source from; /* meaning of the head's weights */
    double queries;
    double entropy; /* entropy of the weights, mean over queries [bits] */
    double
        /* Frobenius norm of the softmax's Jacobian, diag(p) - p p', mean over queries: 0 if one key has all the weight;
         * NaN: no softmax */
        gradient;
    /* Queries whose strongest weight fits the role, and counted queries, for even and odd sentences: one half selects
     * the head, the other half is reported. */
    double hits[HEAD_ROLES][2], counted[HEAD_ROLES][2];
    /* Share of hits by chance: a random key's; for syntax the best fixed distance's (up to 3), if larger. NaN: none */
    double chance[HEAD_ROLES];
    double cost; /* log of the dev PPL without the head minus that with it; NaN: not measured */
} head_figures;

typedef struct {
    const char *row, *base; /* base: the row that it is compared with, in an experiment's table; NULL: none */
    int64_t run, seed;
    head_figures *head;
    size_t n, cap;
    double ppl;
} measured_run;

typedef struct {
    int64_t sentences; /* number of dev sentences, from the start */
    bool prune;
} measure_options;

/* Fills out->head and ppl for the model file at `path`. Needs the task's data. Returns 0, or -1 and sets *e. */
int heads_measure(const char *path, const places *p, const measure_options *o, measured_run *out, err *e);
/* Returns the share of the half's counted queries that fit the role; NaN if none counts. */
double head_share(const head_figures *h, enum head_role role, int half);

/* ---- heads.c ---- */

typedef struct {
    int64_t sentences, threads;
    bool no_prune, json;
    const char *coreference; /* a file of heads_anaphora, or NULL */
} heads_options;
/* Prints figures of the heads of a run, of a row's seeds, or of an experiment's rows. -1 and e. */
int heads_print(const heads_options *o, const char *runs, const places *p, bool quiet, err *e);

typedef struct {
    double mean, sd, low, high, p;
    size_t n;
} spread; /* interval and p (of a mean of 0) by Student's t; n < 2: NaN */
spread spread_of(const double *x, size_t n);
void put_number(grid *g, size_t column, const char *format, double x); /* not finite: an empty cell */
const char *source_name(weights_source s); /* in a table: "softmax", "by value", "by input" */
/* Explains below a table the weights that are not a softmax's. seen: which sources occur. */
void footnote_sources(grid *g, const bool seen[FROM_ROWS + 1]);
/* Finds the path of the run's model, which the caller frees, and prints the run unless `quiet`. NULL and e. */
char *heads_model_path(const places *p, const measured_run *r, bool quiet, err *e);

/* ---- heads_anaphora.c ---- */

/* Prints how much of each head's weight goes from pronouns to their antecedents in the sentences of o->coreference
 * (text/data/coreference.h): for a single run every head; for several runs the best heads, by row. -1 and e. */
int heads_anaphora(const heads_options *o, const places *p, const measured_run *runs, size_t n, bool quiet, err *e);
#endif
