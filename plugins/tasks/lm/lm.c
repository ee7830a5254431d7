/* lm.c - a language model of one text: characters, words or subwords, each predicted from those before it.
 *
 * A line end is a token (AB_ID_END), so the lines of a file, read as windows of one text, give the whole file. Text
 * outside the training vocabulary costs 8 bits per byte in addition to its unknown token, so that bits per byte cover
 * the whole text. */
#include "ab_plugin.h"
#include "known.h"
#include "tasks/memory.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UNIT_CHAR, UNIT_WORD, UNIT_BPE };

typedef struct {
    int64_t unit, context;
    const char *file, *dev, *test;
    double dev_part, test_part;
} config;

#define AT(field) offsetof(config, field)
static const ab_option params[] = {
    {"unit", AB_CHOICE, AT(unit), UNIT_CHAR, 0, 0, "char|word|bpe",
     "what a token is: a character, a word between blanks, or a subword as set by vocab (bpe or unigram) and "
     "vocab_size"},
    {"context", AB_INT, AT(context), 64, 2, 65536, NULL,
     "length of a window, the text that the model sees at once [tokens]"},
    {"file", AB_TEXT, AT(file), 0, 0, 0, "shakespeare/input.txt",
     "text to train on, in the data folder unless the path begins with / or . [file]"},
    {"dev", AB_TEXT, AT(dev), 0, 0, 0, "", "text to validate on [file]; empty: the end of `file`"},
    {"test", AB_TEXT, AT(test), 0, 0, 0, "",
     "text to test on [file]; empty: `test_part` of `file`, or dev is scored instead"},
    {"dev_part", AB_REAL, AT(dev_part), 0.1, 0.0001, 0.9, NULL,
     "share of `file`, at its end, used for validation, in whole lines [part]"},
    {"test_part", AB_REAL, AT(test_part), 0, 0, 0.9, NULL,
     "share of `file`, at its very end, behind that of dev, kept for the test, in whole lines; 0: none [part]"},
    {0}};

typedef struct {
    char **line; /* [n] of the file's lines */
    int64_t n;
    double bytes, characters; /* line ends counted */
    double unknown_bits;      /* text that the training vocabulary lacks, at 8 bits per byte */
} text;

typedef struct {
    const ab_host *host;
    config c;
    text split[AB_SPLITS];
    char **file[AB_SPLITS]; /* from read_lines */
    double *stats;          /* statistics of the last scores */
} task;

/* ---- reading ---- */

static int read_file(task *t, const ab_env *env, const char *key, const char *name, char ***lines, int64_t *n,
                     char *err, size_t n_err)
{
    char path[4096];
    int own = *name == '/' || *name == '.';
    snprintf(path, sizeof path, "%s%s%s", own ? "" : env->data_dir, own ? "" : "/", name);
    if (access(path, F_OK)) {
        snprintf(err, n_err, "no file %s (lm.%s = %s; data folder %s)%s", path, key, name, env->data_dir,
                 strcmp(name, "shakespeare/input.txt") ? "" : "; `ablate data get shakespeare` fetches it");
        return -1;
    }
    if (t->host->read_lines(path, lines, n, err, n_err)) return -1;
    if (*n) return 0;
    t->host->free_lines(*lines);
    *lines = NULL;
    snprintf(err, n_err, "%s is empty (lm.%s = %s)", path, key, name);
    return -1;
}

static double bytes_of(char **line, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)strlen(line[i]) + 1;
    return sum;
}

/* Number of lines before the last `part` of the text. */
static int64_t cut(char **line, int64_t n, double part)
{
    double before = (1 - part) * bytes_of(line, n), sum = 0;
    int64_t i = 0;
    while (i < n && sum < before) sum += (double)strlen(line[i++]) + 1;
    return i;
}

static int word_unit(const task *t) { return t->c.unit == UNIT_WORD; }

/* Counts the bytes of a line that a model of this unit predicts, line end included. One blank counts between words,
 * even if the file has more; blanks at a line's ends do not count. */
