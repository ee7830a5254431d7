/* lines.h - for tasks that generate examples: lines of text, numbers as symbols, ratios as scores. */
#ifndef ABLATE_TASKS_LINES_H
#define ABLATE_TASKS_LINES_H
#include "ab_plugin.h"
#include "tasks/memory.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {       /* a split */
    char **src, **tgt; /* [n] lines, each allocated separately */
    int64_t n;
} lines;

/* Makes room for n more examples. */
static inline void lines_reserve(lines *x, int64_t n)
{
    size_t bytes = (size_t)(x->n + n) * sizeof(char *) + 1;
    x->src = (char **)need(realloc(x->src, bytes));
    x->tgt = (char **)need(realloc(x->tgt, bytes));
}

/* Adds an example and takes ownership of its lines. Call lines_reserve first. */
static inline void lines_add(lines *x, char *src, char *tgt)
{
    x->src[x->n] = src;
    x->tgt[x->n++] = tgt;
}

/* A task whose examples are lines in memory. The struct of such a task begins with this struct. */
typedef struct {
    lines split[AB_SPLITS];
    char **symbol; /* [n_symbols] the vocabulary, each symbol allocated separately; NULL: no vocabulary */
    int64_t n_symbols;
    double *stats; /* statistics of the last scores */
} lines_task;

static inline void lines_close(void *self)
{
    lines_task *t = (lines_task *)self;
    for (int s = 0; s < AB_SPLITS; s++) {
        for (int64_t i = 0; i < t->split[s].n; i++) free(t->split[s].src[i]), free(t->split[s].tgt[i]);
        free(t->split[s].src);
        free(t->split[s].tgt);
    }
    for (int64_t i = 0; i < t->n_symbols; i++) free(t->symbol[i]);
    free(t->symbol);
    free(t->stats);
    free(t);
}

static inline int64_t lines_count(void *self, ab_split s) { return ((lines_task *)self)->split[s].n; }
static inline void lines_get(void *self, ab_split s, int64_t i, ab_example *out)
{
    const lines *x = &((lines_task *)self)->split[s];
    *out = (ab_example){x->src[i], x->tgt[i]};
}
static inline void lines_vocabs(void *self, ab_vocabs *v)
{
    const lines_task *t = (lines_task *)self;
    v->symbols = (const char *const *)t->symbol, v->n_symbols = t->n_symbols;
}
/* A decoder-only task over symbols, with the examples above. The task supplies open, vocabs and score_likelihoods. */
#define LINES_TASK(open_, vocabs_, score_)                                                                             \
    {                                                                                                                  \
        .flags = AB_DECODER_ONLY, .tgt_vocab = AB_VOCAB_SYMBOLS, .open = open_, .count = lines_count,                  \
        .get = lines_get, .close = lines_close, .vocabs = vocabs_, .score_likelihoods = score_                         \
    }

/* data_seed, or if it is "run" the run's seed, times 1000: each split adds its number, so splits do not affect each
 * other. */
static inline uint64_t lines_seed(int64_t data_seed, const ab_env *env)
{
    return (uint64_t)(data_seed < 0 ? env->seed : data_seed) * 1000;
}

/* Returns the words "0" .. "n - 1" in an array with `more` free elements. The caller frees each word and the array. */
static inline char **number_words(int64_t n, int64_t more)
{
    enum { DIGITS = 21 };
    char **word = (char **)need(calloc((size_t)(n + more), sizeof *word));
    for (int64_t i = 0; i < n; i++) {
        word[i] = (char *)need(malloc(DIGITS));
        snprintf(word[i], DIGITS, "%lld", (long long)i);
    }
    return word;
}

/* Returns the size of a text of n lines, line ends included. */
static inline double lines_bytes(char **line, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)strlen(line[i]) + 1;
    return sum;
}

/* Returns 100 * (sum of column 0 of stats [n][2]) / (sum of column 1); 0 if column 1 sums to 0. Borrows stats. */
static inline ab_metric ratio_metric(const char *name, const char *unit, const char *signature, const double *stats,
                                     int64_t n)
{
    ab_metric m = {.sum = AB_SUM_RATIO, .n_stats = 2, .stats = stats};
    double part = 0, whole = 0;
    for (int64_t i = 0; i < n; i++) part += stats[2 * i], whole += stats[2 * i + 1];
    m.value = whole > 0 ? 100 * part / whole : 0;
    snprintf(m.name, sizeof m.name, "%s", name);
    snprintf(m.unit, sizeof m.unit, "%s", unit);
    snprintf(m.signature, sizeof m.signature, "%s", signature);
    return m;
}
#endif
