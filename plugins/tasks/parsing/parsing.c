/* parsing.c - the parsing task: sentences in, constituency trees as sequences out, bracketing F1. */
#include "task.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(config, field)
/* clang-format off */
static const ab_param params[] = {
    {"data", AB_TEXT, AT(data), 0, 0, 0, "craft",
     "treebank: a folder in the data folder (craft, genia, gum) or a path, with train.ptb, dev.ptb and test.ptb; wsj; or "
     "synthetic, 4,000 trees for training that a grammar makes"},
    {"train", AB_TEXT, AT(train), 0, 0, 0, "auto",
     "training trees: files, patterns or folders, joined by +, in the data folder unless they begin with / or .; auto = "
     "train.ptb of `data`, sections 2-21 of wsj (where also 2-5+9 can be said)"},
    {"dev", AB_TEXT, AT(dev), 0, 0, 0, "auto", "dev trees, as for train; auto = dev.ptb, section 22 of wsj"},
    {"test", AB_TEXT, AT(test), 0, 0, 0, "auto", "test trees, as for train; auto = test.ptb, section 23 of wsj"},
    {"wsj", AB_TEXT, AT(wsj), 0, 0, 0, "",
     "data = wsj: folder of the sections 00 to 24 of the Penn Treebank's Wall Street Journal (LDC99T42: parsed/mrg/wsj)"},
    {"files", AB_TEXT, AT(files), 0, 0, 0, "*", "pattern of the names of the files that are read in a folder"},
    {"linearisation", AB_CHOICE, AT(linearisation), WORDS, 0, 0, "labels|xx|words",
     "output: labels = constituents and tags; xx = constituents, and XX for every tag; words = constituents and the words "
     "themselves, one vocabulary for both sides"},
    {"constrained", AB_BOOL, AT(constrained), 1, 0, 0, NULL,
     "decode under constraints, so that every output is a tree; false: only outputs of which the beam holds no tree are "
     "decoded again under them"},
    {"unary_cap", AB_INT, AT(unary_cap), 4, 1, 1000, NULL,
     "constraint: constituents that may stand over the same words [constituents]"},
    {"open_cap", AB_INT, AT(open_cap), 10, 1, 1000, NULL, "constraint: brackets that may open in a row [brackets]"},
    {"spaces", AB_CHOICE, AT(spaces), JOIN, 0, 0, "join|refuse",
     "a leaf with a blank in its word: join = the blank becomes _; refuse = an error"},
    {"train_trees", AB_INT, AT(train_trees), 0, 0, 1000000000, NULL,
     "the first so many training trees of `train` [trees]; 0 = all, 4,000 of synthetic"},
    {"silver", AB_TEXT, AT(silver), 0, 0, 0, "",
     "further training trees that no person made, such as those on which several parsers agree (`ablate agree`): files, as "
     "for train"},
    {"gold_repeat", AB_INT, AT(gold_repeat), 1, 1, 1000, NULL,
     "the trees of `train` come so many times in an epoch, those of `silver` once [times]"},
    {0}};
/* clang-format on */

/* ---- opening ---- */

static void close_task(void *self)
{
    task *t = self;
    for (int k = 0; k < AB_SPLITS; k++) {
        split *s = &t->split[k];
        for (int64_t i = 0; i < s->n; i++) free(s->src[i]), free(s->tgt[i]), free(s->gold[i]);
        free(s->src);
        free(s->tgt);
        free(s->gold);
    }
    labels_free(&t->seen);
    labels_free(&t->trained);
    labels_free(&t->symbols);
    grammar_close(&t->grammar);
    buffer_free(&t->prepared);
    buffer_free(&t->presented);
    buffer_free(&t->scratch);
    free(t->stats);
    free(t);
}

static int open_task(void **self, const void *cfg, const ab_host *host, const ab_env *env, char *err,
                     size_t n_err)
{
    const config *c = cfg;
    task *t = resized(NULL, 1, sizeof *t);
    *t = (task){
        .host = host,
        .c = *c,
        .grammar = {.form = (form)c->linearisation, .unary_cap = c->unary_cap, .open_cap = c->open_cap}};
    if (!env->no_data && task_read(t, env, err, n_err)) {
        close_task(t);
        return -1;
    }
    *self = t;
    return 0;
}

/* The gold trees' repetitions come behind all others. */
static int64_t count(void *self, ab_split s)
{
    const task *t = self;
    return t->split[s].n + (s == AB_TRAIN ? (t->c.gold_repeat - 1) * t->n_gold : 0);
}

static void get(void *self, ab_split s, int64_t i, ab_example *out)
{
    const task *t = self;
    const split *x = &t->split[s];
    if (i >= x->n) i = (i - x->n) % t->n_gold;
    *out = (ab_example){x->src[i], x->tgt[i]};
}

static void vocabs(void *self, ab_vocabs *v)
{
    task *t = self;
    int words = t->c.linearisation == WORDS;
    v->flags = words ? AB_SHARED_VOCAB : 0;
    v->src = AB_VOCAB_SUBWORD;
    v->tgt = words ? AB_VOCAB_SUBWORD : AB_VOCAB_WORDS;
    v->symbols = words ? (const char *const *)t->symbols.at : NULL;
    v->n_symbols = words ? (int64_t)t->symbols.n : 0;
}

/* ---- constraints ---- */

static int vocabulary(void *self, const char *const *tokens, int64_t n, char *err, size_t n_err)
{
    task *t = self;
    if (grammar_open(&t->grammar, tokens, n, err, n_err)) return -1;
    for (size_t i = 0; i < t->trained.n; i++) {
        if (labels_find(&t->grammar.known, slice_of(t->trained.at[i])) >= 0) continue;
        snprintf(err, n_err,
                 "the vocabulary has no bracket of its own for %s; lowercase = true and vocab = char do not "
                 "go with parsing, and "
                 "vocab = words needs a larger vocab_size",
                 t->trained.at[i]);
        return -1;
    }
    for (size_t i = 0; i < t->grammar.known.n; i++) labels_add(&t->seen, slice_of(t->grammar.known.at[i]));
    return (int)t->c.constrained;
}

static int64_t count_words(const char *line)
{
    int64_t n = 0;
    while (next_word(&line).n) n++;
    return n;
}

static void *start(void *self, const char *src, const int32_t *ids, int64_t n, int64_t most)
{
    return grammar_start(&((task *)self)->grammar, count_words(src), ids, n, most);
}
static void *advance(void *self, void *state, int32_t token)
{
    return grammar_advance(&((task *)self)->grammar, state, token);
}
static void allowed(void *self, const void *state, uint8_t *mask)
{
    grammar_allowed(&((task *)self)->grammar, state, mask);
}
static void release(void *self, void *state)
{
    (void)self;
    grammar_release(state);
}

static const ab_task_plugin self = {.src_vocab = AB_VOCAB_SUBWORD,
                             .tgt_vocab = AB_VOCAB_WORDS,
                             .open = open_task,
                             .count = count,
                             .get = get,
                             .score = task_score,
                             .close = close_task,
                             .vocabs = vocabs,
                             .vocabulary = vocabulary,
                             .start = start,
                             .advance = advance,
                             .allowed = allowed,
                             .release = release,
                             .accepts = task_accepts,
                             .encode_input = task_prepare,
                             .format_output = task_present,
                             .reference_line = task_shown};

AB_PLUGIN(config, params, &self, .name = "parsing",
          .doc = "parse sentences into constituency trees; scored by EVALB's F1",
          .paper = "Vinyals et al. 2015; Vaswani et al. 2017, section 6.3");