static void measure(const task *t, const known *k, text *x)
{
    for (int64_t i = 0; i < x->n; i++) {
        const char *s = x->line[i];
        int begun = 0; /* a word of the line */
        x->bytes++, x->characters++;
        for (size_t n; *s; s += n) {
            n = known_length(s, word_unit(t));
            if (!n) { /* a blank between words */
                n = 1;
                continue;
            }
            x->bytes += (double)n + (word_unit(t) && begun), begun = 1;
            for (size_t b = 0; b < n; b++) x->characters += (s[b] & 0xc0) != 0x80;
            if (!known_has(k, s, n)) x->unknown_bits += 8 * (double)n;
        }
    }
}

static void close_task(void *self)
{
    task *t = self;
    for (int s = 0; s < AB_SPLITS; s++)
        if (t->file[s]) t->host->free_lines(t->file[s]);
    free(t->stats);
    free(t);
}

/* Takes the last `part` of train's lines for another split. */
static int split_off(task *t, ab_split to, double part, char *err, size_t n_err)
{
    text *train = &t->split[AB_TRAIN];
    int64_t all = train->n;
    train->n = cut(train->line, all, part);
    t->split[to] = (text){.line = train->line + train->n, .n = all - train->n};
    if (train->n && train->n < all) return 0;
    snprintf(err, n_err,
             "lm.file = %s: %lld lines leave %lld for the rest and %lld for %s (lm.dev_part = %g, test_part = %g); "
             "expected some of each",
             t->c.file, (long long)all, (long long)train->n, (long long)(all - train->n),
             to == AB_DEV ? "dev" : "the test", t->c.dev_part, t->c.test_part);
    return -1;
}

static int read_all(task *t, const ab_env *env, char *err, size_t n_err)
{
    text *train = &t->split[AB_TRAIN], *dev = &t->split[AB_DEV], *test = &t->split[AB_TEST];
    if (read_file(t, env, "file", t->c.file, &t->file[AB_TRAIN], &train->n, err, n_err)) return -1;
    train->line = t->file[AB_TRAIN];
    double rest = 1; /* share of the file that is left */
    if (*t->c.test) {
        if (read_file(t, env, "test", t->c.test, &t->file[AB_TEST], &test->n, err, n_err)) return -1;
        test->line = t->file[AB_TEST];
    } else if (t->c.test_part > 0) {
        if (split_off(t, AB_TEST, t->c.test_part, err, n_err)) return -1;
        rest -= t->c.test_part;
    }
    if (*t->c.dev) {
        if (read_file(t, env, "dev", t->c.dev, &t->file[AB_DEV], &dev->n, err, n_err)) return -1;
        dev->line = t->file[AB_DEV];
    } else if (t->c.dev_part >= rest) {
        snprintf(err, n_err, "lm.dev_part = %g and test_part = %g leave nothing to train on", t->c.dev_part,
                 t->c.test_part);
        return -1;
    } else if (split_off(t, AB_DEV, t->c.dev_part / rest, err, n_err))
        return -1;
    known *k = known_new(train->line, train->n, word_unit(t));
    measure(t, k, dev);
    measure(t, k, test);
    known_free(k);
    return 0;
}

/* Writes a line about the data: the parts that were split off. */
static void say_split(const task *t, char *line, size_t n_line)
{
    long long dev = *t->c.dev ? 0 : t->split[AB_DEV].n, test = *t->c.test ? 0 : t->split[AB_TEST].n,
              all = dev + test + t->split[AB_TRAIN].n;
    if (dev && test)
        snprintf(line, n_line, "%s: dev (%lld lines) and test (%lld lines) are the end of its %lld lines", t->c.file,
                 dev, test, all);
    else if (dev || test)
        snprintf(line, n_line, "%s: %s (%lld lines) is the end of its %lld lines", t->c.file, dev ? "dev" : "test",
                 dev + test, all);
}

static int open_task(void **self, const void *cfg, const ab_host *host, const ab_env *env, char *err, size_t n_err)
{
    task *t = calloc(1, sizeof *t);
    if (!t) out_of_memory();
    t->host = host;
    t->c = *(const config *)cfg;
    if (!env->no_data && read_all(t, env, err, n_err)) {
        close_task(t);
        return -1;
    }
    if (!env->no_data) say_split(t, err, n_err);
    *self = t;
    return 0;
}

