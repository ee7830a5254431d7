/* kinds.h - the generators of the task recall: one example at a time, as inputs and the labels of their positions. */
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
/* What one seed's examples share: weights of places, the facts of memorisation. NULL and words in err where the settings do not fit. */
recall *recall_new(const recall_config *c, uint64_t seed, char *err, size_t n_err);
void recall_free(recall *r);
/* input and label [length]; a label of -1 asks nothing. testing: fuzzy keys are all of the longest kind. */
void recall_make(const recall *r, uint64_t *random, int testing, int32_t *input, int32_t *label);

/* splitmix64 (Steele et al. 2014), and a number below n. */
uint64_t recall_next(uint64_t *state);
int64_t recall_below(uint64_t *state, int64_t n);
#endif
