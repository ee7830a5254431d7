/* estimate_data.c - measures a sweep's data for an estimate: vocabularies, lines and tokens of each split. */
#include "lab/sweep/estimate_child.h"
#include "text/data/dataset.h"
#include "text/data/inspect.h"
#include "network/model/costs.h"
#include "network/plugin/plugin.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- data ---- */

/* Writes the settings that determine data and vocabularies as one text; the caller frees. */
static char *group_key(const spec_row *row)
{
    static const char *const keys[] = {"task", "vocab", "vocab_size", "lowercase"};
    const char *task = settings_get(&row->placed, "task");
    size_t length = strlen(task);
    str key = {0};
    for (size_t i = 0; i < LENGTH(keys); i++) str_addf(&key, "%s\n", settings_get(&row->placed, keys[i]));
    for (size_t i = 0; i < row->placed.n; i++)
        if (has_prefix(row->placed.at[i].key, task) && row->placed.at[i].key[length] == '.')
            str_addf(&key, "%s=%s\n", row->placed.at[i].key, row->placed.at[i].value);
    return key.s;
}

enum { COUNTED = 50000 }; /* a corpus with more training lines is not counted; counting takes tenths of a second */

static int read_vocabs(const ab_task_plugin *t, void *self, const config *c, vocab_kind kind, int64_t size, group *g,
                       err *e)
{
    vocab *src = NULL, *tgt = NULL;
    if (dataset_vocabs(t, self, t->flags & AB_SHARED_VOCAB, kind, size, c->lowercase != 0, NULL, &src, &tgt, e))
        return -1;
    g->src = src ? vocab_size(src) : 0, g->tgt = vocab_size(tgt);
    vocabs_free(src, tgt);
    return 0;
}

/* Reads the vocabularies' sizes. Subwords take minutes to train, so training is skipped if the corpus has more distinct
 * words than vocab_size (each can be a subword) or more than COUNTED lines. */
static int count_vocabs(const ab_task_plugin *t, void *self, const config *c, group *g, err *e)
{
    ab_vocabs asked = {.src = t->src_vocab, .tgt = t->tgt_vocab};
    vocab_kind kind = (vocab_kind)c->vocab;
    bool alone = t->flags & AB_DECODER_ONLY;
    if (t->vocabs) t->vocabs(self, &asked);
    g->length = alone && asked.window ? asked.window : COSTS_SENTENCE, g->windows = alone && asked.window > 0;
    bool of_src = !alone && asked.src == AB_VOCAB_SUBWORD, of_tgt = asked.tgt == AB_VOCAB_SUBWORD;
    g->subwords = vocab_cuts_words(kind) && (of_src || of_tgt);
    g->src = alone ? 0 : c->vocab_size, g->tgt = c->vocab_size;
    if (!g->subwords) return read_vocabs(t, self, c, kind, c->vocab_size, g, e);
    if (t->count(self, AB_TRAIN) > COUNTED) return 0;
    if (read_vocabs(t, self, c, TOKENS_WORDS, 0, g, e)) return -1;
    bool plenty = (!of_src || g->src > c->vocab_size) && (!of_tgt || g->tgt > c->vocab_size);
    if (!plenty) return read_vocabs(t, self, c, kind, c->vocab_size, g, e);
    group chars = {0};
    if (read_vocabs(t, self, c, TOKENS_CHAR, 0, &chars, e)) return -1;
    int64_t least = of_src && chars.src > chars.tgt ? chars.src : chars.tgt;
    if (kind == TOKENS_WORDPIECE)
        least = 2 * least - VOCAB_SPECIALS; /* each character begins a word or stands inside */
    if (c->vocab_size < least)
        return fail(e, VOCAB_TOO_SMALL, (long long)c->vocab_size, (long long)least, (long long)least);
    if (of_src) g->src = c->vocab_size;
    if (of_tgt) g->tgt = c->vocab_size;
    return 0;
}

/* ---- sizes ---- */

enum { SAMPLE = 2000 };             /* lines read of a split */
static const double SUBWORDS = 1.3; /* subwords per word: typical of European languages with 8,000 to 37,000 subwords */

/* Is the word one of the task's own symbols, which are one token each? */
static bool is_symbol(const ab_vocabs *asked, const char *word, size_t n)
{
    for (int64_t i = 0; i < asked->n_symbols; i++)
        if (!strncmp(asked->symbols[i], word, n) && !asked->symbols[i][n]) return true;
    return false;
}

