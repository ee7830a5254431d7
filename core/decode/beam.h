/* beam.h - beam search: the most likely outputs for many sources at once.
 *
 * A sentence's hypotheses are ranked by log P(y|x) / ((5 + |y|) / 6)^alpha, EOS counted in |y| (Wu et al.
 * 2016, eq. 14; Vaswani et al. 2017, section 6.1). At every step the 2 * beam most likely continuations of a
 * sentence are looked at: those that end in EOS are finished hypotheses, the first `beam` of the others live
 * on. A sentence is over when no live hypothesis could still be among the `nbest` best, or at its longest.
 * Equal probabilities: the lower hypothesis, then the lower id. What is found for a sentence does not depend,
 * bit for bit, on the sentences decoded beside it or on their order.
 */
#ifndef ABLATE_BEAM_H
#define ABLATE_BEAM_H
#include "data/dataset.h"
#include "model/model.h"

/* What a task allows as the next token. A state is a value: `advance` makes a new one and leaves the old one
 * as it is; every state given out is given back to `release` once. `allowed` may be called by several threads
 * at a time, on different states; the others by one. */
typedef struct {
    void *self;
    void *(*start)(void *self,
                   int64_t sentence); /* before the first token; sentence: its place in `sources` */
    void *(*advance)(void *self, void *state, int32_t token); /* after one more token, never EOS */
    void (*allowed)(void *self, const void *state,
                    uint8_t *mask); /* mask [V]: 1 may follow (EOS too), 0 not */
    void (*release)(void *self, void *state);
} decode_mask;

enum { MOST_OTHERS = 31 };
typedef struct {
    int64_t beam;      /* live hypotheses a sentence; 1: greedy, the likeliest token at each step */
    double alpha;      /* length penalty, >= 0; 0: none */
    int64_t max_extra; /* at most so many tokens more than the source, EOS counted on neither side */
    int64_t batch;     /* sentences decoded together, at most; fewer when memory would not do. 0: 64 on the CPU, 512 on a
                          device. Results do not depend on it */
    int64_t nbest;     /* hypotheses returned a sentence, 1 .. beam */
    model *const *
        others; /* [n_others] decoded together with the model as an ensemble: the mean of their probabilities (CPU) */
    int64_t n_others;
    const decode_mask *mask; /* NULL: every token may follow every other. Borrowed */
    void (*progress)(void *self, int64_t done, int64_t total); /* sentences; may be NULL */
    void *progress_self;
} beam_options;

typedef struct {
    int32_t *ids; /* [n], without EOS; owned by the hypothesis. NULL: fewer hypotheses were found */
    int64_t n;
    double score, log_prob; /* with and without the length penalty; natural logarithms */
    bool complete;          /* ended by EOS; false: cut at the longest, its score is that of the n tokens */
} hypothesis;

typedef struct {
    double seconds; /* in all */
    double encode_seconds, step_seconds,
        select_seconds;        /* in the encoder, decoder steps, choosing tokens: of all streams, summed */
    int64_t sentences, tokens; /* tokens of the best hypotheses, EOS counted */
    int64_t steps, rows;       /* decoder steps, and hypotheses computed in them */
    int64_t traces;            /* step tapes made */
} beam_stats;

beam_options beam_options_of(const config *c); /* the run's keys; nbest 1 */
int64_t beam_batch(const model *m, int64_t batch); /* as beam_options have it, but never 0 */

/* out [sources->n][nbest]: hypotheses in the order of `sources`, complete ones first, the best first; freed
 * by hypotheses_free. A source without tokens has the empty output. Only the source side is read. stats may
 * be NULL. 0, or -1 and e; then out holds nothing. */
int beam_search(model *m, const pairs *sources, const beam_options *o, hypothesis *out, beam_stats *stats,
                err *e);
void hypotheses_free(hypothesis *h, int64_t n);

/* The same from text to text. *out [n * nbest]: line i's hypotheses from place i * nbest on, NULL where fewer
 * were found; freed by decoded_free. scores [n * nbest] may be NULL. */
int decode_lines(model *m, const vocab *src, const vocab *tgt, const char *const *lines, int64_t n,
                 const beam_options *o, char ***out, double *scores, beam_stats *stats, err *e);
void decoded_free(char **text, int64_t n);
/* Refuses a line which, or of which the longest output that may be tried, has more tokens than the model's
 * positions reach. 0 (of a line that cannot be encoded, too), or -1 and words. */
int decode_check_reach(const model *m, const vocab *src, const char *line, const beam_options *o, err *e);
#endif
