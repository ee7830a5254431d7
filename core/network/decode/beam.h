/* beam.h - beam search: the most likely outputs for many sources at once.
 *
 * A sentence's hypotheses are ranked by log P(y|x) / ((5 + |y|) / 6)^alpha, EOS counted in |y| (Wu et al.
 * 2016, eq. 14; Vaswani et al. 2017, section 6.1). Every step takes the 2 * beam most likely continuations of a
 * sentence: those that end in EOS are finished hypotheses, the first `beam` of the others stay live. A sentence is
 * done when no live hypothesis can still be among the `nbest` best, or at its maximum length. Ties go to the lower
 * hypothesis, then to the lower id. Results of a sentence do not depend, bit for bit, on the other sentences in the
 * batch or on their order.
 */
#ifndef ABLATE_BEAM_H
#define ABLATE_BEAM_H
#include "text/data/dataset.h"
#include "network/model/model.h"

/* Restricts the next token (for a task's constraints). States are immutable: `advance` returns a new one. Every state
 * is passed to `release` once. Several threads may call `allowed` at the same time, on different states; only one
 * thread calls the other functions. */
typedef struct {
    void *self;
    void *(*start)(void *self, int64_t sentence); /* state before the first token; sentence: its index in `sources` */
    void *(*advance)(void *self, void *state, int32_t token);      /* state after one more token, never EOS */
    void (*allowed)(void *self, const void *state, uint8_t *mask); /* fills mask [V]: 1: allowed (EOS too); 0: not */
    void (*release)(void *self, void *state);
} decode_mask;

enum { MOST_OTHERS = 31, MOST_BLOCK = 17 };
typedef struct {
    int64_t beam_size;        /* live hypotheses per sentence; 1: greedy, the most likely token at each step */
    double length_penalty;    /* length penalty, >= 0; 0: no penalty */
    int64_t max_extra_tokens; /* maximum output length minus source length, both without EOS */
    int64_t batch;            /* maximum of sentences decoded together (fewer if memory is short); results do not depend
                               * on it. 0: 64 on the CPU, 512 on a device */
    int64_t nbest;            /* hypotheses returned per sentence, 1 .. beam */
    bool unscored;            /* skips score and log_prob, which stay 0; needs beam_size 1 */
    model *const *others;     /* [n_others] models of an ensemble with this one: mean of probabilities (CPU only) */
    int64_t n_others;
    /* > 1: greedy decoding in blocks of this many tokens (blocks.c), with equal outputs; needs beam_size 1, no others,
     * no mask, the CPU, and a head that also proposes the block - 1 tokens after the next one */
    int64_t block;
    const decode_mask *mask;                                   /* NULL: every token is allowed; borrowed */
    void (*progress)(void *self, int64_t done, int64_t total); /* done, total: sentences; may be NULL */
    void *progress_self;
} beam_options;

typedef struct {
    int32_t *ids; /* [n], without EOS; owned by the hypothesis. NULL if fewer hypotheses were found */
    int64_t n;
    double score, log_prob; /* score: with length penalty; log_prob: without; both are natural logarithms */
    bool complete;          /* ended by EOS; false: cut at the maximum length, and score is that of the n tokens */
} hypothesis;

typedef struct {
    double seconds; /* total time */
    double encode_seconds, step_seconds,
        select_seconds;        /* seconds in the encoder, in decoder steps, in choosing tokens; summed over streams */
    int64_t sentences, tokens; /* tokens of the best hypotheses, EOS counted */
    int64_t steps, rows;       /* decoder steps, and hypotheses computed in these steps */
    int64_t traces;            /* number of step tapes traced */
    int64_t blocks, accepted;  /* blockwise decoding: blocks computed; tokens accepted from these blocks, EOS counted */
} beam_stats;

void beam_stats_add(beam_stats *to, const beam_stats *more);
beam_options beam_options_of(const config *c);     /* options from the run's keys, with nbest 1 */
int64_t beam_batch(const model *m, int64_t batch); /* beam_options.batch, with 0 replaced by the default */

/* out [sources->n][nbest]: hypotheses in the order of `sources`; a source's complete hypotheses first, then by score;
 * free with hypotheses_free. A source without tokens has an empty output. Ignores the target side. stats may be NULL.
 * Returns 0, or -1 and e with nothing in out. */
int beam_search(model *m, const pairs *sources, const beam_options *o, hypothesis *out, beam_stats *stats, err *e);
void hypotheses_free(hypothesis *h, int64_t n);

/* Beam search on lines of text. *out [n * nbest]: line i's outputs start at index i * nbest, NULL where fewer were
 * found; free with decoded_free. scores [n * nbest] may be NULL. */
int decode_lines(model *m, const vocab *src, const vocab *tgt, const char *const *lines, int64_t n,
                 const beam_options *o, char ***out, double *scores, beam_stats *stats, err *e);
void decoded_free(char **text, int64_t n);
/* Refuses a line if the line or its longest possible output has more tokens than the model's positions support. Returns
 * 0 (also for a line that cannot be encoded), or -1 and e. */
int decode_check_reach(const model *m, const vocab *src, const char *line, const beam_options *o, err *e);
#endif
