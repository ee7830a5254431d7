/* search.h - one stream of beam search: decodes one batch of sentences after another on its own threads. */
#ifndef ABLATE_SEARCH_H
#define ABLATE_SEARCH_H
#include "network/decode/beam.h"
#include "network/decode/select.h"
#include "network/decode/steps.h"

typedef struct { /* the prefix of an output */
    double log_prob;
    int32_t *ids; /* [tokens so far]; room for `limit` tokens */
    void *state;  /* the mask's state; NULL without a mask */
} prefix;

typedef struct {
    int64_t index;       /* index in the sources */
    int64_t limit;       /* maximum length of an output, without EOS */
    prefix *live, *next; /* live: prefixes; next: their continuations; [beam] each, most likely first */
    int64_t n_live, n_next;
    hypothesis *best; /* [nbest] finished hypotheses, best first; owned by the caller */
    int64_t n_best;
    bool over;
} sentence;

struct streams;
struct search;
typedef struct { /* probabilities computed by one model of an ensemble */
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
    steps *others;     /* [o->n_others]: steps of an ensemble's other models */
    member *members;   /* [1 + o->n_others]: an ensemble's models; NULL: only one model */
    int64_t wanted, k; /* continuations considered: wanted: per sentence; k: per row */
    sentence **at;     /* [n_at]: unfinished sentences of the current batch */
    int64_t n_at;
    int64_t idle; /* steps wasted on finished sentences since the batch last shrank */
    /* for each row: choices [rows, k], the other arrays [rows] */
    int32_t *tokens, *parents;
    choice *choices;
    selection *chosen;
    int64_t *n_choices;
    double *log_sum;
    int64_t *cursor;     /* [beam]: next choice of each row while a sentence's choices are merged */
    uint8_t *allowed;    /* [threads, V]: with a mask */
    const void **logits; /* [models] logits of the latest step, without the columns that a reader has consumed */
    /* inputs and results of selection on a device (choosing, tensor/graph/backend.h); NULL on the CPU */
    double *log_prob;
    uint32_t *line;
    int32_t *line_of;
    int64_t n_lines;
    continuation *found; /* [sentences, wanted] */
    beam_stats stats;
    arena memory; /* owns all arrays */
} search;

/* Set the fields m, p, o, `all` and `out` before the call. */
void search_open(search *s);
void search_close(search *s);
/* Decodes sentences which[n] of p into `out`. */
int search_batch(search *s, const int64_t *which, int64_t n, err *e);
/* Decodes the sentences greedily in blocks of o->block tokens (blocks.c). */
int blocks_batch(search *s, const int64_t *which, int64_t n, err *e);
/* The length penalty of an output of `length` tokens, EOS counted: score = log P / penalty. */
double search_penalty(const search *s, int64_t length);
/* Can the sums of exponentials be skipped, because no score is wanted? */
bool search_unscored(const search *s);
/* Functions of selection on a device: one allocates memory, one sends a step's input, one reads the result. */
void device_open_search(search *s);
int device_put(search *s, err *e);
int device_choose(search *s, const void *logits, err *e);
/* Adds n finished sentences to the progress. */
void streams_progress(struct streams *s, int64_t n);
#endif
