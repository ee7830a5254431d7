/* masked.c - a masked language model of one text: some tokens of each window are hidden. The model sees the whole
 * window and predicts them (Devlin et al. 2019, section 3.1).
 *
 * 80 % of the chosen tokens are shown as [MASK], 10 % as a random token, 10 % unchanged. Training chooses anew in each
 * epoch; dev and test have the same choices in every run. Tokens unseen in training are shown as [UNK] and never
 * predicted. A line's end is a token. */
#include "ab_plugin.h"
#include "tasks/lines.h"
#include "tasks/path.h"
#include "tasks/random.h"
#include "tasks/reject.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UNIT_CHAR, UNIT_WORD };
enum { MASK, UNKNOWN, LINE_END, FIRST }; /* the task's own symbols, before those of the text */

typedef struct {
    int64_t unit, context;
    double mask, dev_part;
    const char *file;
} config;

typedef struct {
    lines_task base; /* lines without splits; symbols: own ones, then from FIRST on the text's, sorted */
    const ab_host *host;
    config c;
    int64_t seed, windows, train;
    int32_t *id;   /* the text [windows context] */
    char **line;   /* [windows][2]: inputs and labels that `get` has returned */
    char *last[2]; /* inputs and labels that the last get_epoch returned */
} task;

/* ---- symbols ---- */

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Length of the symbol at s [bytes]; 0: a blank between words. */
static size_t length_at(const char *s, int64_t unit)
{
    size_t n = 1;
    if (unit == UNIT_WORD) return strcspn(s, " \t");
    while ((s[n] & 0xc0) == 0x80) n++;
    return n;
}
/* The symbol's text: U+2581 for a blank; an underscore is appended to texts like AB_NO_LABEL or this task's own
 * symbols. */
static char *text_of(const char *s, size_t n)
{
    if (n == 1 && (*s == ' ' || *s == '\t')) return need(strdup("\u2581"));
    char *text = need(malloc(n + 2));
    memcpy(text, s, n);
    strcpy(text + n, (n == 1 && *s == '_') || (n > 1 && *s == '[') ? "_" : "");
    return text;
}
static int32_t find(const task *t, char *text)
{
    char **at = bsearch(&text, t->base.symbol + FIRST, (size_t)(t->base.n_symbols - FIRST), sizeof text, by_text);
    return at ? (int32_t)(at - t->base.symbol) : UNKNOWN;
}

/* Calls f with the text of each symbol of a line; f frees the text. */
static void each_symbol(const task *t, const char *line, void (*f)(void *self, char *text), void *self)
{
    for (size_t n; *line; line += n) {
        n = length_at(line, t->c.unit);
        if (n)
            f(self, text_of(line, n));
        else
            n = 1;
    }
}

/* ---- reading ---- */

typedef struct {
    task *t;
    char **text; /* the training text's symbols */
    size_t n, cap;
} gathered;
static void gather(void *self, char *text)
{
    gathered *g = self;
    if (g->n == g->cap) g->text = need(realloc(g->text, (g->cap = 2 * g->cap + 64) * sizeof *g->text));
    g->text[g->n++] = text;
}
static void make_symbols(task *t, char **line, int64_t n)
{
    static const char *const own[FIRST] = {"[MASK]", "[UNK]", "[END]"};
    gathered g = {.t = t};
    for (int64_t i = 0; i < n; i++) each_symbol(t, line[i], gather, &g);
    if (g.n) qsort(g.text, g.n, sizeof *g.text, by_text);
    t->base.symbol = need(malloc((g.n + FIRST) * sizeof *t->base.symbol));
    for (int i = 0; i < FIRST; i++) t->base.symbol[t->base.n_symbols++] = need(strdup(own[i]));
    for (size_t i = 0; i < g.n; i++) {
        if (i && !strcmp(g.text[i], t->base.symbol[t->base.n_symbols - 1]))
            free(g.text[i]);
        else
            t->base.symbol[t->base.n_symbols++] = g.text[i];
    }
    free(g.text);
}

typedef struct {
    task *t;
    int64_t n, cap;
} encoded;
static void append(encoded *e, int32_t id)
{
    if (e->n == e->cap) e->t->id = need(realloc(e->t->id, (size_t)(e->cap = 2 * e->cap + 1024) * sizeof *e->t->id));
    e->t->id[e->n++] = id;
}
static void encode(void *self, char *text)
{
    encoded *e = self;
    append(e, find(e->t, text));
    free(text);
}

