/* parsing.c - the parsing task: sentences in, constituency trees as sequences out, bracketing F1. */
#include "ab_plugin.h"
#include "grammar.h"
#include "treebank.h"
#include "typed.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *data, *train, *dev, *test, *silver, *wsj, *files;
    int64_t linearisation, constrained, unary_cap, open_cap, spaces, train_trees, gold_repeat;
} config;

enum { JOIN, REFUSE };
#define AT(field) offsetof(config, field)
/* clang-format off */
static const ab_param params[] = {
    {"data", AB_TEXT, AT(data), 0, 0, 0, "craft",
     "treebank: a folder in the data folder (craft, genia, gum) or a path, with train.ptb, dev.ptb and test.ptb; or wsj"},
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
     "the first so many training trees of `train` [trees]; 0 = all"},
    {"silver", AB_TEXT, AT(silver), 0, 0, 0, "",
     "further training trees that no person made, such as those on which several parsers agree (`ablate agree`): files, as "
     "for train"},
    {"gold_repeat", AB_INT, AT(gold_repeat), 1, 1, 1000, NULL,
     "the trees of `train` come so many times in an epoch, those of `silver` once [times]"},
    {0}};
/* clang-format on */

typedef struct {
    int64_t n, cap;
    char **src, **tgt, **gold; /* [n] lines: words; the sequence; the tree in brackets */
    int gum;                   /* 1: some of the trees are GUM's */
} split;

typedef struct {
    const ab_host *host;
    config c;
    split split[AB_SPLITS];
    int64_t n_gold; /* of the training trees: those of `train`; silver ones follow */
    labels seen, trained; /* constituents' labels: of all splits, of train */
    labels symbols;       /* words: the brackets of train */
    grammar grammar;
    double *stats;                       /* of the metrics scored last */
    buffer prepared, presented, scratch; /* what prepare and present gave last */
} task;

/* ---- opening ---- */

static char *kept(buffer *b)
{
    char *copy = resized(NULL, b->n + 1, 1);
    memcpy(copy, b->s, b->n + 1);
    buffer_clear(b);
    return copy;
}

static void add_tree(task *t, split *s, const tree *x)
{
    buffer *b = &t->scratch;
    if (s->n == s->cap) {
        s->cap = 2 * s->cap + 1024;
        s->src = resized(s->src, (size_t)s->cap, sizeof *s->src);
        s->tgt = resized(s->tgt, (size_t)s->cap, sizeof *s->tgt);
        s->gold = resized(s->gold, (size_t)s->cap, sizeof *s->gold);
    }
    buffer_clear(b);
    tree_words(x, b);
    s->src[s->n] = kept(b);
    tree_write(x, b);
    s->gold[s->n] = kept(b);
    s->tgt[s->n++] = NULL; /* written when all labels are known */
    for (size_t i = 1; i < x->n; i++) {
        if (x->at[i].kind != OPEN) continue;
        labels_add(&t->seen, x->at[i].label);
        if (s == &t->split[AB_TRAIN]) labels_add(&t->trained, x->at[i].label);
    }
}

static int read_file(task *t, split *s, const char *path, int64_t most, char *err, size_t n_err)
{
    treebank b = {.join = t->c.spaces == JOIN};
    tree x = {0};
    int got = treebank_read(&b, path, err, n_err) ? -1 : 1;
    while (got == 1 && (!most || s->n < most) && (got = treebank_next(&b, &x, err, n_err)) == 1)
        if (x.n) add_tree(t, s, &x);
    free(b.text);
    tree_free(&x);
    return got < 0 ? -1 : 0;
}

/* Is a folder on the way to this file, or the file, named gum? */
static int names_gum(const char *path)
{
    for (size_t n; *path; path += n + (path[n] == '/')) {
        n = strcspn(path, "/");
        if (slice_is((slice){path, n}, "gum")) return 1;
    }
    return 0;
}

typedef int find_files(paths *p, const places *in, const char *key, const char *what, char *err, size_t n_err);

