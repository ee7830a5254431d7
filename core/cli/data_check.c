/* data_check.c - ablate data check: describes a corpus and its faults. */
#include "text/data/inspect.h"
#include "cli/options.h"
#include "base/gzip.h"
#include "base/places.h"
#include "network/plugin/plugin.h"
#include "cli/results.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *src, *tgt, *task;
    bool strict, all;
} check_options;

/* ---- where faults are ---- */

enum { SHOWN = 5 };
typedef struct {
    int64_t n;
    str places;
} finding;

static PRINTF_LIKE(3, 4) void add_place(finding *f, bool all, const char *fmt, ...)
{
    char place[PLACE];
    va_list args;
    va_start(args, fmt);
    vsnprintf(place, sizeof place, fmt, args);
    va_end(args);
    if (f->n++ < SHOWN || all) str_addf(&f->places, "%s%s", f->n > 1 ? ", " : "", place);
}

static void print_finding(grid *t, const char *what, finding *f, bool all)
{
    if (f->n && (all || f->n <= SHOWN))
        grid_footnote(t, "%s: %lld: %s", what, (long long)f->n, f->places.s);
    else if (f->n)
        grid_footnote(t, "%s: %lld: %s and others (-v: all)", what, (long long)f->n, f->places.s);
    str_free(&f->places);
}

/* ---- faults of the text, file by file ---- */

typedef struct {
    finding text[TEXT_FAULTS], columns;
    bool all;
} text_report;

static size_t columns_of(const char *line, size_t n)
{
    size_t columns = 1;
    for (size_t i = 0; i < n; i++) columns += line[i] == '\t';
    return columns;
}

static void scan(const char *path, text_report *r)
{
    CLEANUP(str_free) str text = {0};
    err none = {0};
    if (has_suffix(path, ".tar.gz") || gzip_read(path, SIZE_MAX, &text, &none)) return;
    const char *at = str_text(&text), *end = at + text.n;
    bool table = has_suffix(path, ".tsv") || has_suffix(path, ".tsv.gz");
    size_t line = 1, columns = 0;
    at += byte_order_mark(at, text.n);
    for (const char *stop; at < end; at = stop + 1, line++) {
        stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        unsigned faults = text_faults_of(at, (size_t)(stop - at));
        for (int k = 0; k < TEXT_FAULTS; k++)
            if (faults >> k & 1) add_place(&r->text[k], r->all, "%s:%zu", path, line);
        size_t found = columns_of(at, (size_t)(stop - at));
        if (!columns) columns = found > 2 ? found : 2;
        if (table && found != columns) add_place(&r->columns, r->all, "%s:%zu", path, line);
    }
}

/* Returns the path as tasks read it: without '/' it is in the data folder. */
static char *data_path(const char *name, const char *data_dir)
{
    return strchr(name, '/') ? xstrdup(name) : path_join(data_dir, name);
}

static void scan_all(const char *place, const char *data_dir, text_report *r)
{
    AUTOFREE char *whole = data_path(place, data_dir);
    const char *plus = file_exists(whole) ? NULL : strchr(place, '+');
    AUTOFREE char *first = plus ? xstrndup(place, (size_t)(plus - place)) : xstrdup(place),
                  *path = data_path(first, data_dir), *second = plus ? data_path(plus + 1, data_dir) : NULL;
    struct dirent **file = NULL;
    int n = scandir(path, &file, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        AUTOFREE char *one = path_join(path, file[i]->d_name);
        if (*file[i]->d_name != '.' && !is_folder(one)) scan(one, r);
        free(file[i]);
    }
    free(file);
    if (n < 0) scan(path, r);
    if (n < 0 && second) scan(second, r);
}

/* ---- the report ---- */

static const char *const names[AB_SPLITS] = {"train", "dev", "test"};

static void set_count(grid *t, size_t column, int64_t n) { grid_set(t, column, "%lld", (long long)n); }

/* Adds a row with a number for each split; returns whether one of them is not zero. */
static bool print_row(grid *t, const char *what, const data_report *r, size_t field)
{
    bool some = false;
    grid_row(t, false);
    grid_set(t, 0, "%s", what);
    for (int s = 0; s < AB_SPLITS; s++) {
        int64_t n = *(const int64_t *)((const char *)&r->split[s] + field);
        set_count(t, 1 + (size_t)s, n);
        some = some || n;
    }
    return some;
}

static void print_bins(grid *t, const char *side, const data_report *r, bool source)
{
    for (int k = 0; k < LENGTH_BINS; k++) {
        grid_row(t, !k);
        if (k == LENGTH_BINS - 1)
            grid_set(t, 0, "%s: over %lld words", side, (long long)length_bins[k - 1]);
        else
            grid_set(t, 0, "%s: to %lld words", side, (long long)length_bins[k]);
        for (int s = 0; s < AB_SPLITS; s++)
            set_count(t, 1 + (size_t)s, (source ? r->split[s].src_bins : r->split[s].tgt_bins)[k]);
    }
}

#define AT(field) offsetof(split_report, field)
static const struct {
    const char *what, *alone; /* labels: for pairs; for examples without a source (NULL: no row) */
    size_t field;
    bool fault;
} rows[] = {{"pairs", "examples", AT(pairs), false},
            {"words, source", NULL, AT(src_words), false},
            {"words, target", "words", AT(tgt_words), false},
            {"a side is empty", "empty", AT(empty), true},
            {"not UTF-8", "not UTF-8", AT(not_utf8), true},
            {"pair also in train", "also in train", AT(in_train), true},
            {"source also in train", NULL, AT(src_in_train), true},
            {"repeated pairs", "repeated", AT(twice), true},
            {"sides identical", NULL, AT(identical), true},
            {"another pair has the sides swapped", NULL, AT(swapped), true},
            {"lengths differ over 3 times", NULL, AT(ratio), true}};
