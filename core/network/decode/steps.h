/* steps.h - decodes a batch of sentences step by step: encoder, caches, and hypotheses that continue others.
 *
 * Hypothesis h of sentence b is row b * beam + h. A step takes one token per row and computes the logits of the next;
 * steps_follow then sets which row each hypothesis continues. One `steps` is reused for all batches and owns its
 * memory. For a decoder-only model, source lengths are 0 and nothing is encoded.
 */
#ifndef ABLATE_STEPS_H
#define ABLATE_STEPS_H
#include "network/decode/source_values.h"
#include "network/model/model.h"
#include "text/data/dataset.h"

typedef struct { /* a tape's state (cache or carried sum), kept across the tapes of one batch */
    char *name;
    char *data;
    size_t size;    /* bytes allocated */
    size_t row;     /* bytes per row of a carried state */
    bool cache;     /* a cache of all steps, not a carried state */
    int64_t dim[4]; /* the state's shape in the tape of the latest step */
    int64_t batch;  /* the last batch that used this state */
} step_state;

typedef struct {
    model *m;
    int64_t beam, widest; /* beam: rows per sentence in the next step; widest: in later steps */
    int64_t capacity;     /* steps that a cache can hold */
    int64_t cache_rows;   /* rows that a cache can hold */
    int64_t batch;        /* sentences */
    int64_t time;         /* steps done */
    /* source side, in packed rows */
    int32_t *src_ids, *src_pos, *src_offset; /* [src_rows], [src_rows], [batch + 1] */
    int64_t src_rows;
    char *memory; /* the encoder's output, [src_rows, d_model], in the backend's memory, like the states */
    size_t memory_size;
    source_values source;
    /* Hypotheses: [R], [R, capacity], [R, capacity]; the last two are in the backend's memory. Cached rows are never
     * moved: ancestors[r, t] is the row that step t wrote for the prefix of row r. */
    int32_t *parents, *ancestors, *spare;
    bool follows;         /* steps_follow has set `parents`, but a device's `ancestors` do not yet include this step */
    ab_ctx *tape;         /* NULL: to be traced before the next step */
    bool ran;             /* the tape has run, so it has computed the sources' values */
    column_reader reader; /* takes the logits of steps_run, which then go to no memory; .columns NULL: no reader */
    workspace work;       /* memory of the current tape */
    /* Set between steps_open and steps_start, for steps_run_block: a sentence's rows are consecutive tokens, and the
     * head proposes `ahead` tokens after the next one. */
    bool block;
    int64_t ahead;
    int64_t seen; /* past steps that the tape's composed attention covers */
    int grows;    /* does a tape depend on `seen`? 1: yes; 0: no; -1: not known yet */
    err refused;  /* why a state got no memory; "" if every state did */
    step_state *state;
    size_t n_states, states_cap;
    int64_t n_batches;
    /* counted since steps_open */
    int64_t traces, rows_run;
    double encode_seconds, step_seconds;
} steps;

void steps_open(steps *s, model *m);
void steps_close(steps *s);
/* Encodes sentences which[n] of p (both NULL for a decoder-only model). capacity: maximum number of steps. */
int steps_start(steps *s, const pairs *p, const int64_t *which, int64_t n, int64_t beam, int64_t capacity, err *e);
/* Runs one step. tokens [R]: each row's previous token. Returns the logits [R, V] in the model's compute type, in the
 * backend's memory, valid until the next call with s. NULL and e on failure. */
const void *steps_run(steps *s, const int32_t *tokens, err *e);
/* Runs a step in which each row has its own time: times [R], the number of tokens before it in its sentence. The caller
 * maintains `ancestors`, which may name rows of this step, because all rows are written before any attends. Unused rows
 * have time 0. Does not run on a device. Returns NULL and e if the decoder's attention reads positions or carries more
 * than keys and values. */
const void *steps_run_block(steps *s, const int32_t *tokens, const int32_t *times, err *e);
/* Returns the logits [R, V] that the head proposed in the last step for the `by`-th token after the next token. */
const void *steps_proposal(const steps *s, int64_t by);
/* Lets the first step run with one row per sentence, because all hypotheses of a sentence are equal before their first
 * token. Call it before that step; steps_follow then returns to all rows, each a continuation of row b * beam. Does
 * nothing on a device, where a graph reads rows at fixed addresses. */
void steps_narrow(steps *s);
/* Call after a step: row r then continues row parents[r] of the same sentence. */
void steps_follow(steps *s, const int32_t *parents);
/* Drops the sentences with keep[b] false and closes the gaps. Not possible on a device, where a graph reads rows at
 * fixed addresses. */
void steps_keep(steps *s, const bool *keep);
#endif