/* The number of lines before the last `part` of the text's bytes. */
static int64_t lines_before(char **line, int64_t n, double part)
{
    double before = (1 - part) * lines_bytes(line, n), sum = 0;
    int64_t i = 0;
    while (i < n && sum < before) sum += (double)strlen(line[i++]) + 1;
    return i;
}

static int read_text(task *t, const ab_env *env, char *err, size_t n_err)
{
    char path[PATH_BYTES], **line;
    const char *name = t->c.file;
    int64_t n;
    data_path(path, env->data_dir, name, (int)strlen(name));
    if (access(path, F_OK))
        return reject(err, n_err, "no file %s (masked.file = %s; data folder %s)", path, name, env->data_dir);
    if (t->host->read_lines(path, &line, &n, err, n_err)) return -1;
    int64_t train = lines_before(line, n, t->c.dev_part);
    encoded e = {.t = t};
    make_symbols(t, line, train);
    for (int64_t i = 0; i <= n; i++) {
        if (i == train) e.n = (t->train = e.n / t->c.context) * t->c.context; /* no window has lines of both splits */
        if (i == n) break;
        each_symbol(t, line[i], encode, &e);
        append(&e, LINE_END);
    }
    t->host->free_lines(line);
    t->windows = e.n / t->c.context;
    if (t->train > 0 && t->windows > t->train) return 0;
    return reject(err, n_err,
                  "%s has %lld windows of %lld tokens to train on and %lld for dev (masked.dev_part = %g); "
                  "expected at least one of each",
                  path, (long long)t->train, (long long)t->c.context, (long long)(t->windows - t->train),
                  t->c.dev_part);
}

static void close_task(void *self)
{
    task *t = self;
    for (int64_t i = 0; i < 2 * t->windows && t->line; i++) free(t->line[i]);
    for (int i = 0; i < 2; i++) free(t->last[i]);
    free(t->id), free(t->line);
    lines_close(t);
}

static int open_task(void **self, const void *cfg, const ab_host *host, const ab_env *env, char *err, size_t n_err)
{
    task *t = need(calloc(1, sizeof *t));
    t->host = host, t->c = *(const config *)cfg, t->seed = env->seed;
    if (!env->no_data && read_text(t, env, err, n_err)) {
        t->windows = 0;
        close_task(t);
        return -1;
    }
    if (env->no_data) make_symbols(t, NULL, 0);
    t->line = need(calloc((size_t)(2 * t->windows + 1), sizeof *t->line));
    *self = t;
    return 0;
}

/* ---- examples ---- */

/* Writes the window's inputs and labels, with at least one token hidden; `state` seeds the choice. */
static void hide(const task *t, int64_t window, uint64_t state, char *line[2])
{
    const int32_t *id = t->id + window * t->c.context;
    size_t n[2] = {0}, longest = strlen(t->base.symbol[MASK]);
    int64_t sure = -1, known = 0, chosen = 0;
    char asked[t->c.context];
    for (int64_t i = 0; i < t->c.context; i++) {
        asked[i] = id[i] != UNKNOWN && uniform(&state) < t->c.mask;
        chosen += asked[i];
        if (id[i] != UNKNOWN && uniform(&state) * (double)++known < 1) sure = i; /* all known tokens equally likely */
    }
    if (!chosen && sure >= 0) asked[sure] = 1;
    for (int64_t i = 0; i < t->base.n_symbols; i++)
        longest = strlen(t->base.symbol[i]) > longest ? strlen(t->base.symbol[i]) : longest;
    for (int k = 0; k < 2; k++) line[k] = need(malloc((longest + 1) * (size_t)t->c.context + 1));
    for (int64_t i = 0; i < t->c.context; i++) {
        double how = uniform(&state);
        int32_t shown = id[i];
        if (asked[i] && how < 0.8) shown = MASK;
        if (asked[i] && how >= 0.9)
            shown = (int32_t)(LINE_END + splitmix(&state) % (uint64_t)(t->base.n_symbols - LINE_END));
        const char *word[2] = {t->base.symbol[shown], asked[i] ? t->base.symbol[id[i]] : AB_NO_LABEL};
        for (int k = 0; k < 2; k++) {
            size_t wide = strlen(word[k]);
            if (i) line[k][n[k]++] = ' ';
            memcpy(line[k] + n[k], word[k], wide), n[k] += wide;
        }
    }
    for (int k = 0; k < 2; k++) line[k][n[k]] = 0;
}

