/* batch.h - token-budget batches of packed rows.
 *
 * A batch has whole pairs: at most batch_tokens source rows and at most batch_tokens target rows, without padding. A
 * row is one token. The source is x + EOS; the decoder reads BOS + y and predicts y + EOS. Training order: the split is
 * shuffled and cut into pools; each pool is sorted by target, then source length (alternately ascending and descending,
 * so that batches can span two pools) and cut into batches; the batches are shuffled. All of this depends only on
 * (seed, epoch), so (epoch, index) is the whole state and a resumed run sees the same batches bit for bit. A batcher
 * owns the arrays of the batch that it returns; they are valid until its next call. It borrows the pairs. For windows
 * of a text (pairs.text), every training batch draws batch_tokens / window windows at uniformly random positions that
 * depend on (seed, epoch, index). An epoch has as many batches as cover the text once. */
#ifndef ABLATE_BATCH_H
#define ABLATE_BATCH_H
#include "text/data/dataset.h"

typedef struct {
    int64_t sentences, src_longest, tgt_longest;
} batch_limits; /* upper bounds over all batches of all epochs; 0: not known */

typedef struct {
    int64_t n_sentences;
    int64_t src_rows, tgt_rows;       /* real tokens */
    int64_t predicted;                /* target rows that carry loss: all, or those with a label */
    int64_t src_cap, tgt_cap;         /* src_rows, tgt_rows rounded up to batch_options.round: the arrays' lengths */
    int64_t src_longest, tgt_longest; /* length of the longest sentence [tokens], EOS or BOS counted */
    const int32_t *src_ids;           /* [src_cap]: x + EOS; padding rows VOCAB_PAD */
    const int32_t *src_pos;           /* [src_cap]: position within the sentence, from 0; padding rows 0 */
    const int32_t *src_offset;        /* [n_sentences+1]: sentence i is rows src_offset[i] .. src_offset[i+1]-1 */
    /* [tgt_cap]: BOS + y; windows: the previous tokens; labels: the inputs; padding rows: VOCAB_PAD */
    const int32_t *tgt_in;
    const int32_t *tgt_out;    /* [tgt_cap]: y + EOS, or labels; -1 for padding rows and tokens without a label */
    const int32_t *tgt_pos;    /* [tgt_cap]: like src_pos */
    const int32_t *tgt_offset; /* [n_sentences+1] */
    const int64_t *example;    /* [n_sentences]: the pair's number in the task's split */
    int64_t epoch, index;      /* together the batch's number */
    int64_t all_src_rows, all_tgt_rows, all_predicted; /* sizes of the whole batch; this batch may be a rank's slice */
    batch_limits limits;                               /* limits over all batches of its batcher */
} batch;

typedef struct {
    int64_t batch_tokens;  /* budget of each side [tokens] */
    int64_t max_sentences; /* 0: no limit */
    int64_t round;         /* rounds rows up to a multiple of this; 0 or 1: no rounding */
    int64_t pool;          /* number of batches whose pairs are sorted together; 0 means 64 */
    uint64_t seed;
    double word_dropout; /* training: probability that a source token, except EOS, becomes VOCAB_UNK */
    /* ranks > 1: returns slice `rank` of each batch: whole pairs or windows, about equally many tokens, maybe none */
    int64_t rank, ranks;
    /* Called before an epoch's first batch, to replace the pairs' ids in place. NULL: ids stay */
    void (*renew)(void *self, int64_t epoch);
    void *self;
    bool train; /* true: shuffled, endless epochs. false: one pass, longest first */
} batch_options;

typedef struct {
    int64_t epoch, index;
} batch_state; /* the next batch; both are counted from 0 */

typedef struct batcher batcher;
/* Returns NULL and e if there is no pair or a pair exceeds the budget (e has the pair's number and lengths). For dev
 * and test use batch_tokens >= the split's longest side. */
batcher *batcher_new(const pairs *p, const batch_options *o, err *e);
void batcher_free(batcher *b);
bool batcher_next(batcher *b, batch *out);   /* false: the pass is over (never in training) */
batch_state batcher_state(const batcher *b); /* state of the next batch; stored in checkpoints */
/* Continues at this state. Returns -1 and e if the state cannot belong to these data and options. */
int batcher_seek(batcher *b, batch_state s, err *e);
int64_t batcher_count(const batcher *b); /* batches in the current epoch */
double batcher_fill(const batcher *b);   /* mean over the epoch of max(src_rows, tgt_rows) / batch_tokens */
#endif
