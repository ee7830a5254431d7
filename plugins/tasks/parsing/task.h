/* task.h - shared by the files of the parsing task: its settings and its data. */
#ifndef PARSING_TASK_H
#define PARSING_TASK_H
#include "ab_plugin.h"
#include "grammar.h"
#include "treebank.h"

enum { JOIN, REFUSE }; /* config.spaces */
typedef struct {
    const char *data, *train, *dev, *test, *silver, *wsj, *files;
    int64_t linearisation, constrained, unary_cap, open_cap, spaces, train_trees, gold_repeat;
} config;

typedef struct {
    int64_t n, cap;
    char **src, **tgt, **gold; /* [n] lines: words, sequence, bracketed tree */
    int gum;                   /* 1 if some of the trees are GUM's */
} split;

typedef struct {
    const ab_host *host;
    config c;
    split split[AB_SPLITS];
    int64_t n_gold;       /* number of training trees from `train`; silver trees follow */
    int64_t n_vanished;   /* number of trees left out because they have no word */
    int64_t n_left;       /* number of trees in a one-file treebank that train_trees leaves out of training */
    labels seen, trained; /* labels of constituents: of all splits; of train */
    labels symbols;       /* form `words`: the brackets in train */
    grammar grammar;
    double *stats;                       /* statistics of the last scores */
    buffer prepared, presented, scratch; /* last results of prepare and present */
} task;

/* The number of example i's tree in its split: repetitions of the gold trees follow all other trees. */
static inline int64_t task_tree(const task *t, ab_split s, int64_t i)
{
    return i < t->split[s].n ? i : (i - t->split[s].n) % t->n_gold;
}
/* Returns a copy of b's text and empties b. */
char *task_kept(buffer *b);
/* Fills the splits with trees, sentences and sequences. Returns 0, or -1 and err. */
int task_read(task *t, const ab_env *env, char *err, size_t n_err);

/* Functions of ab_task_plugin (outputs.c). */
int task_accepts(void *self, const char *src, const char *output);
const char *task_shown(void *self, ab_split which, int64_t i, const char *output);
int task_score(void *self, ab_split which, const char *const *hyp, int64_t n, ab_metric *out, int max, char *err,
               size_t n_err);
const char *task_prepare(void *self, const char *typed);
const char *task_present(void *self, const char *typed, const char *output);
#endif
