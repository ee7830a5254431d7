/* recall.c - small tasks that distinguish token mixers: the model must recall something from earlier tokens. */
#include "ab_plugin.h"
#include "kinds.h"
#include "tasks/lines.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    recall_config r;
    int64_t train_on, train_examples, test_examples, data_seed;
} config;
enum { ANSWERS, EVERYTHING };

#define AT(field) offsetof(config, field)
static const ab_option params[] = {
    {"kind", AB_CHOICE, AT(r.kind), MQAR, 0, 0, "mqar|induction|selective_copy|fuzzy|noisy|compression|memorisation",
     "mqar: values of many keys (Zoology); induction: what followed the last symbol earlier; selective_copy: symbols "
     "among blanks; fuzzy: keys and values of several symbols; noisy: pairs among noise; compression: repeat the whole "
     "sequence; memorisation: facts that are the same in all examples (MAD)"},
    {"vocab", AB_INT, AT(r.vocab), 8192, 3, 1000000, NULL, "size of the vocabulary [symbols]"},
    {"length", AB_INT, AT(r.length), 64, 2, 65536, NULL, "length of an example [symbols]"},
    {"pairs", AB_INT, AT(r.pairs), 4, 1, 16384, NULL, "mqar: key-value pairs, each queried once [pairs]"},
    {"power", AB_REAL, AT(r.power), 0.01, 1e-6, 100, NULL,
     "mqar: a query i positions after the pairs has weight i^(power - 1): with a small power near queries are "
     "frequent, like repeated bigrams in text; 1: all have equal weight [exponent]"},
    {"random_filler", AB_BOOL, AT(r.random_filler), 0, 0, 0, NULL,
     "mqar: random symbols between the queries, none of them a key of the example, instead of symbol 0"},
    {"copies", AB_INT, AT(r.copies), 16, 1, 16384, NULL, "selective_copy: symbols to copy [symbols]"},
    {"motif", AB_INT, AT(r.motif), 3, 1, 8, NULL,
     "fuzzy: longest key and value; dev and test have only keys of this length [symbols]"},
    {"noise", AB_REAL, AT(r.noise), 0.2, 0, 0.99, NULL, "noisy: share of pairs replaced by noise [probability]"},
    {"noise_vocab", AB_INT, AT(r.noise_vocab), 16, 1, 100000, NULL,
     "noisy: symbols of `vocab` that are noise [symbols]"},
    {"train_on", AB_CHOICE, AT(train_on), ANSWERS, 0, 0, "answers|everything",
     "what training predicts: answers only (Zoology), or every next symbol (MAD); dev and test always use the answers"},
    {"train_examples", AB_INT, AT(train_examples), 20000, 1, 100000000, NULL, "size of the training set [examples]"},
    {"test_examples", AB_INT, AT(test_examples), 1000, 1, 10000000, NULL,
     "size of the dev set and of the test set [examples]"},
    {"data_seed", AB_INT, AT(data_seed), 1, 0, 4294967295.0, "run", "seed of the data; run = the run's own seed"},
    {0}};

/* ---- making ---- */

/* Writes numbers as words; -1 becomes AB_NO_LABEL. */
static char *to_line(const int32_t *x, int64_t n)
{
    enum { WIDTH = 12 };
    char *line = need(malloc((size_t)n * WIDTH + 1)), *at = line;
    for (int64_t i = 0; i < n; i++) at += x[i] < 0 ? sprintf(at, "%s ", AB_NO_LABEL) : sprintf(at, "%d ", (int)x[i]);
    at[-1] = 0;
    return need(realloc(line, (size_t)(at - line)));
}

static void fill(lines *s, const recall *r, const config *c, ab_split which, uint64_t random)
{
    int64_t n = which == AB_TRAIN ? c->train_examples : c->test_examples, length = c->r.length;
    int32_t *in = need(malloc((size_t)length * 2 * sizeof *in)), *label = in + length;
    lines_reserve(s, n);
    while (s->n < n) {
        recall_make(r, &random, which != AB_TRAIN, in, label);
        for (int64_t i = 0; c->train_on == EVERYTHING && which == AB_TRAIN && i < length; i++)
            if (label[i] < 0 && i + 1 < length) label[i] = in[i + 1];
        lines_add(s, to_line(in, length), to_line(label, length));
    }
    free(in);
}

/* ---- the task ---- */

static int open_task(void **self, const void *cfg, const ab_host *host, const ab_env *env, char *err, size_t n_err)
{
    (void)host;
    const config *c = cfg;
    uint64_t seed = lines_seed(c->data_seed, env);
    recall *r = recall_new(&c->r, seed, err, n_err);
    if (!r) return -1;
    lines_task *t = need(calloc(1, sizeof *t));
    for (int s = 0; s < AB_SPLITS && !env->no_data; s++) fill(&t->split[s], r, c, (ab_split)s, seed + (uint64_t)s + 1);
    t->symbol = number_words(c->r.vocab, 0);
    t->n_symbols = c->r.vocab;
    recall_free(r);
    *self = t;
    return 0;
}

static int score(void *self, ab_split split, const ab_likelihood *x, int64_t n, ab_metric *out, int max, char *err,
                 size_t n_err)
{
    (void)split, (void)err, (void)n_err;
    lines_task *t = self;
    t->stats = need(realloc(t->stats, (size_t)n * 4 * sizeof *t->stats + 1));
    double *answers = t->stats, *wholes = answers + 2 * n;
    for (int64_t i = 0; i < n; i++) {
        answers[2 * i] = (double)x[i].right;
        answers[2 * i + 1] = (double)x[i].tokens;
        wholes[2 * i] = x[i].right == x[i].tokens;
        wholes[2 * i + 1] = 1;
    }
    int made = 0;
    if (made < max) out[made++] = ratio_metric("accuracy", "%", "answers that are the likeliest symbol", answers, n);
    if (made < max) out[made++] = ratio_metric("solved", "%", "examples with all answers right", wholes, n);
    return made;
}

static const ab_task_plugin self = LINES_TASK(open_task, lines_vocabs, score);

AB_PLUGIN(config, params, &self, .name = "recall",
          .doc = "synthetic recall for decoder-only models: associative recall, induction, copying, compression, "
                 "memorisation; scored by accuracy of answers",
          .paper = "Arora et al. 2023; Poli et al. 2024; Dao et al. 2022", .version = "1.0");