/* Estimates a line's tokens, without the end token. */
static double tokens_of(const ab_vocabs *asked, ab_vocab wanted, int64_t kind, const char *line)
{
    bool characters = wanted == AB_VOCAB_CHARS || (wanted == AB_VOCAB_SUBWORD && kind == TOKENS_CHAR),
         subwords = wanted == AB_VOCAB_SUBWORD && kind != TOKENS_WORDS;
    double words = 0, code_points = characters ? (double)utf8_count(line, SIZE_MAX) : 0;
    for (; *line && !characters; line += strspn(line, " ")) {
        size_t n = strcspn(line, " ");
        words += n ? subwords && !is_symbol(asked, line, n) ? SUBWORDS : 1 : 0;
        line += n;
    }
    return characters ? code_points : words;
}

static void measure_splits(const ab_task_plugin *t, void *self, const config *c, group *g)
{
    ab_vocabs asked = {.src = t->src_vocab, .tgt = t->tgt_vocab};
    if (t->vocabs) t->vocabs(self, &asked);
    for (ab_split s = AB_TRAIN; s < AB_SPLITS; s++) {
        int64_t n = t->count(self, s), step = n / SAMPLE + 1, seen = 0;
        split_size sum = {0};
        for (int64_t i = 0; i < n; i += step, seen++) {
            ab_example x;
            t->get(self, s, i, &x);
            bool no_end = t->flags & AB_DECODER_ONLY && (x.src || asked.endless); /* labels, or lines of one length */
            double src = x.src ? !no_end + tokens_of(&asked, asked.src, c->vocab, x.src) : 0,
                   tgt = !no_end + tokens_of(&asked, asked.tgt, c->vocab, x.tgt);
            sum.src += src, sum.tgt += tgt;
            sum.longest_src = fmax(sum.longest_src, src), sum.longest_tgt = fmax(sum.longest_tgt, tgt);
        }
        double all = seen ? (double)n / (double)seen : 0;
        g->split[s] = (split_size){(double)n, sum.src * all, sum.tgt * all, sum.longest_src, sum.longest_tgt};
    }
}

/* Published sizes of corpora that may be missing: lines of each split, words per line. WMT 2014: Bojar et al. 2014,
 * sacreBLEU's sets; Penn Treebank, sections 2-21, 22, 23: Collins 1997, with two brackets per constituent, 0.85
 * constituents per word. The others: the output of `ablate data get`, trees as brackets and words. */
static const struct {
    const char *key, *value;
    double lines[AB_SPLITS], src, tgt;
} published[] = {{"translation.data", "wmt14-en-de", {4.5e6, 3000, 3003}, 25.7, 24.4},
                 {"translation.data", "wmt14-en-fr", {36e6, 3000, 3003}, 26, 29},
                 {"translation.data", "multi30k", {29000, 1014, 1000}, 12, 11.1},
                 {"translation.data", "multi30k-lctok", {29000, 1014, 1000}, 13, 12.4},
                 {"parsing.data", "wsj", {39832, 1700, 2416}, 23.8, 64},
                 {"parsing.data", "craft", {18951, 2780, 9099}, 27, 69},
                 {"parsing.data", "genia", {14326, 1361, 1360}, 26.2, 70},
                 {"parsing.data", "gum", {10224, 1575, 1464}, 17.6, 49}};

/* Is the corpus in the data folder, or does the row name files that are not the corpus's? Then a fault is an error. */
static bool has_files(const spec_row *row, const char *corpus, const places *p)
{
    static const char *const split[] = {"train", "dev", "test"};
    AUTOFREE char *folder = path_join(p->data_dir, corpus);
    bool found = file_exists(folder);
    for (size_t i = 0; i < LENGTH(split) && !found; i++) {
        AUTOFREE char *key = xprintf("%s.%s", row->config.task, split[i]);
        const char *files = settings_get(&row->placed, key);
        int first = files ? (int)strcspn(files, "+") : 0; /* length of the first file */
        AUTOFREE char *path = xprintf("%s/%.*s", p->data_dir, first, files ? files : "");
        found = files && (*files == '/' || *files == '.' || (!same(files, "auto") && file_exists(path)));
    }
    return found;
}