/* Appends the trees of the files that `find` makes of `what` to a split, until it has `most` trees; 0: all. */
static int read_files(task *t, split *s, const places *in, const char *key, find_files *find, const char *what,
                      int64_t most, char *err, size_t n_err)
{
    paths files = {0};
    int64_t before = s->n;
    int bad = find(&files, in, key, what, err, n_err);
    for (size_t i = 0; i < files.n && !bad; i++) {
        bad = read_file(t, s, files.at[i], most, err, n_err);
        s->gum |= names_gum(files.at[i]);
    }
    if (!bad && s->n == before) {
        snprintf(err, n_err, "%s: no tree with a word in %s%s", key, files.at[0],
                 files.n > 1 ? " and the other files" : "");
        bad = -1;
    }
    paths_free(&files);
    return bad;
}

static int read_split(task *t, ab_split which, const places *in, const char *given, char *err, size_t n_err)
{
    static const char *const keys[AB_SPLITS] = {"parsing.train", "parsing.dev", "parsing.test"};
    static const char *const names[AB_SPLITS] = {"train", "dev", "test"}, *const sections[AB_SPLITS] = {
                                                                              "2-21", "22", "23"};
    char usual[4096];
    if (in->wsj)
        snprintf(usual, sizeof usual, "%s", sections[which]);
    else
        snprintf(usual, sizeof usual, "%s/%s.ptb", t->c.data, names[which]);
    int is_auto = !strcmp(given, "auto");
    return read_files(t, &t->split[which], in, keys[which], is_auto ? paths_add : paths_find, is_auto ? usual : given,
                      which == AB_TRAIN ? t->c.train_trees : 0, err, n_err);
}

/* The sequence of a tree in brackets, as tree_write writes it. */
static char *sequence(task *t, const char *gold)
{
    char words[256];
    treebank b = {.path = "", .text = (char *)gold, .n = strlen(gold), .line = 1};
    tree x = {0};
    if (treebank_next(&b, &x, words, sizeof words) != 1) {
        fprintf(stderr, "parsing: a tree that was read cannot be read again: %s\n", words);
        abort();
    }
    buffer_clear(&t->scratch);
    linear_write((form)t->c.linearisation, &x, &t->seen, &t->scratch);
    tree_free(&x);
    return kept(&t->scratch);
}

static void write_sequences(task *t)
{
    for (int k = 0; k < AB_SPLITS; k++)
        for (int64_t i = 0; i < t->split[k].n; i++) t->split[k].tgt[i] = sequence(t, t->split[k].gold[i]);
    for (size_t i = 0; i < t->trained.n; i++) {
        for (const char *mark = "()"; *mark; mark++) {
            buffer_clear(&t->scratch);
            buffer_add(&t->scratch, mark, 1);
            buffer_text(&t->scratch, t->trained.at[i]);
            labels_add(&t->symbols, (slice){t->scratch.s, t->scratch.n});
        }
    }
}

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

