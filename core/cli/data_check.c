/* data_check.c - ablate data check: what a corpus has, and what is wrong with it. */
#include "text/data/inspect.h"
#include "cli/options.h"
#include "lab/report/grid.h"
#include "network/plugin/plugin.h"
#include "network/settings/config.h"
#include "cli/results.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *src, *tgt, *task;
    bool strict;
} check_options;

/* Files of `place` with lines that end in CR LF, appended as "NAME (N lines)". ablate reads such lines without the CR;
 * other programs may not. */
static void find_crlf(const char *path, const char *name, str *out)
{
    str text = {0};
    err none = {0};
    int64_t n = 0;
    if (has_suffix(name, ".gz") || file_read(path, &text, &none)) return;
    for (const char *at = str_text(&text); (at = strstr(at, "\r\n")); at += 2) n++;
    if (n) str_addf(out, "%s%s (%lld lines)", out->n ? ", " : "", name, (long long)n);
    str_free(&text);
}

/* A path without '/' is in the data folder, as tasks have it. */
static char *data_path(const char *name, const char *data_dir)
{
    return strchr(name, '/') ? xstrdup(name) : path_join(data_dir, name);
}

static void find_all_crlf(const char *place, const char *data_dir, str *out)
{
    char *path = data_path(place, data_dir);
    const char *plus = file_exists(path) ? NULL : strchr(place, '+');
    char *first = plus ? xstrndup(place, (size_t)(plus - place)) : xstrdup(place);
    free(path);
    path = data_path(first, data_dir);
    DIR *d = opendir(path);
    for (struct dirent *x; d && (x = readdir(d));) {
        char *file = path_join(path, x->d_name);
        if (*x->d_name != '.' && !is_folder(file)) find_crlf(file, x->d_name, out);
        free(file);
    }
    if (d)
        closedir(d);
    else {
        char *second = plus ? data_path(plus + 1, data_dir) : NULL;
        find_crlf(path, first, out);
        if (second) find_crlf(second, plus + 1, out);
        free(second);
    }
    free(path);
    free(first);
}

static void put_count(grid *t, size_t column, int64_t n) { grid_put(t, column, "%lld", (long long)n); }

/* A row of numbers per split; true if one of them is not zero. */
static bool put_row(grid *t, const char *what, const data_report *r, size_t field)
{
    bool some = false;
    grid_row(t, false);
    grid_put(t, 0, "%s", what);
    for (int s = 0; s < AB_SPLITS; s++) {
        int64_t n = *(const int64_t *)((const char *)&r->split[s] + field);
        put_count(t, 1 + (size_t)s, n);
        some = some || n;
    }
    return some;
}

static void put_bins(grid *t, const char *side, const data_report *r, bool source)
{
    for (int k = 0; k < LENGTH_BINS; k++) {
        grid_row(t, !k);
        if (k == LENGTH_BINS - 1)
            grid_put(t, 0, "%s: over %lld words", side, (long long)length_bins[k - 1]);
        else
            grid_put(t, 0, "%s: to %lld words", side, (long long)length_bins[k]);
        for (int s = 0; s < AB_SPLITS; s++)
            put_count(t, 1 + (size_t)s, (source ? r->split[s].src_bins : r->split[s].tgt_bins)[k]);
    }
}

#define AT(field) offsetof(split_report, field)
static const struct {
    const char *what, *alone; /* of pairs; of examples without a source, NULL: not for them */
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
            {"sides swapped, as another pair has them", NULL, AT(swapped), true},
            {"lengths differ over 3 times", NULL, AT(ratio), true}};
#undef AT

static bool print_report(const data_report *r, const char *place, const char *crlf, const char *note)
{
    grid t = {0};
    bool faults = *crlf != 0;
    t.title = place;
    grid_column(&t, "", false);
    static const char *const names[AB_SPLITS] = {"train", "dev", "test"};
    for (int s = 0; s < AB_SPLITS; s++) grid_column(&t, names[s], true);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const char *what = r->alone ? rows[i].alone : rows[i].what;
        bool some = what && put_row(&t, what, r, rows[i].field);
        faults = faults || (some && rows[i].fault);
    }
    if (!r->alone) put_bins(&t, "source", r, true);
    put_bins(&t, r->alone ? "length" : "target", r, false);
    if (*note) grid_note(&t, "%s", note);
    if (*crlf) grid_note(&t, "lines end in CR LF (read without the CR): %s", crlf);
    print_grid(&t);
    grid_free(&t);
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
    char message[1024] = "";
    err e = {0};
    arena a = {0};
    settings given = {0};
    void *self = NULL;
    data_report r;
    str crlf = {0};
    bool faults = false;
    const plugin *x = plugin_open(AB_TASK, o->task, &e);
    if (!x) return call_failed(c, &e);
    char *key = xprintf("%s.data", o->task);
    settings_put(&given, key, c->word[0], &a);
    free(key);
    if (same(o->task, "translation")) {
        settings_put(&given, "translation.src", o->src, &a);
        settings_put(&given, "translation.tgt", o->tgt, &a);
    }
    void *cfg = arena_alloc(&a, x->desc.cfg_size + 16);
    ab_env env = {.data_dir = c->p.data_dir, .seed = 1};
    int bad = 0;
    if (!has_data(x)) bad = fail(&e, "--task %s: has no %s.data to check", o->task, o->task);
    if (!bad && x->desc.params) bad = config_bind(&given, o->task, x->desc.params, cfg, &a, &e);
    if (!bad && x->iface.task.open(&self, cfg, &host_table, &env, message, sizeof message))
        bad = fail(&e, "%s", message);
    if (!bad) {
        data_inspect(&x->iface.task, self, &r);
        x->iface.task.close(self);
        if (!r.alone) find_all_crlf(c->word[0], c->p.data_dir, &crlf);
        faults = print_report(&r, c->word[0], str_text(&crlf), message);
    }
    str_free(&crlf);
    arena_free(&a);
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
    .about =
        "PLACE: as translation.data takes it: a folder, a table of two columns, two files joined by +; or as the data "
        "of "
        "another task. Faults: empty "
        "sides, CR LF, text that is not UTF-8, repeated pairs, pairs of dev or test that are in train, sides that are "
        "identical or swapped, lengths that differ by more than three times.",
    .arguments = "PLACE",
    .least = 1,
    .most = 1,
    .missing = "expected a corpus",
    .options = options,
    .defaults = &defaults,
    .size = sizeof(check_options),
    .run = check,
    .example = "ablate data check ./corpus.tsv --strict"};
