/* steps.h - a batch of sentences decoded step by step: encoder, caches, and which row goes on from which.
 *
 * Sentence b's hypothesis h is row b * beam + h. A step gives every row one token and leaves the logits of
 * the next; steps_follow then says which row each hypothesis continues. One `steps` serves batch after batch;
 * it owns its memory. A decoder-only model has no sources: their lengths are then 0, and nothing is encoded.
 */
#ifndef ABLATE_STEPS_H
#define ABLATE_STEPS_H
#include "data/dataset.h"
#include "model/model.h"

typedef struct { /* a tape's state, kept from tape to tape of one batch */
    char *name;
    char *data;
    size_t size; /* bytes at hand */
    size_t row,
        step; /* bytes of one row; of one step in a row (0: the state is not a cache but carried along) */
    int64_t batch; /* number of the batch it was last used in */
} step_state;

typedef struct {
    model *m;
    int64_t beam, capacity; /* rows a sentence; steps a cache holds */
    int64_t batch;          /* sentences */
    int64_t time;           /* steps done */
    /* source side, packed */
    int32_t *src_ids, *src_pos, *src_offset; /* [src_rows], [src_rows], [batch + 1] */
    int64_t src_rows;
    char *memory; /* the encoder's output, [src_rows, d_model], in the backend's memory as the states are */
    size_t memory_size;
    /* hypotheses */
    int32_t *parents, *ancestors, *spare; /* [R], [R, capacity], [R, capacity]; the latter two, and `sent`, in the backend's memory */
    int32_t *sent;                        /* a device's copy of `parents`; NULL elsewhere */
    bool follows;                         /* rows go on from others, which `ancestors` on a device do not know yet */
    ab_ctx *tape;                         /* NULL: to be traced before the next step */
    workspace work;                       /* of whichever tape is alive */
    int64_t seen;                         /* what the tape was traced for */
    int grows;                            /* does a tape depend on `seen`? 1 yes, 0 no, -1 not known yet */
    step_state *state;
    size_t n_states, states_cap;
    int64_t n_batches;
    /* since steps_open */
    int64_t traces, rows_run;
    double encode_seconds, step_seconds;
} steps;

void steps_open(steps *s, model *m);
void steps_close(steps *s);
/* Encodes sentences which[n] of p (both NULL of a decoder-only model). capacity: most steps that will follow. */
int steps_start(steps *s, const pairs *p, const int64_t *which, int64_t n, int64_t beam, int64_t capacity,
                err *e);
/* One step: tokens [R] are each row's token before. The logits are then [R, V] of the model's compute type, in the backend's memory,
 * valid until the next call that takes s. NULL and e on failure. */
const void *steps_run(steps *s, const int32_t *tokens, err *e);
/* After a step: row r goes on from row parents[r] of the same sentence. */
void steps_follow(steps *s, const int32_t *parents);
/* Drops the sentences with keep[b] false; the others move up. Not on a device, where rows stay where a graph reads them. */
void steps_keep(steps *s, const bool *keep);
#endif