static bool read_published_lengths(const spec_row *row, const places *p, group *g)
{
    const config *c = &row->config;
    bool subwords = vocab_cuts_words((vocab_kind)c->vocab), trees = same(c->task, "parsing");
    for (size_t i = 0; i < LENGTH(published); i++) {
        const char *value = settings_get(&row->placed, published[i].key);
        if (!has_prefix(published[i].key, c->task) || !value || !same(value, published[i].value)) continue;
        if (has_files(row, value, p)) return false;
        double per_word = subwords ? SUBWORDS : 1;
        for (int s = 0; s < AB_SPLITS; s++) {
            double n = published[i].lines[s];
            double brackets = trees ? published[i].tgt - published[i].src : 0, words = published[i].tgt - brackets;
            g->split[s] = (split_size){n, n * (1 + per_word * published[i].src), n * (1 + brackets + per_word * words),
                                       INFINITY, INFINITY};
        }
        g->src = g->tgt = c->vocab_size, g->length = COSTS_SENTENCE, g->published = true;
        printf("note\t%s is not here; its published size is used: %.0f lines of train, %.0f of dev, %.0f of test, with "
               "%g source and %g target words per line\n",
               value, published[i].lines[AB_TRAIN], published[i].lines[AB_DEV], published[i].lines[AB_TEST],
               published[i].src, published[i].tgt);
        return true;
    }
    return false;
}

/* Prints the corpus's faults that can falsify results. */
static void print_dangers(const ab_task_plugin *task, void *self, const char *name, const spec_row *row)
{
    AUTOFREE char *key = xprintf("%s.data", name);
    const char *data = settings_get(&row->placed, key);
    data_report found;
    CLEANUP(str_free) str dangers = {0};
    if (data_inspectable(data)) {
        data_inspect(task, self, &found, NULL);
        data_dangers(&found, &dangers);
    }
    if (dangers.n) printf("note\t%s: %s (`ablate data check` says more)\n", data, str_text(&dangers));
}

static int open_data(const spec_row *row, const places *p, group *g, err *e)
{
    char message[1024] = "";
    CLEANUP(arena_free) arena a = {0};
    void *self = NULL;
    const plugin *x = plugin_find(AB_TASK, settings_get(&row->placed, "task"), e);
    if (!x) return -1;
    void *cfg = arena_alloc(&a, x->desc.cfg_size + 16);
    ab_env env = {.data_dir = p->data_dir, .seed = 1};
    int bad = x->desc.params && config_bind(&row->placed, x->desc.name, x->desc.params, cfg, &a, e);
    if (!bad && x->iface.task.open(&self, cfg, &host_table, &env, message, sizeof message))
        bad = fail(e, "row %s: task '%s': %s", row->name, x->desc.name, message);
    if (!bad && *message) printf("note\t%s\n", message);
    if (!bad) print_dangers(&x->iface.task, self, x->desc.name, row);
    if (!bad) {
        bad = count_vocabs(&x->iface.task, self, &row->config, g, e);
        if (!bad) measure_splits(&x->iface.task, self, &row->config, g);
        x->iface.task.close(self);
    }
    return bad;
}

int groups_open(const spec *s, const places *p, group **groups, size_t *n, size_t *of, err *missing, err *e)
{
    size_t cap = 0;
    for (size_t i = 0; i < s->n_rows; i++) {
        if (!s->rows[i].run || s->rows[i].same_as >= 0) continue;
        char *key = group_key(&s->rows[i]);
        for (of[i] = 0; of[i] < *n && !same((*groups)[of[i]].key, key);) of[i]++;
        if (of[i] < *n) {
            free(key);
            continue;
        }
        err why = {0};
        *groups = grow(*groups, &cap, *n + 1, sizeof **groups);
        group *g = &(*groups)[(*n)++];
        *g = (group){.key = key};
        double began = processor_ticks();
        if (open_data(&s->rows[i], p, g, &why)) {
            if (!read_published_lengths(&s->rows[i], p, g)) return fail(e, "%s", why.text);
            if (!missing->text[0]) *missing = why;
        }
        g->seconds = processor_ticks() - began;
    }
    return 0;
}

void groups_free(group *groups, size_t n)
{
    for (size_t k = 0; k < n; k++) free(groups[k].key);
    free(groups);
}
