/* lm.c - a language model of a text, or of a folder of documents: characters, words or subwords, each predicted from
 * those before it.
 *
 * A line end is a token (AB_ID_END), so the lines of a file, read as windows of one text, give the whole file. Text
 * outside the training vocabulary costs 8 bits per byte in addition to its unknown token, so that bits per byte cover
 * the whole text. */
#include "ab_plugin.h"
#include "known.h"
#include "tasks/lines.h"
#include "tasks/path.h"
#include "tasks/reject.h"
#include "tasks/split.h"
#include <dirent.h>
#include <string.h>
#include <unistd.h>

enum { UNIT_CHAR, UNIT_WORD, UNIT_BPE };

typedef struct {
    int64_t unit, context, split_seed;
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
     "text to train on, in the data folder unless the path begins with / or . [file]; or a folder of documents, a file "
     "each: then dev_part and test_part are whole documents, drawn by split_seed, and intervals are over documents"},
    {"dev", AB_TEXT, AT(dev), 0, 0, 0, "", "text to validate on [file]; empty: the end of `file`"},
    {"test", AB_TEXT, AT(test), 0, 0, 0, "",
     "text to test on [file]; empty: `test_part` of `file`, or dev is scored instead"},
    {"dev_part", AB_REAL, AT(dev_part), 0.1, 0.0001, 0.9, NULL,
     "share of `file`, at its end, used for validation, in whole lines [part]"},
    {"test_part", AB_REAL, AT(test_part), 0, 0, 0.9, NULL,
     "share of `file`, at its end after dev's, kept for the test, in whole lines; 0: no test [part]"},
    {"split_seed", AB_INT, AT(split_seed), 1, 0, 4294967295.0, NULL,
     "seed of the draw that divides a folder's documents into train, dev and test"},
    {0}};

typedef struct {
    char **line; /* [n] lines, owned by the task */
    int64_t n;
    const int64_t *document; /* number of lines per document [n_documents]; 0 and NULL: one text */
    int64_t n_documents;
    double bytes, characters; /* sizes, with line ends */
    double unknown_bits;      /* text that the training vocabulary lacks, at 8 bits per byte */
} text;

typedef struct {
    const ab_host *host;
    config c;
    text split[AB_SPLITS];
    char ***file; /* [n_files] from read_lines */
    int64_t n_files;
    char **line[AB_SPLITS];       /* lines of a folder */
    int64_t *document[AB_SPLITS]; /* number of lines per document of a folder */
    double *stats;                /* statistics of the last scores */
} task;

/* ---- reading ---- */

/* Appends a file's lines to split s as a document. */
static int read_file(task *t, int s, const char *path, const char *key, const char *name, char *err, size_t n_err)
{
    char **lines;
    int64_t n;
    text *x = &t->split[s];
    if (t->host->read_lines(path, &lines, &n, err, n_err)) return -1;
    t->file = need(realloc(t->file, (size_t)(t->n_files + 1) * sizeof *t->file));
    t->file[t->n_files++] = lines;
    if (!n) return reject(err, n_err, "%s is empty (lm.%s = %s)", path, key, name);
    t->line[s] = need(realloc(t->line[s], (size_t)(x->n + n) * sizeof *lines));
    memcpy(t->line[s] + x->n, lines, (size_t)n * sizeof *lines);
    t->document[s] = need(realloc(t->document[s], (size_t)(x->n_documents + 1) * sizeof(int64_t)));
    t->document[s][x->n_documents++] = n;
    x->n += n;
    x->line = t->line[s];
    x->document = t->document[s];
    return 0;
}

typedef struct {
    double place;
    const char *name;
} document;

static int by_place(const void *a, const void *b)
{
    const document *x = a, *y = b;
    return x->place < y->place ? -1 : x->place > y->place ? 1 : strcmp(x->name, y->name);
}
static int visible(const struct dirent *x) { return *x->d_name != '.'; }

