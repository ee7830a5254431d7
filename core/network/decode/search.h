/* search.h - one stream of beam search: decodes batches of sentences in turn, on its own threads. */
#ifndef ABLATE_SEARCH_H
#define ABLATE_SEARCH_H
#include "network/decode/beam.h"
#include "network/decode/select.h"
#include "network/decode/steps.h"

typedef struct { /* the prefix of an output */
    double log_prob;
    int32_t *ids; /* [tokens so far], room for `limit` */
    void *state;  /* the mask's state; NULL without a mask */
} prefix;

typedef struct {
    int64_t index;       /* index in the sources */
    int64_t limit;       /* most tokens of an output, without EOS */
    prefix *live, *next; /* [beam] each, most likely first */
    int64_t n_live, n_next;
    hypothesis *best; /* [nbest], owned by the caller: finished ones, best first */
    int64_t n_best;
    bool over;
} sentence;

struct streams;
struct search;
typedef struct { /* the rows that a model of an ensemble has computed */
    struct search *s;
    opinion *row; /* [rows] */
} member;
typedef struct search {
    struct streams *all; /* all streams, this one included */
    model *m;
    const pairs *p;
    const beam_options *o;
    hypothesis *out;
    steps steps;
    steps *others;     /* [o->n_others]: ensemble */
    member *members;   /* [1 + o->n_others]: ensemble; NULL: one model */
    int64_t wanted, k; /* continuations considered, per sentence and per row */
    sentence **at;     /* [n_at]: unfinished sentences of the current batch */
    int64_t n_at;
    int64_t idle; /* steps of finished sentences since the batch was last shrunk */
    /* per row: [rows], [rows], [rows, k], [rows], [rows], [rows] */
    int32_t *tokens, *parents;
    choice *choices;
    selection *chosen;
    int64_t *n_choices;
    double *log_sum;
    int64_t *cursor;     /* [beam]: while a sentence's choices are merged */
    uint8_t *allowed;    /* [threads, V]: with a mask */
    const void **logits; /* [models] logits of the latest step, unless a reader has consumed them */
    /* for a device (choosing, tensor/graph/backend.h): inputs and results; NULL elsewhere */
    double *log_prob;
    uint32_t *line;
    int32_t *line_of;
    int64_t n_lines;
    continuation *found; /* [sentences, wanted] */
    beam_stats stats;
    arena memory; /* has all arrays */
} search;

/* The fields m, p, o, out, all must be set. */
void search_open(search *s);
void search_close(search *s);
/* Decodes sentences which[n] of p into `out`. */
int search_batch(search *s, const int64_t *which, int64_t n, err *e);
/* Decodes the sentences greedily, in blocks of o->block tokens. */
int blocks_batch(search *s, const int64_t *which, int64_t n, err *e);
/* The length penalty: log P is divided by it for the score of an output of `length` tokens, EOS counted. */
double search_penalty(const search *s, int64_t length);
/* Can sums of exponentials be skipped? */
bool search_unscored(const search *s);
/* A device selects from its logits itself: allocate memory, send its input before a step, get the result. */
void device_open_search(search *s);
int device_put(search *s, err *e);
int device_choose(search *s, const void *logits, err *e);
/* Reports n more finished sentences. */
void streams_progress(struct streams *s, int64_t n);
#endif
