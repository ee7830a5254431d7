/* kinds.h - the generators of the task recall; each makes an example: inputs, and a label per position. */
#ifndef RECALL_KINDS_H
#define RECALL_KINDS_H
#include <stddef.h>
#include <stdint.h>

enum { MQAR, INDUCTION, SELECTIVE_COPY, FUZZY, NOISY, COMPRESSION, MEMORISATION, KINDS };

typedef struct {
    int64_t kind, vocab, length, pairs, copies, motif, noise_vocab, random_filler;
    double power, noise;
} recall_config;

typedef struct recall recall;
/* Makes what all examples of a seed share: weights of positions, the facts of memorisation. Returns NULL and a message
 * in err if the settings do not fit. */
recall *recall_new(const recall_config *c, uint64_t seed, char *err, size_t n_err);
void recall_free(recall *r);
/* Fills input and label [length]; label -1: no label. testing: all fuzzy keys have the longest length. */
void recall_make(const recall *r, uint64_t *random, int testing, int32_t *input, int32_t *label);
#endif
