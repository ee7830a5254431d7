/* dataset.h - a task's text lines as token ids, split by split.
 *
 * A dataset owns its ids (one block a split) until dataset_free; it borrows the vocabularies and keeps no
 * pointer to the task. Both sides end with VOCAB_EOS.
 *
 * Of a decoder-only task there is no source: every src_at is 0. Its pairs are lines that predict themselves; or windows of one text
 * (`text` > 0), in which the token before a window's first one is read too; or inputs with labels (`in`), without VOCAB_EOS.
 */
#ifndef ABLATE_DATASET_H
#define ABLATE_DATASET_H
#include "api/ab_plugin.h"
#include "text/vocab.h"

typedef struct {                    /* pairs of sequences; everything is read-only for users */
    int64_t n;                      /* pairs */
    const int32_t *src, *tgt;       /* all sequences one after the other, each with its EOS */
    const int64_t *src_at, *tgt_at; /* [n+1]: pair i is src[src_at[i] .. src_at[i+1]), the same for tgt */
    const int64_t *example; /* [n]: the pair's number in the task's split (pairs may have been dropped) */
    int64_t src_longest, tgt_longest; /* [tokens], EOS counted */
    const int32_t *
        in; /* labels: what is read at each place of tgt, which holds the label or -1; NULL: the token before */
    int64_t text, window; /* windows of `window` tokens of a text of so many, tgt[0 .. text); 0: none */
    int64_t n_given, n_empty, n_long; /* lines given; dropped as empty, as too long */
    void *block;                      /* the memory of all arrays above */
} pairs;

typedef struct {
    pairs split[AB_SPLITS]; /* AB_TRAIN, AB_DEV, AB_TEST */
} dataset;

/* Vocabularies for a task: trained on its train split, through the cache in folder cache_dir (NULL: none).
 * kind, size: the run's keys for AB_VOCAB_SUBWORD sides; AB_VOCAB_WORDS sides take every word. shared: one
 * vocabulary for both sides, then *src == *tgt: free it once. A task with `vocabs` says kinds and shared
 * itself; a decoder-only one has *src = NULL. 0, or -1 and e. */
int dataset_vocabs(const ab_task_plugin *task, void *self, bool shared, vocab_kind kind, int64_t size,
                   bool lowercase, const char *cache_dir, vocab **src, vocab **tgt, err *e);

/* Encode all splits. max_length [tokens, EOS counted], 0 = none: in train, pairs with a longer or an empty
 * side are dropped, counted and logged; dev and test keep every pair, and so does train where pairs are windows or have labels. -1
 * and e: invalid UTF-8 (split and line named), other numbers of inputs and labels, an input that is not in the vocabulary, no training
 * pair left. On failure *d is empty. */
int dataset_build(dataset *d, const ab_task_plugin *task, void *self, const vocab *src, const vocab *tgt,
                  int64_t max_length, err *e);
void dataset_free(dataset *d);

/* Encode n lines on their own, for `translate`: tgt_lines NULL gives targets of EOS only. Nothing is dropped.
 */
int pairs_encode(pairs *p, const char *const *src_lines, const char *const *tgt_lines, int64_t n,
                 const vocab *src, const vocab *tgt, err *e);
void pairs_free(pairs *p);
#endif
