/* batch.h - token-budget batches of packed rows.
 *
 * A batch holds whole pairs: at most batch_tokens source rows and at most batch_tokens target rows, no
 * padding. Each row is one token. The source is x + EOS; the decoder reads BOS + y and predicts y + EOS.
 * Training order: the split is shuffled, cut into pools, each pool sorted by target then source length
 * (alternately up and down, so that cutting runs on over the joints), cut into batches, and the batches
 * shuffled. All of it follows from (seed, epoch), so that (epoch, index) is the whole state: a resumed run
 * sees the same batches bit for bit. A batcher owns every array of the batch it gives; they are valid until
 * its next call. It borrows the pairs.
 * Windows of a text (pairs.text) are drawn anew for every training batch: batch_tokens / window of them at uniformly random places,
 * which follow from (seed, epoch, index); an epoch is as many batches as the text has tokens for.
 */
#ifndef ABLATE_BATCH_H
#define ABLATE_BATCH_H
#include "data/dataset.h"

typedef struct {
    int64_t sentences, src_longest, tgt_longest;
} batch_limits; /* what no batch has more of; 0: not known */

typedef struct {
    int64_t n_sentences;
    int64_t src_rows, tgt_rows; /* real tokens */
    int64_t predicted;          /* target rows that carry loss: all, or those with a label */
    int64_t src_cap, tgt_cap; /* src_rows, tgt_rows rounded up to batch_options.round: the arrays' lengths */
    int64_t src_longest, tgt_longest; /* longest sentence [tokens], EOS or BOS counted */
    const int32_t *src_ids;           /* [src_cap]: x + EOS; dummies VOCAB_PAD */
    const int32_t *src_pos;           /* [src_cap]: position within the sentence, from 0; dummies 0 */
    const int32_t *src_offset; /* [n_sentences+1]: sentence i is rows src_offset[i] .. src_offset[i+1]-1 */
    const int32_t *tgt_in;     /* [tgt_cap]: BOS + y (a window: what is before it, a label: its input); dummies VOCAB_PAD */
    const int32_t *tgt_out;    /* [tgt_cap]: y + EOS, or labels; dummies and what has no label -1 */
    const int32_t *tgt_pos;    /* [tgt_cap]: as src_pos */
    const int32_t *tgt_offset; /* [n_sentences+1] */
    const int64_t *example;    /* [n_sentences]: the pair's number in the task's split */
    int64_t epoch, index;      /* which batch this is */
    int64_t all_src_rows, all_tgt_rows, all_predicted; /* of the whole batch, of which this may be a rank's slice */
    batch_limits limits;       /* of all batches of its batcher */
} batch;

typedef struct {
    int64_t batch_tokens;  /* budget of each side [tokens] */
    int64_t max_sentences; /* 0 = no limit */
    int64_t round;         /* rows are rounded up to a multiple of this; 0 or 1: not at all */
    int64_t pool;          /* pairs sorted together, in batches' worth; 0 = 64 */
    uint64_t seed;
    double word_dropout; /* training: probability that a source token, EOS apart, is shown as VOCAB_UNK */
    int64_t rank, ranks; /* 0 or 1 ranks: whole batches; else slice `rank` of each: whole pairs or windows, of about equal tokens; it may have none */
    bool train; /* true: shuffled, epoch after epoch without end. false: one pass, longest first */
} batch_options;

typedef struct {
    int64_t epoch, index;
} batch_state; /* the next batch: both count from 0 */

typedef struct batcher batcher;
/* NULL and e when there is no pair, or a pair alone is over the budget (its number and lengths named).
 * For dev and test take batch_tokens >= the split's longest side. */
batcher *batcher_new(const pairs *p, const batch_options *o, err *e);
void batcher_free(batcher *b);
bool batcher_next(batcher *b, batch *out);   /* false: the pass is over (never in training) */
void batcher_rewind(batcher *b);             /* to (0, 0) */
batch_state batcher_state(const batcher *b); /* of the batch that comes next: goes into a checkpoint */
/* -1 and e when the state cannot be of this data and these options. */
int batcher_seek(batcher *b, batch_state s, err *e);
/* Of any batch in any epoch: the longest sentence of each side, and as many sentences as the shortest of either side would fill a
 * batch with. That many need not come together, for their other sides may be longer. */
batch_limits batcher_limits(const batcher *b);
int64_t batcher_count(const batcher *b); /* batches in the present epoch */
double batcher_fill(const batcher *b);   /* mean over the epoch of max(src_rows, tgt_rows) / batch_tokens */
#endif