static int64_t count(void *self, ab_split s)
{
    const task *t = self;
    return s == AB_TRAIN ? t->train : s == AB_DEV ? t->windows - t->train : 0;
}
static void get(void *self, ab_split s, int64_t i, ab_example *out)
{
    task *t = self;
    int64_t window = s == AB_TRAIN ? i : t->train + i;
    if (!t->line[2 * window]) hide(t, window, (uint64_t)window, t->line + 2 * window);
    *out = (ab_example){t->line[2 * window], t->line[2 * window + 1]};
}
static void get_epoch(void *self, int64_t i, int64_t epoch, ab_example *out)
{
    task *t = self;
    uint64_t state = (uint64_t)t->seed;
    state = splitmix(&state) ^ (uint64_t)epoch;
    state = splitmix(&state) ^ (uint64_t)i;
    for (int k = 0; k < 2; k++) free(t->last[k]);
    hide(t, i, state, t->last);
    *out = (ab_example){t->last[0], t->last[1]};
}

/* ---- scores ---- */

static int score(void *self, ab_split split, const ab_likelihood *x, int64_t n, ab_metric *out, int max, char *err,
                 size_t n_err)
{
    task *t = self;
    double nats = 0, tokens = 0;
    t->base.stats = need(realloc(t->base.stats, (size_t)(4 * n + 1) * sizeof *t->base.stats));
    double *loss = t->base.stats, *right = loss + 2 * n;
    for (int64_t i = 0; i < n; i++) {
        loss[2 * i] = -x[i].log_likelihood / 100, right[2 * i] = (double)x[i].right; /* ratios are multiplied by 100 */
        loss[2 * i + 1] = right[2 * i + 1] = (double)x[i].tokens;
        nats -= x[i].log_likelihood, tokens += (double)x[i].tokens;
    }
    if (!(tokens > 0)) return reject(err, n_err, "no hidden token of %s to score", split == AB_TRAIN ? "train" : "dev");
    ab_metric m[] = {ratio_metric("loss", "nats/token", "-ln p of each hidden token", loss, n),
                     ratio_metric("acc", "%", "hidden tokens that are the likeliest", right, n)};
    m[0].value = nats / tokens; /* exact, unlike the rounded value from hundredths */
    m[0].better = AB_LOWER;
    for (int i = 0; i < 2 && i < max; i++) out[i] = m[i];
    return max < 2 ? max : 2;
}

#define AT(field) offsetof(config, field)
static const ab_option params[] = {
    {"unit", AB_CHOICE, AT(unit), UNIT_CHAR, 0, 0, "char|word", "a token: a character, or a word between blanks"},
    {"context", AB_INT, AT(context), 64, 2, 65536, NULL, "length of a window [tokens]"},
    {"mask", AB_REAL, AT(mask), 0.15, 0.001, 1, NULL, "share of a window's tokens that the model must predict [part]"},
    {"dev_part", AB_REAL, AT(dev_part), 0.1, 0.0001, 0.9, NULL,
     "share of the file, at its end, used as dev, in whole lines [part]"},
    {"file", AB_TEXT, AT(file), 0, 0, 0, "shakespeare/input.txt",
     "text, in the data folder unless the path begins with / or . [file]"},
    {0}};
static const ab_task_plugin self = {.flags = AB_DECODER_ONLY | AB_BIDIRECTIONAL,
                                    .tgt_vocab = AB_VOCAB_SYMBOLS,
                                    .open = open_task,
                                    .count = count,
                                    .get = get,
                                    .close = close_task,
                                    .vocabs = lines_vocabs,
                                    .score_likelihoods = score,
                                    .get_epoch = get_epoch};
AB_PLUGIN(config, params, &self, .name = "masked", .doc = "masked language model of a text, which sees whole windows",
          .paper = "Devlin et al. 2019, section 3.1", .version = "1.0");
