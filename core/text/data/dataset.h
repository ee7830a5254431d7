/* dataset.h - a task's text lines as token ids, by split.
 *
 * A dataset owns its ids (one block per split) until dataset_free; it borrows the vocabularies and keeps no
 * pointer to the task. Both sides end with VOCAB_EOS.
 *
 * A decoder-only task has no source: every src_at is 0. Its pairs are lines that predict their own next tokens; or
 * windows of one text (`text` > 0), which also read the token before the window; or inputs with labels (`in`), without
 * VOCAB_EOS: a task's own labels, or lines whose first tokens are given or whose end is not predicted. */
#ifndef ABLATE_DATASET_H
#define ABLATE_DATASET_H
#include "api/ab_plugin.h"
#include "text/tokens/vocab.h"

extern const char *const split_names[AB_SPLITS]; /* train, dev, test */

typedef struct {                      /* pairs of sequences; read-only for users */
    int64_t n;                        /* pairs */
    const int32_t *src, *tgt;         /* all sequences concatenated, each with its EOS */
    const int64_t *src_at, *tgt_at;   /* [n+1]: pair i: src[src_at[i] .. src_at[i+1]), tgt[tgt_at[i] .. tgt_at[i+1]) */
    const int64_t *example;           /* [n]: the pair's number in the task's split (pairs may have been dropped) */
    int64_t src_longest, tgt_longest; /* [tokens], EOS counted */
    const int32_t
        *in; /* with labels: the input at each position of tgt (tgt has the label or -1); NULL: the previous token */
    int64_t text, window;             /* `text` tokens, tgt[0 .. text), in windows of `window` tokens; 0: no windows */
    int64_t n_documents, *documents;  /* number of windows per document of dev or test; 0 and NULL: one text */
    int64_t n_given, n_empty, n_long; /* lines given; lines dropped as empty, and as too long */
    void *block;                      /* the memory of all arrays above */
} pairs;

typedef struct {
    pairs split[AB_SPLITS]; /* AB_TRAIN, AB_DEV, AB_TEST */
} dataset;

/* Vocabularies for a task, trained on its train split and cached in folder cache_dir (NULL: no cache). kind, size: the
 * run's keys, for AB_VOCAB_SUBWORD sides; AB_VOCAB_WORDS sides have every word. shared: one vocabulary for both sides,
 * *src == *tgt, freed once. A task with `vocabs` sets kinds and shared itself. A decoder-only task gets *src = NULL.
 * Returns 0, or -1 and e. */
int dataset_vocabs(const ab_task_plugin *task, void *self, bool shared, vocab_kind kind, int64_t size, bool lowercase,
                   const char *cache_dir, vocab **src, vocab **tgt, err *e);

/* Encodes all splits. max_length [tokens, EOS counted], 0 = no limit: in train, pairs with a longer or an empty side
 * are dropped, counted and logged; dev and test keep every pair, and so does train if pairs are windows or have labels.
 * Returns -1 and e for invalid UTF-8 (with split and line), different numbers of inputs and labels, an input that is
 * not in the vocabulary, or no training pair left. On failure *d is empty. */
int dataset_build(dataset *d, const ab_task_plugin *task, void *self, const vocab *src, const vocab *tgt,
                  int64_t max_length, err *e);
/* Encodes the lines of a task's epoch in place of the split's inputs and labels. Returns -1 and e for a different
 * number of words; the ids are then undefined. Fails at once if e already has an error. */
int dataset_renew(pairs *p, const ab_task_plugin *task, void *self, const vocab *v, int64_t epoch, err *e);
void dataset_free(dataset *d);

/* Encodes n lines, for `translate`: tgt_lines NULL gives targets of EOS only. Nothing is dropped. */
int pairs_encode(pairs *p, const char *const *src_lines, const char *const *tgt_lines, int64_t n, const vocab *src,
                 const vocab *tgt, err *e);
void pairs_free(pairs *p);
#endif