static int read_data(task *t, const ab_env *env, char *err, size_t n_err)
{
    const config *c = &t->c;
    int wsj = !strcmp(c->data, "wsj");
    places in = {env->data_dir, c->files, wsj ? c->wsj : NULL};
    if (wsj && !*c->wsj) {
        snprintf(err, n_err,
                 "parsing.data = wsj needs parsing.wsj: the folder of the Wall Street Journal's sections 00 "
                 "to 24 in the Penn "
                 "Treebank (LDC99T42: parsed/mrg/wsj), which its licensees bring themselves");
        return -1;
    }
    const char *const given[AB_SPLITS] = {c->train, c->dev, c->test};
    for (int k = 0; k < AB_SPLITS; k++)
        if (read_split(t, (ab_split)k, &in, given[k], err, n_err)) return -1;
    t->n_gold = t->split[AB_TRAIN].n;
    split *train = &t->split[AB_TRAIN];
    if (*c->silver && read_files(t, train, &in, "parsing.silver", paths_find, c->silver, 0, err, n_err)) return -1;
    write_sequences(t);
    return 0;
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
    if (!env->no_data && read_data(t, env, err, n_err)) {
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

/* ---- outputs as trees ---- */

typedef struct { /* a sentence with its own memory */
    sentence s;
    slice *word, *tag;
    size_t cap;
} line_words;

static void take_word(line_words *l, slice word, slice tag)
{
    if ((size_t)l->s.n == l->cap) {
        l->cap = 2 * l->cap + 64;
        l->word = resized(l->word, l->cap, sizeof *l->word);
        l->tag = resized(l->tag, l->cap, sizeof *l->tag);
    }
    l->word[l->s.n] = word;
    l->tag[l->s.n++] = tag;
    l->s.word = l->word;
}

static void line_free(line_words *l)
{
    free(l->word);
    free(l->tag);
    *l = (line_words){0};
}

static int accepts(void *self, const char *src, const char *output)
{
    task *t = self;
    line_words l = {0};
    tree x = {0};
    for (slice w; (w = next_word(&src)).n;) take_word(&l, w, (slice){0});
    int good = linear_read((form)t->c.linearisation, output, &l.s, &t->seen, &x);
    line_free(&l);
    tree_free(&x);
    return good;
}

/* The output's tree with the gold tree's tags. 1: well-formed; 0: repaired. */
static int with_gold_tags(task *t, const char *gold, const char *output, buffer *out)
{
    char words[256];
    treebank b = {.path = "", .text = (char *)gold, .n = strlen(gold), .line = 1};
    line_words l = {0};
    tree x = {0};
    treebank_next(&b, &x, words, sizeof words);
    for (size_t i = 0; i < x.n; i++)
        if (x.at[i].kind == LEAF) take_word(&l, x.at[i].word, x.at[i].label);
    l.s.tag = l.tag;
    int good = linear_read((form)t->c.linearisation, output, &l.s, &t->seen, &x);
    tree_write(&x, out);
    line_free(&l);
    tree_free(&x);
    return good;
}

/* With gold tags, as score takes it: EVALB leaves words out by their tags. */
static const char *shown(void *self, ab_split which, int64_t i, const char *output)
{
    task *t = self;
    const char *gold = t->split[which].gold[i];
    if (!output) return gold;
    buffer_clear(&t->presented);
    with_gold_tags(t, gold, output, &t->presented);
    return t->presented.s;
}

/* ---- score ---- */

static ab_metric figure(const char *name, ab_sum sum, int64_t width, const double *stats, int64_t n,
                        const char *signature)
{
    ab_metric m = {.unit = "%", .sum = sum, .n_stats = width, .stats = stats};
    double s[3] = {0};
    for (int64_t i = 0; i < n * width; i++) s[i % width] += stats[i];
    double part = sum == AB_SUM_F1 ? 2 * s[0] : s[0], whole = sum == AB_SUM_F1 ? s[1] + s[2] : s[1];
    m.value = whole > 0 ? 100 * part / whole : 0;
    snprintf(m.name, sizeof m.name, "%s", name);
    snprintf(m.signature, sizeof m.signature, "%s", signature);
    return m;
}

/* stats: [n][3] of F1; [n][3] of strict F1; [n][2] of complete matches; [n][2] of well-formed outputs. */
static int figures(task *t, ab_split which, const ab_f1 *f, const int *good, int64_t n, ab_metric *out, int max)
{
    char signature[160];
    double *stats = t->stats = resized(t->stats, (size_t)n * 10, sizeof *stats);
    double *strict = stats + 3 * n, *complete = strict + 3 * n, *formed = complete + 2 * n;
    memcpy(stats, f->stats, (size_t)n * 3 * sizeof *stats);
    memcpy(strict, f->strict, (size_t)n * 3 * sizeof *stats);
    memcpy(complete, f->complete, (size_t)n * 2 * sizeof *stats);
    for (int64_t i = 0; i < n; i++) {
        if (!good[i]) strict[3 * i] = strict[3 * i + 2] = 0;
        formed[2 * i] = good[i], formed[2 * i + 1] = 1;
    }
    /* GUM's trees are no person's: what is scored on them is agreement with a parser. */
    snprintf(signature, sizeof signature, "evalb:COLLINS|tags:gold|sentences:%lld|skipped:%lld|errors:%lld%s",
             (long long)n, (long long)f->skipped, (long long)f->errors, t->split[which].gum ? "|gold:a parser's output" : "");
    const ab_metric all[] = {
        figure("F1", AB_SUM_F1, 3, stats, n, signature),
        figure("F1_strict", AB_SUM_F1, 3, strict, n,
               "evalb:COLLINS|all brackets of a repaired, skipped or wrong tree count as missed"),
        figure("complete", AB_SUM_RATIO, 2, complete, n, "sentences with every bracket right"),
        figure("well_formed", AB_SUM_RATIO, 2, formed, n, "outputs that needed no repair"),
    };
    int k = 0;
    for (; k < max && k < (int)(sizeof all / sizeof *all); k++) out[k] = all[k];
    return k;
}

static int score(void *self, ab_split which, const char *const *hyp, int64_t n, ab_metric *out, int max,
                 char *err, size_t n_err)
{
    task *t = self;
    const split *s = &t->split[which];
    if (n != s->n) {
        snprintf(err, n_err, "%lld lines to score, expected %lld", (long long)n, (long long)s->n);
        return -1;
    }
    char **trees = resized(NULL, (size_t)n, sizeof *trees);
    int *good = resized(NULL, (size_t)n, sizeof *good), made = -1;
    ab_f1 f;
    for (int64_t i = 0; i < n; i++) {
        buffer_clear(&t->scratch);
        good[i] = with_gold_tags(t, s->gold[i], hyp[i], &t->scratch);
        trees[i] = kept(&t->scratch);
    }
    if (!t->host->f1((const char *const *)trees, (const char *const *)s->gold, n, &f, err, n_err))
        made = figures(t, which, &f, good, n, out, max);
    for (int64_t i = 0; i < n; i++) free(trees[i]);
    free(trees);
    free(good);
    return made;
}

/* ---- using a model ---- */

static const char *prepare(void *self, const char *typed)
{
    task *t = self;
    int tagged = typed_tagged(typed);
    buffer_clear(&t->prepared);
    for (slice w; (w = next_word(&typed)).n;) {
        if (t->prepared.n) buffer_text(&t->prepared, " ");
        typed_add(&t->prepared, (slice){w.s, tagged ? typed_word(w) : w.n});
    }
    return t->prepared.s;
}

static const char *present(void *self, const char *typed, const char *output)
{
    task *t = self;
    line_words l = {0};
    tree x = {0};
    const char *words = prepare(t, typed);
    int tagged = typed_tagged(typed);
    for (slice w; (w = next_word(&words)).n;) {
        slice given = next_word(&typed), tag = {0};
        size_t n = typed_word(given);
        if (tagged) tag = (slice){given.s + n + 1, given.n - n - 1};
        take_word(&l, w, tag);
    }
    if (tagged) l.s.tag = l.tag;
    linear_read((form)t->c.linearisation, output, &l.s, &t->seen, &x);
    buffer_clear(&t->presented);
    tree_write(&x, &t->presented);
    line_free(&l);
    tree_free(&x);
    return t->presented.s;
}

static const ab_task_plugin self = {.src_vocab = AB_VOCAB_SUBWORD,
                             .tgt_vocab = AB_VOCAB_WORDS,
                             .open = open_task,
                             .count = count,
                             .get = get,
                             .score = score,
                             .close = close_task,
                             .vocabs = vocabs,
                             .vocabulary = vocabulary,
                             .start = start,
                             .advance = advance,
                             .allowed = allowed,
                             .release = release,
                             .accepts = accepts,
                             .encode_input = prepare,
                             .format_output = present,
                             .reference_line = shown};

AB_PLUGIN(config, params, &self, .name = "parsing",
          .doc = "parse sentences into constituency trees; scored by EVALB's F1",
          .paper = "Vinyals et al. 2015; Vaswani et al. 2017, section 6.3");