/* Reads a folder's files in an order drawn by split_seed. n < 0: the path is no folder. */
static int read_folder(task *t, int s, const char *path, struct dirent **entry, int n, const char *key,
                       const char *name, char *err, size_t n_err)
{
    document *all = need(calloc((size_t)n + 1, sizeof *all));
    char place[4400];
    int bad = 0;
    for (int i = 0; i < n; i++) {
        snprintf(place, sizeof place, "%lld %s", (long long)t->c.split_seed, entry[i]->d_name);
        all[i] = (document){split_place(place), entry[i]->d_name};
    }
    qsort(all, (size_t)n, sizeof *all, by_place);
    for (int i = 0; i < n && !bad; i++) {
        snprintf(place, sizeof place, "%s/%s", path, all[i].name);
        bad = read_file(t, s, place, key, name, err, n_err);
    }
    if (!n) snprintf(err, n_err, "%s has no file (lm.%s = %s)", path, key, name);
    free(all);
    return bad || !n ? -1 : 0;
}

static int read_text(task *t, int s, const ab_env *env, const char *key, const char *name, char *err, size_t n_err)
{
    char path[PATH_BYTES];
    data_path(path, env->data_dir, name, (int)strlen(name));
    if (access(path, F_OK))
        return reject(err, n_err, "no file %s (lm.%s = %s; data folder %s)%s", path, key, name, env->data_dir,
                      strcmp(name, "shakespeare/input.txt") ? "" : "; `ablate data get shakespeare` fetches it");
    struct dirent **entry;
    int n = scandir(path, &entry, visible, NULL);
    int bad =
        n < 0 ? read_file(t, s, path, key, name, err, n_err) : read_folder(t, s, path, entry, n, key, name, err, n_err);
    for (int i = 0; i < n; i++) free(entry[i]);
    if (n < 0)
        t->split[s].n_documents = 0; /* one text */
    else
        free(entry);
    return bad;
}

/* Removes the last `part` of a text, as whole lines or documents. Returns the removed text. */
static text cut(text *x, double part)
{
    double before = (1 - part) * lines_bytes(x->line, x->n), sum = 0;
    int64_t i = 0, d = 0, all = x->n;
    while (i < all && sum < before) {
        int64_t n = x->n_documents ? x->document[d++] : 1;
        sum += lines_bytes(x->line + i, n);
        i += n;
    }
    text rest = {.line = x->line + i, .n = all - i, .document = x->document + d, .n_documents = x->n_documents - d};
    x->n = i, x->n_documents = d;
    return rest;
}

static int word_unit(const task *t) { return t->c.unit == UNIT_WORD; }

/* Counts the bytes of a text that a model of this unit predicts, line ends included. Between words one blank counts,
 * even if the file has more; blanks at a line's ends do not count. */