#undef AT

typedef struct {
    finding row[LENGTH(rows)];
    bool all;
} pair_report;

static void hear(void *to, ab_split s, size_t field, int64_t i, const ab_example *x)
{
    pair_report *r = to;
    char at[PLACE];
    const char *text = x->src && *x->src ? x->src : x->tgt;
    size_t n = strlen(place_of(text, at)), k = 0;
    while (k < LENGTH(rows) && rows[k].field != field) k++;
    if (k == LENGTH(rows) || field == offsetof(split_report, not_utf8)) return; /* scan_all reports invalid UTF-8 */
    if (n)
        add_place(&r->row[k], r->all, "%.*s", (int)n - 2, at);
    else
        add_place(&r->row[k], r->all, "%s %lld", names[s], (long long)i + 1);
}

static bool print_report(const data_report *r, pair_report *pairs, const char *place, const char *note, grid *t)
{
    bool faults = false;
    t->title = place;
    grid_column(t, "", false);
    for (int s = 0; s < AB_SPLITS; s++) grid_column(t, names[s], true);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const char *what = r->alone ? rows[i].alone : rows[i].what;
        bool some = what && print_row(t, what, r, rows[i].field);
        faults = faults || (some && rows[i].fault);
    }
    if (!r->alone) print_bins(t, "source", r, true);
    print_bins(t, r->alone ? "length" : "target", r, false);
    if (*note) grid_footnote(t, "%s", note);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const char *what = r->alone ? rows[i].alone : rows[i].what;
        print_finding(t, what ? what : "", what ? &pairs->row[i] : &(finding){0}, pairs->all);
    }
    return faults;
}

static bool has_data(const plugin *task)
{
    for (const ab_option *p = task->desc.params; p && p->name; p++)
        if (same(p->name, "data")) return true;
    return false;
}

static int check(const invocation *c, void *options)
{
    const check_options *o = options;
    bool all = c->verbosity > 0; /* name the lines of all faults */
    char message[1024] = "";
    err e = {0};
    CLEANUP(arena_free) arena a = {0};
    settings given = {0};
    void *self = NULL;
    data_report r;
    pair_report pairs = {.all = all};
    text_report text = {.all = all};
    CLEANUP(grid_free) grid t = {0};
    bool faults = false;
    const plugin *x = plugin_open(AB_TASK, o->task, &e);
    if (!x) return call_failed(c, &e);
    settings_set(&given, arena_printf(&a, "%s.data", o->task), c->word[0], &a);
    if (same(o->task, "translation")) {
        settings_set(&given, "translation.src", o->src, &a);
        settings_set(&given, "translation.tgt", o->tgt, &a);
    }
    void *cfg = arena_alloc(&a, x->desc.cfg_size + 16);
    ab_env env = {.data_dir = c->p.data_dir, .seed = 1};
    int bad = 0;
    if (!has_data(x))
        bad = fail(&e, "--task %s: the task has no key %s.data, whose files could be checked", o->task, o->task);
    if (!bad && x->desc.params) bad = config_bind(&given, o->task, x->desc.params, cfg, &a, &e);
    bool texts = !bad && !same(o->task, "image");
    if (!bad && x->iface.task.open(&self, cfg, &host_table, &env, message, sizeof message))
        bad = fail(&e, "%s", message);
    if (texts) scan_all(c->word[0], c->p.data_dir, &text);
    if (!bad) {
        data_inspect(&x->iface.task, self, &r, &(data_listener){hear, &pairs});
        faults = print_report(&r, &pairs, c->word[0], message, &t);
        x->iface.task.close(self);
    }
    for (int k = 0; k < TEXT_FAULTS; k++) {
        faults = faults || text.text[k].n;
        print_finding(&t, text_faults[k], &text.text[k], all);
    }
    print_finding(&t, "another number of columns than line 1", &text.columns, all);
    print_grid(&t);
    return bad ? call_failed(c, &e) : o->strict && faults ? 1 : 0;
}

#define AT(field) offsetof(check_options, field)
static const check_options defaults = {.src = "en", .tgt = "auto", .task = "translation"};
static const option options[] = {
    {"--src", "LANGUAGE", "source language: the extension of its files [en]", OPTION_TEXT, AT(src)},
    {"--tgt", "LANGUAGE", "target language [fr for names that end in -fr, else de]", OPTION_TEXT, AT(tgt)},
    {"--task", "NAME", "task that reads the data: translation, parsing or image [translation]", OPTION_TEXT, AT(task)},
    {"--strict", NULL, "exit with 1 if anything is found", OPTION_FLAG, AT(strict)},
    {0}};
const command data_check_command = {
    .name = "data check",
    .part = FOR_DATA,
    .does = "report pairs, lengths and faults of a corpus",
    .about = "PLACE is a value of translation.data (a folder, a table of two columns, or two files joined by +) or of "
             "the data key of --task. Faults, with up to five lines each: empty sides, repeated pairs, pairs of dev or "
             "test that are also in train, sides that are identical or swapped, lengths that differ over 3 times, "
             "table rows with another number of columns than line 1; in any text: bytes that are not UTF-8, characters "
             "not in NFC, line ends and separators, control characters, invisible marks, words that are too long.",
    .arguments = "PLACE",
    .missing = "expected a corpus",
    .options = options,
    .defaults = &defaults,
    .size = sizeof(check_options),
    .run = check,
    .example = "ablate data check ./corpus.tsv --strict"};
