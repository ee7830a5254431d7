/* debug.c - ablate debug: trains a row of an INI from its first update to the one that fails, in one process. */
#include "cli/replay.h"
#include "lab/results/read.h"
#include "network/plugin/plugin.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    replay_options what;
    text_list set;
    int64_t seed, threads;
    const char *device;
} debug_options;

/* Splits INI/ROW: the file ends at ".ini"; the rest is the row, by default base. */
static const char *row_of(const char *text, char **file)
{
    const char *end = strstr(text, ".ini/");
    *file = end ? xstrndup(text, (size_t)(end - text) + 4) : xstrdup(text);
    return end ? end + 5 : "base";
}

static const spec_row *find_row(const spec *s, const char *name, err *e)
{
    const char **names = xcalloc(s->n_rows, sizeof *names);
    const spec_row *found = NULL;
    for (size_t i = 0; i < s->n_rows; i++) {
        names[i] = s->rows[i].name;
        if (same(names[i], name)) found = &s->rows[i];
    }
    const char *near = found ? NULL : nearest(name, names, s->n_rows);
    if (!found)
        fail(e, "%s: found no row \"%s\"%s%s%s", s->path, name, near ? "; did you mean \"" : "", near ? near : "",
             near ? "\"?" : "");
    else if (found->n_tunes)
        fail(e, "row %s: %s is found by a search: train it with `ablate run`, then `ablate replay` its run", name,
             found->tunes[0].key);
    free(names);
    return e->text[0] ? NULL : found;
}

/* start_from or teacher = RUN: finds the file of its model or state, as `ablate run` does. */
static int find_origin(const invocation *c, settings *set, const char *key, int64_t start_step, arena *a, err *e)
{
    const char *from = settings_get(set, key);
    if (!from || !*from || file_exists(from)) return 0;
    reader *r = reader_open_any(&c->p.db, e);
    char *path = r ? origin_file(r, from, start_step, e) : NULL;
    if (path) settings_put(set, key, path, a);
    reader_close(r);
    free(path);
    return path ? 0 : -1;
}

static int train(const invocation *c, const debug_options *o, const spec *s, const spec_row *row, err *e)
{
    arena a = {0};
    settings set = {0};
    str json = {0};
    for (size_t i = 0; i < row->placed.n; i++) settings_put(&set, row->placed.at[i].key, row->placed.at[i].value, &a);
    replay_job j = {0};
    int bad =
        find_origin(c, &set, "start_from", row->config.start_step, &a, e) || find_origin(c, &set, "teacher", 0, &a, e);
    if (!bad) config_to_json(&set, NULL, NULL, &json);
    if (!bad) bad = replay_job_of(c, &o->what, str_text(&json), &j, e);
    if (!bad) {
        j.job.device = o->device ? o->device : row->config.device;
        j.job.threads = o->threads ? o->threads : row->config.threads;
        j.job.seed = o->seed >= 0 ? o->seed : s->seeds[0];
        call_say(c, "%s, seed %lld, from its start\n", row->name, (long long)j.job.seed);
        bad = replay_train(&j, e) != TRAIN_DONE;
    }
    free((char *)j.job.cache_dir);
    str_free(&json);
    arena_free(&a);
    return bad;
}

static int debug(const invocation *c, void *options)
{
    debug_options *o = options;
    err e = {0};
    str errors = {0}, folders = {0};
    spec s = {0};
    char *file = NULL;
    const char *name = row_of(c->word[0], &file);
    spec_options from = {.set = o->set.at, .n_set = o->set.n};
    int code = replay_begin(c, &o->what);
    if (!code && !file_exists(file)) {
        fail(&e, "%s: found no such INI file; for a run of the database use `ablate replay`", file);
        code = call_usage(c, &e);
    }
    if (!code) {
        spec_plugin_path(file, &from, &folders);
        plugin_add_path(str_text(&folders));
        if (spec_read(&s, file, &from, run_schemas(), &errors)) fprintf(stderr, "%s", str_text(&errors)), code = 2;
    }
    if (!code) {
        const spec_row *row = find_row(&s, name, &e);
        if (!row || train(c, o, &s, row, &e)) code = call_failed(c, &e);
        spec_free(&s);
    }
    str_free(&errors);
    str_free(&folders);
    free(file);
    return code;
}

#define AT(field) offsetof(debug_options, field)
static const debug_options defaults = {.seed = -1};
static const option options[] = {
    REPLAY_OPTIONS(debug_options, what),
    {"-s", "KEY=VALUE", "override a setting of the INI's [base]", OPTION_LIST, AT(set), .choices = CHOICES_KEYS},
    {"--seed", "N", "the run's seed [the INI's first]", OPTION_COUNT, AT(seed), 0, 4294967295.0},
    {"--threads", "N", "processor threads [the INI's, or all]", OPTION_COUNT, AT(threads), 1, MOST_THREADS},
    {"--device", "auto|cpu|cuda|cuda:N", "device to compute on [the INI's]", OPTION_TEXT, AT(device),
     .choices = CHOICES_OWN},
    OPTION_DATABASE,
    {0}};
const command debug_command = {
    .name = "debug",
    .part = FOR_PLUGINS,
    .does = "train a row of an INI up to one step in this process, with plugins' ab_print, or under gdb",
    .about = "Trains from the start, writes no files and no results. Prints the step's loss and ab_print's\n"
             "output. `ablate replay` does so for a run of the database, from its checkpoints.",
    .arguments = "SPEC.ini[/ROW]",
    .least = 1,
    .most = 1,
    .missing = "expected an INI file, and a row if it is not base: SPEC.ini/ROW",
    .options = options,
    .defaults = &defaults,
    .size = sizeof defaults,
    .run = debug,
    .example = "ablate debug experiments/quick.ini/base --step 1 --gdb"};
