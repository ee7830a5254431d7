/* ab_task.h - the part of ab_plugin.h that only tasks need: data, vocabularies, constraints on decoding, the score. A
 * plugin includes ab_plugin.h, which includes this. */
#ifndef AB_TASK_H
#define AB_TASK_H
#include <stdint.h>

typedef enum { AB_TRAIN, AB_DEV, AB_TEST, AB_SPLITS } ab_split;
/* One line of UTF-8 each, NUL-terminated; borrowed until close. For a decoder-only task there are two forms. src NULL:
 * the model reads tgt and predicts its next token (a language model). Otherwise src and tgt have equally many words,
 * and word i of tgt is the answer at position i of src. A word outside every vocabulary, by convention AB_NO_LABEL,
 * means that the position has no answer. */
typedef struct {
    const char *src, *tgt;
} ab_example;
#define AB_NO_LABEL "_"
typedef enum {                       /* how a side's text becomes ids */
               AB_VOCAB_SUBWORD = 1, /* trained on the fly on the train split (keys vocab, vocab_size) */
               AB_VOCAB_WORDS,       /* blank-separated symbols: all that occur in training */
               AB_VOCAB_CHARS,       /* characters (code points): all that occur in training */
               /* blank-separated symbols: exactly ab_vocabs.symbols, with ids from AB_ID_FIRST in that order */
               AB_VOCAB_SYMBOLS
} ab_vocab;
typedef enum { AB_HIGHER, AB_LOWER } ab_better;
typedef enum {
    /* how to compute the metric's value from per-sentence statistics, summed over sentences */
    AB_SUM_RATIO, /* stats: part, whole -> 100 part / whole */
    AB_SUM_BLEU,  /* stats: sys_len, ref_len, 4 counts, 4 totals */
    AB_SUM_F1,    /* stats: matched, gold, found -> 100 * 2 matched / (gold + found) */
    /* stats: negative log-likelihood, tokens -> exp(nll / tokens); compared as logarithms, in percent */
    AB_SUM_PERPLEXITY
} ab_sum;
typedef struct {                   /* one metric of a scored set */
    char name[24], signature[160]; /* "BLEU", "nrefs:1|case:mixed|..." */
    char unit[16];                 /* unit of value: "%", "bits/byte"; "": no unit */
    ab_better better;              /* whether larger or smaller values are better */
    double value;
    ab_sum sum;
    int64_t n_stats;     /* statistics per sentence (2, 10 or 3); 0: no statistics */
    const double *stats; /* [n_sentences][n_stats]; borrowed until the next score or close */
} ab_metric;
typedef struct {          /* the host's data for opening a task */
    const char *data_dir; /* folder of the corpora: $ABLATE_DATA, or data/ */
    int64_t seed;         /* for generated data */
    int64_t no_data;      /* 1: opened only to use a trained model: read no data; count is 0 */
} ab_env;
enum {
    AB_SHARED_VOCAB = 1, /* one vocabulary for both sides (required for tied embeddings) */
    /* examples have no source: the model has no encoder and no cross-attention, tgt_vocab is its only vocabulary, and
     * `score_likelihoods` scores the trained model without decoding */
    AB_DECODER_ONLY = 2,
    /* 2.7, with AB_DECODER_ONLY: every position sees its whole line, as in an encoder (role AB_SELF). Examples have src
     * and tgt */
    AB_BIDIRECTIONAL = 4
};
typedef struct {    /* the vocabularies and batches that an opened task requests */
    uint32_t flags; /* AB_SHARED_VOCAB, or 0 */
    ab_vocab src, tgt;
    /* [n_symbols] words that stay one token each, in every kind of vocabulary; all must occur in */
    const char *const *symbols;
    int64_t n_symbols; /* the task's lines. Borrowed until close */
    /* 0, or the tokens of a window, for a decoder-only task with src NULL: a split's lines, each with its end token,
     * form one text. Train reads windows at random places, dev and test read consecutive ones, which are then the
     * examples */
    int64_t window;
    /* 2.6 For a decoder-only task with src NULL and no window. given: tokens at the start of each line that are not
     * predicted: no loss, no score. endless 1: no end is predicted, because all lines have the same number of tokens */
    int64_t given, endless;
    /* 2.6 With window: numbers of lines of the documents of a split, in order; their sum is the split's lines. Windows
     * of dev and test end where their document ends, and intervals are over documents. n_documents 0: the split is one
     * text. Borrowed until close */
    const int64_t *documents[AB_SPLITS];
    int64_t n_documents[AB_SPLITS];
} ab_vocabs;
typedef struct {           /* a model's prediction of one example, given the true previous tokens */
    double log_likelihood; /* natural logarithm, summed over the example's target tokens (labels) */
    /* tokens: target tokens, with the end if there is one; right: those that the model finds likeliest */
    int64_t tokens, right;
} ab_likelihood;
enum { AB_ID_PAD, AB_ID_UNKNOWN, AB_ID_START, AB_ID_END, AB_ID_FIRST }; /* the ids before the first real token */
typedef struct {
    uint32_t flags;
    ab_vocab src_vocab, tgt_vocab;
    /* Reads or generates the data. Returns 0, or -1 and a message in err (file, line, what was found and expected).
     * With 0, err may hold a line about the data, such as which part was split off: it is printed once and recorded
     * with the run. */
    int (*open)(void **self, const void *cfg, const ab_host *host, const ab_env *env, char *err, size_t n);
    int64_t (*count)(void *self, ab_split split);
    void (*get)(void *self, ab_split split, int64_t i, ab_example *out);
    /* hyp[i] is the decoded line for example i of the split. Fills up to max metrics and returns their number, or -1
     * and err. The first is the task's headline metric. */
    int (*score)(void *self, ab_split split, const char *const *hyp, int64_t n, ab_metric *out, int max, char *err,
                 size_t n_err);
    void (*close)(void *self);
    /* Each of the following may be NULL. */
    /* Vocabularies that depend on the settings: changes *v, which initially holds flags, src_vocab and tgt_vocab. */
    void (*vocabs)(void *self, ab_vocabs *v);
    /* Constraints on decoding: the next five functions, all or none. `vocabulary` passes the target side's tokens,
     * borrowed during the call (a blank in a subword is U+2581), before any `start`. It returns 1: constrain every
     * output; 0: only those that `accepts` rejects; or -1 and err. A state is immutable: `advance` makes a new one and
     * leaves the old one unchanged; every state is passed to `release` once. `allowed` may be called by several threads
     * at a time, on different states; the others by one thread. */
    int (*vocabulary)(void *self, const char *const *tokens, int64_t n, char *err, size_t n_err);
    /* src: the source line; ids [n]: its tokens, without the end; most: maximum tokens of an output, without the
     * end. */
    void *(*start)(void *self, const char *src, const int32_t *ids, int64_t n, int64_t most);
    void *(*advance)(void *self, void *state, int32_t token); /* appends a token, never AB_ID_END */
    /* mask [tokens]: 1 if the token may follow (also AB_ID_END), else 0 */
    void (*allowed)(void *self, const void *state, uint8_t *mask);
    void (*release)(void *self, void *state);
    /* 1: the output is well-formed for the source line. From an unconstrained search the host takes the best
     * well-formed hypothesis; if there is none, it searches again with the constraints. NULL: every output is
     * well-formed. */
    int (*accepts)(void *self, const char *src, const char *output);
    /* Using a trained model (`ablate parse`). Texts are borrowed until the next call of the same function.
     * encode_input returns the source line for a typed line, format_output the text to print for the model's output. */
    const char *(*encode_input)(void *self, const char *typed);
    const char *(*format_output)(void *self, const char *typed, const char *output);
    /* The line of example i in the format of the field's scorers (a tree in brackets): for the decoded line
     * `output`, or for the reference if output is NULL. Borrowed until the next call. NULL: lines are used
     * unchanged. */
    const char *(*reference_line)(void *self, ab_split split, int64_t i, const char *output);
    /* Like `score`, from the likelihoods of the split's n examples (or windows). Required for decoder-only tasks, whose
     * `score` may be NULL. Called for test, for dev if test is empty, or for both (decode_split = dev+test). */
    int (*score_likelihoods)(void *self, ab_split split, const ab_likelihood *x, int64_t n, ab_metric *out, int max,
                             char *err, size_t n_err);
    /* 2.7: training example i as it is in epoch 0, 1, ... (fresh masks), for a task whose examples have labels (src);
     * as many words as from `get`. Depends on its arguments only. The lines are borrowed until the next call */
    void (*get_epoch)(void *self, int64_t i, int64_t epoch, ab_example *out);
} ab_task_plugin;

/* ---- corpus scores that the host computes for tasks ---- */

typedef struct {
    double value;
    char signature[160];
    const double *stats; /* [n][10], owned by the host until the next call */
} ab_bleu;

typedef struct {
    /* bracketing F1 as EVALB computes it with COLLINS.prm (PTB brackets, one tree per line) */
    double f1, strict_f1;    /* strict: gold brackets of errors and skips count as missed */
    int64_t errors, skipped; /* errors: no tree, or wrong words; skipped: no words that EVALB counts */
    /* The arrays are owned by the host until the next call. */
    const double *stats;  /* [n][3] for AB_SUM_F1: matched, gold, found; 0 for errors and skips */
    const double *strict; /* [n][3] as above, but gold is always counted */
    /* [n][2] for AB_SUM_RATIO: 1 if every bracket matches; 1 if the sentence counts (no error, no skip) */
    const double *complete;
} ab_f1;
#endif
