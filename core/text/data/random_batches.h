/* random_batches.h - batches of random ids: sentences of given lengths, to time training and decoding without data. */
#ifndef ABLATE_RANDOM_BATCHES_H
#define ABLATE_RANDOM_BATCHES_H
#include "text/data/batch.h"

typedef struct { /* {0} is empty */
    batch *b;
    size_t n;
    int64_t sentences, src_rows, tgt_rows; /* totals over all batches */
    int64_t src_most, tgt_most;            /* rows of the largest batch */
    arena memory;
} recorded;

typedef struct { /* tokens of each sentence of a batch */
    int32_t *src, *tgt;
    int64_t n;
} sentence_lengths;

/* Adds a batch's rows and sentences to the totals. */
void recorded_count(recorded *r, const sentence_lengths *l);
/* Makes a batch of random ids below `vocab` for each of l[0] .. l[n - 1] that has sentences. src_cap, tgt_cap: length
 * of the arrays; 0: each batch's rows, rounded up to 64. The caller calls recorded_free. */
void recorded_build(recorded *r, rng *random, int64_t vocab, const sentence_lengths *l, size_t n, int64_t src_cap,
                    int64_t tgt_cap);
void recorded_free(recorded *r);

/* Makes one batch of random sentences with these lengths. The caller calls recorded_free. */
void recorded_make(recorded *r, int64_t sentences, int64_t src_length, int64_t tgt_length, int64_t vocab);
#endif