static void measure(const task *t, const known *k, text *x)
{
    for (int64_t i = 0; i < x->n; i++) {
        const char *s = x->line[i];
        int begun = 0; /* the line's first word has begun */
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
    for (int64_t i = 0; i < t->n_files; i++) t->host->free_lines(t->file[i]);
    for (int s = 0; s < AB_SPLITS; s++) free(t->line[s]), free(t->document[s]);
    free(t->file);
    free(t->stats);
    free(t);
}

/* Moves the last `part` of train's lines to another split. */
static int split_off(task *t, ab_split to, double part, char *err, size_t n_err)
{
    text *train = &t->split[AB_TRAIN];
    int64_t all = train->n;
    t->split[to] = cut(train, part);
    if (train->n && train->n < all) return 0;
    return reject(err, n_err,
                  "lm.file = %s: of %lld lines %lld remain and %lld are for %s (lm.dev_part = %g, test_part = %g); "
                  "expected at least one of each",
                  t->c.file, (long long)all, (long long)train->n, (long long)(all - train->n),
                  to == AB_DEV ? "dev" : "the test", t->c.dev_part, t->c.test_part);
}

static int read_all(task *t, const ab_env *env, char *err, size_t n_err)
{
    text *train = &t->split[AB_TRAIN], *dev = &t->split[AB_DEV], *test = &t->split[AB_TEST];
    if (read_text(t, AB_TRAIN, env, "file", t->c.file, err, n_err)) return -1;
    double rest = 1; /* share of the file not yet assigned */
    if (*t->c.test) {
        if (read_text(t, AB_TEST, env, "test", t->c.test, err, n_err)) return -1;
    } else if (t->c.test_part > 0) {
        if (split_off(t, AB_TEST, t->c.test_part, err, n_err)) return -1;
        rest -= t->c.test_part;
    }
    if (*t->c.dev) {
        if (read_text(t, AB_DEV, env, "dev", t->c.dev, err, n_err)) return -1;
    } else if (t->c.dev_part >= rest) {
        return reject(err, n_err, "lm.dev_part = %g and test_part = %g leave nothing to train on", t->c.dev_part,
                      t->c.test_part);
    } else if (split_off(t, AB_DEV, t->c.dev_part / rest, err, n_err))
        return -1;
    known *k = known_new(train->line, train->n, word_unit(t));
    measure(t, k, dev);
    measure(t, k, test);
    known_free(k);
    return 0;
}

static void describe_split(const task *t, char *line, size_t n_line)
{
    long long dev = *t->c.dev ? 0 : t->split[AB_DEV].n, test = *t->c.test ? 0 : t->split[AB_TEST].n,
              all = dev + test + t->split[AB_TRAIN].n;
    if (t->split[AB_TRAIN].n_documents)
        snprintf(line, n_line, "%s: documents drawn by split_seed: train %lld, dev %lld, test %lld", t->c.file,
                 (long long)t->split[AB_TRAIN].n_documents, (long long)t->split[AB_DEV].n_documents,
                 (long long)t->split[AB_TEST].n_documents);
    else if (dev && test)
        snprintf(line, n_line, "%s: dev (%lld lines) and test (%lld lines) are the end of its %lld lines", t->c.file,
                 dev, test, all);
    else if (dev || test)
        snprintf(line, n_line, "%s: %s (%lld lines) is the end of its %lld lines", t->c.file, dev ? "dev" : "test",
                 dev + test, all);
}

static int open_task(void **self, const void *cfg, const ab_host *host, const ab_env *env, char *err, size_t n_err)
{
    task *t = need(calloc(1, sizeof *t));
    t->host = host;
    t->c = *(const config *)cfg;
    if (!env->no_data && read_all(t, env, err, n_err)) {
        close_task(t);
        return -1;
    }
    if (!env->no_data) describe_split(t, err, n_err);
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
    const task *t = self;
    v->tgt = kinds[t->c.unit];
    v->window = t->c.context;
    for (int s = 0; s < AB_SPLITS; s++)
        v->documents[s] = t->split[s].document, v->n_documents[s] = t->split[s].n_documents;
}

/* ---- scores ---- */

/* A figure per unit of a text of `whole` units, which windows share by their numbers of tokens. stats [n][2]. */
static ab_metric ratio(const char *name, const char *unit, const char *signature, const ab_likelihood *x, int64_t n,
                       double scale, double more, double tokens, double whole, double *stats)
{
    double part = 0;
    for (int64_t i = 0; i < n; i++) {
        double share = (double)x[i].tokens / tokens;
        stats[2 * i] = (-x[i].log_likelihood * scale + more * share) / 100; /* ratio_metric multiplies by 100 */
        stats[2 * i + 1] = whole * share;
        part += stats[2 * i];
    }
    ab_metric m = ratio_metric(name, unit, signature, stats, n);
    m.better = AB_LOWER;
    m.value = 100 * part / whole;
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
    if (!(tokens > 0)) return reject(err, n_err, "no token of %s to score", names[split]);
    double *stats = t->stats = need(realloc(t->stats, (size_t)n * 2 * FIGURES * sizeof *stats));
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
