/* search.h - one stream of beam search: batches of sentences one after the other, on threads of its own.
 */
#ifndef ABLATE_SEARCH_H
#define ABLATE_SEARCH_H
#include "decode/beam.h"
#include "decode/select.h"
#include "decode/steps.h"

typedef struct { /* the beginning of an output */
    double log_prob;
    int32_t *ids; /* [tokens so far], room for `limit` */
    void *state;  /* the mask's; NULL without one */
} prefix;

typedef struct {
    int64_t index;       /* its place in the sources */
    int64_t limit;       /* most tokens of an output, without EOS */
    prefix *live, *next; /* [beam] each, the likeliest first */
    int64_t n_live, n_next;
    hypothesis *best; /* [nbest], the caller's: finished ones, best first */
    int64_t n_best;
    bool over;
} sentence;

struct streams;
typedef struct {
    struct streams *all; /* of which this is one */
    model *m;
    const pairs *p;
    const beam_options *o;
    hypothesis *out;
    steps steps;
    steps *others; /* [o->n_others]: of an ensemble */
    float *mean;   /* an ensemble's, [rows, V] */
    int64_t wanted, k; /* continuations looked at, of a sentence and of a row */
    sentence **at; /* [n_at]: the sentences of the present batch that are still computed */
    int64_t n_at;
    /* a row's: [rows], [rows], [rows, k], [rows], [rows] */
    int32_t *tokens, *parents;
    choice *choices;
    int64_t *n_choices;
    double *log_sum;
    int64_t *cursor; /* [beam]: while a sentence's choices are merged */
    char *scratch;   /* a part for each thread */
    size_t scratch_size;
    /* of a device (choosing, graph/backend.h): what is sent, what comes back; NULL elsewhere */
    double *log_prob;
    uint32_t *line;
    int32_t *line_of;
    int64_t n_lines;
    continuation *found; /* [sentences, wanted] */
    beam_stats stats;
} search;

/* For m, p, o, out and all as they were set. */
void search_open(search *s);
void search_close(search *s);
/* Decodes sentences which[n] of p into `out`. */
int search_batch(search *s, const int64_t *which, int64_t n, err *e);
/* A device looks through its logits itself: room for that, what it is told before a step, and the answer. */
void device_open_search(search *s);
int device_put(search *s, err *e);
int device_choose(search *s, const void *logits, err *e);
/* n sentences more are done. */
void streams_progress(struct streams *s, int64_t n);
#endif
