/* ab_task.h - the part of ab_plugin.h that only tasks need: data, vocabularies, constraints on decoding, the score. A plugin includes
 * ab_plugin.h, which includes this. */
#ifndef AB_TASK_H
#define AB_TASK_H
#include <stdint.h>

typedef enum { AB_TRAIN, AB_DEV, AB_TEST, AB_SPLITS } ab_split;
/* One line of UTF-8 each, NUL-terminated; borrowed until close. Of a decoder-only task src is NULL where the model reads tgt itself and
 * predicts its next token (a language model); else src and tgt are as many words, position i of src is to be answered by word i of tgt,
 * and a word of tgt that is in no vocabulary, by custom AB_NO_LABEL, asks nothing of its position. */
typedef struct { const char *src, *tgt; } ab_example;
#define AB_NO_LABEL "_"
typedef enum {                         /* how a side's text becomes ids */
    AB_VOCAB_SUBWORD = 1,              /* trained on the fly on the train split (keys vocab, vocab_size) */
    AB_VOCAB_WORDS,                    /* blank-separated symbols, every one that occurs in training */
    AB_VOCAB_CHARS,                    /* characters (code points), every one that occurs in training */
    AB_VOCAB_SYMBOLS                   /* blank-separated symbols: ab_vocabs.symbols and no other, ids AB_ID_FIRST on in that order */
} ab_vocab;
typedef enum { AB_HIGHER, AB_LOWER } ab_better;
typedef enum {                         /* how per-sentence statistics, summed over sentences, give the metric's value */
    AB_SUM_RATIO,                      /* stats: part, whole -> 100 part / whole */
    AB_SUM_BLEU,                       /* stats: sys_len, ref_len, 4 counts, 4 totals */
    AB_SUM_F1                          /* stats: matched, gold, found -> 100 * 2 matched / (gold + found) */
} ab_sum;
typedef struct {                       /* one figure of a scored set */
    char name[24], signature[160];     /* "BLEU", "nrefs:1|case:mixed|..." */
    char unit[16];                     /* of value: "%", "bits/byte"; "": none */
    ab_better better;                  /* which values are better */
    double value;
    ab_sum sum;
    int64_t n_stats;                   /* doubles a sentence (2, 10 or 3), 0 when there are none */
    const double *stats;               /* [n_sentences][n_stats]; borrowed until the next score or close */
} ab_metric;
typedef struct {                       /* what a task may ask of the host while it opens */
    const char *data_dir;              /* where corpora lie: $ABLATE_DATA, or data/ */
    int64_t seed;                      /* for data that is generated */
    int64_t no_data;                   /* 1: a trained model is used; the data need not be there: count is 0 */
} ab_env;
enum {
    AB_SHARED_VOCAB = 1,               /* one vocabulary for both sides (needed for tied embeddings) */
    AB_DECODER_ONLY = 2                /* examples have no source: the model has no encoder and no cross attention; tgt_vocab is its one
                                          vocabulary, and the trained model is scored by `score_likelihoods`, not by decoding */
};
typedef struct {                       /* what an opened task wants of vocabularies and batches */
    uint32_t flags;                    /* AB_SHARED_VOCAB, or 0 */
    ab_vocab src, tgt;
    const char *const *symbols;        /* [n_symbols] words of its lines, each one token whole, whatever the kind of vocabulary; */
    int64_t n_symbols;                 /* they must occur in the lines. Borrowed until close */
    int64_t window;                    /* 0; or, of a decoder-only task with src NULL: all lines of a split, each with its end, are one
                                          text, read in windows of so many tokens: at random places of train, one after the other of
                                          dev and test, where windows are the examples then */
} ab_vocabs;
typedef struct {                       /* what a model makes of one example, given the true tokens before each */
    double log_likelihood;             /* natural logarithm, summed over its target tokens (labels) */
    int64_t tokens, right;             /* target tokens, the end counted where there is one; those that the model finds likeliest */
} ab_likelihood;
enum { AB_ID_PAD, AB_ID_UNKNOWN, AB_ID_START, AB_ID_END, AB_ID_FIRST };     /* the ids before the first real token */
typedef struct {
    uint32_t flags;
    ab_vocab src_vocab, tgt_vocab;
    /* Reads or makes the data. Returns 0, or -1 and a message in err (file, line, what was found and expected). */
    int (*open)(void **self, const void *cfg, const ab_host *host, const ab_env *env, char *err, size_t n);
    int64_t (*count)(void *self, ab_split split);
    void (*get)(void *self, ab_split split, int64_t i, ab_example *out);
    /* hyp[i] is the decoded line for example i of the split. Fills up to max metrics; returns how many, or -1 and err.
     * The first one is the task's headline figure. */
    int (*score)(void *self, ab_split split, const char *const *hyp, int64_t n, ab_metric *out, int max, char *err, size_t n_err);
    void (*close)(void *self);
    /* Each of the following may be NULL. */
    /* Vocabularies that depend on the settings: changes *v, which holds what flags, src_vocab and tgt_vocab say. */
    void (*vocabs)(void *self, ab_vocabs *v);
    /* Constraints on decoding: the five below, all or none. `vocabulary` tells the target side's tokens (a blank in a subword is
     * U+2581) before any `start`. It returns 1: every output is to be constrained; 0: only those that `accepts` refuses; or -1
     * and err. A state is a value: `advance` makes a new one and leaves the old one as it is; every state is given to `release`
     * once. `allowed` may be called by several threads at a time, on different states; the others by one. */
    int (*vocabulary)(void *self, const char *const *tokens, int64_t n, char *err, size_t n_err);
    /* src: the source line; ids [n]: its tokens, without the end; most: tokens that an output may have, without the end. */
    void *(*start)(void *self, const char *src, const int32_t *ids, int64_t n, int64_t most);
    void *(*advance)(void *self, void *state, int32_t token);      /* one token more, never AB_ID_END */
    void (*allowed)(void *self, const void *state, uint8_t *mask); /* mask [tokens]: 1 may follow (AB_ID_END too), 0 not */
    void (*release)(void *self, void *state);
    /* 1: the output is a well-formed one for the source line. Of an unconstrained search the host takes the best hypothesis that
     * is, else searches again under the constraints. NULL: every output is. */
    int (*accepts)(void *self, const char *src, const char *output);
    /* Using a trained model (`ablate parse`). Texts are borrowed until the next call of the same function.
     * prepare: the source line for a line that was typed in. present: what is shown of the output for it. */
    const char *(*encode_input)(void *self, const char *typed);
    const char *(*format_output)(void *self, const char *typed, const char *output);
    /* May be NULL. The line that scorers of the field take for example i (a tree in brackets): for the decoded line
     * `output`, or for the reference where that is NULL. Borrowed until the next call. NULL: the lines are such as they are. */
    const char *(*reference_line)(void *self, ab_split split, int64_t i, const char *output);
    /* As `score`, from the likelihoods of the split's n examples (windows, where the task has a window). Required of decoder-only
     * tasks, whose `score` may be NULL; called for test, or for dev where test has no example, or for both (decode_split = both). */
    int (*score_likelihoods)(void *self, ab_split split, const ab_likelihood *x, int64_t n, ab_metric *out, int max, char *err, size_t n_err);
} ab_task_plugin;
#endif
