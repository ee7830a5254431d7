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

/* Reads a file of lengths, a batch per line: "12:14 9:11", source and target tokens of each sentence. Ids are random
 * below `vocab`; empty batches are skipped. one_capacity: the arrays of all batches are as long as those of the largest
 * (or `tokens` if not 0), as devices require; else each batch's length is rounded up to 64. Returns 0, or -1 and a
 * message with the line number. Call recorded_free in either case. */
int recorded_read(recorded *r, const char *path, int64_t seed, int64_t tokens, int64_t vocab, bool one_capacity,
                  err *e);
void recorded_free(recorded *r);

/* Makes one batch of random sentences with these lengths. The caller calls recorded_free. */
void recorded_make(recorded *r, int64_t sentences, int64_t src_length, int64_t tgt_length, int64_t vocab);
#endif