static int64_t count(void *self, ab_split s) { return ((task *)self)->split[s].n; }
static void get(void *self, ab_split s, int64_t i, ab_example *out)
{
    *out = (ab_example){NULL, ((task *)self)->split[s].line[i]};
}

static void vocabs(void *self, ab_vocabs *v)
{
    static const ab_vocab kinds[] = {
        [UNIT_CHAR] = AB_VOCAB_CHARS, [UNIT_WORD] = AB_VOCAB_WORDS, [UNIT_BPE] = AB_VOCAB_SUBWORD};
    const config *c = &((task *)self)->c;
    v->tgt = kinds[c->unit];
    v->window = c->context;
}

/* ---- scores ---- */

/* Bits per unit for `whole` units of the text, shared among the windows by their tokens. stats [n][2]. */
static ab_metric ratio(const char *name, const char *unit, const char *signature, const ab_likelihood *x, int64_t n,
                       double scale, double more, double tokens, double whole, double *stats)
{
    ab_metric m = {.better = AB_LOWER, .sum = AB_SUM_RATIO, .n_stats = 2, .stats = stats};
    double part = 0;
    for (int64_t i = 0; i < n; i++) {
        double share = (double)x[i].tokens / tokens;
        stats[2 * i] = (-x[i].log_likelihood * scale + more * share) / 100; /* a ratio's value is in hundredths */
        stats[2 * i + 1] = whole * share;
        part += stats[2 * i];
    }
    m.value = 100 * part / whole;
    snprintf(m.name, sizeof m.name, "%s", name);
    snprintf(m.unit, sizeof m.unit, "%s", unit);
    snprintf(m.signature, sizeof m.signature, "%s", signature);
    return m;
}

static int score(void *self, ab_split split, const ab_likelihood *x, int64_t n, ab_metric *out, int max, char *err,
                 size_t n_err)
{
    enum { FIGURES = 3 };
    static const double bits = 1.4426950408889634; /* 1 / ln 2 */
    static const char *const names[] = {"train", "dev", "test"};
    task *t = self;
    const text *of = &t->split[split];
    double tokens = 0;
    char how[120];
    for (int64_t i = 0; i < n; i++) tokens += (double)x[i].tokens;
    if (!(tokens > 0)) {
        snprintf(err, n_err, "no token of %s to score", names[split]);
        return -1;
    }
    double *stats = realloc(t->stats, (size_t)n * 2 * FIGURES * sizeof *stats);
    if (!stats) out_of_memory();
    t->stats = stats;
    snprintf(how, sizeof how, "windows of %lld, one after the other; unknown: 8 bits a byte; %s",
             (long long)t->c.context, names[split]);
    int made = 0;
    if (made < max)
        out[made] = ratio("bits_per_byte", "bits/byte", how, x, n, bits, of->unknown_bits, tokens, of->bytes,
                          stats + 2 * n * made),
        made++;
    if (made < max && t->c.unit == UNIT_CHAR)
        out[made] = ratio("bits_per_char", "bits/char", how, x, n, bits, of->unknown_bits, tokens, of->characters,
                          stats + 2 * n * made),
        made++;
    if (made < max) {
        snprintf(how, sizeof how, "windows of %lld, one after the other; -ln p of each token, line ends counted; %s",
                 (long long)t->c.context, names[split]);
        out[made] = ratio("loss", "nats/token", how, x, n, 1, 0, tokens, tokens, stats + 2 * n * made), made++;
    }
    return made;
}

static const ab_task_plugin self = {.flags = AB_DECODER_ONLY,
                                    .tgt_vocab = AB_VOCAB_CHARS,
                                    .open = open_task,
                                    .count = count,
                                    .get = get,
                                    .close = close_task,
                                    .vocabs = vocabs,
                                    .score_likelihoods = score};

AB_PLUGIN(config, params, &self, .name = "lm",
          .doc = "decoder-only language model of a text, in characters, words or subwords; scored by bits per byte",
          .version = "1.0");
