/* replay_ini.c - ablate replay SPEC.ini: trains a row of an INI in this process, from its first update. */
#include "cli/replay.h"
#include "lab/sweep/sweep.h"
#include "network/plugin/plugin.h"
#include <string.h>

/* Splits INI/ROW: the file ends at ".ini"; the rest is the row, by default base. */
static const char *row_of(const char *text, char **file)
{
    const char *end = strstr(text, ".ini/");
    *file = end ? xstrndup(text, (size_t)(end - text) + 4) : xstrdup(text);
    return end ? end + 5 : "base";
}

static const spec_row *find_row(const spec *s, const char *name, err *e)
{
    AUTOFREE const char **names = xcalloc(s->n_rows, sizeof *names);
    const spec_row *found = NULL;
    for (size_t i = 0; i < s->n_rows; i++) {
        names[i] = s->rows[i].name;
        if (same(names[i], name)) found = &s->rows[i];
    }
    if (!found)
        fail(e, "%s: found no row \"%s\"%s", s->path, name, suggestion(name, names, s->n_rows, "\""));
    else if (found->n_tunes)
        fail(e, "row %s: %s is found by a search: train it with `ablate run`, then `ablate replay` its run", name,
             found->tunes[0].key);
    return e->text[0] ? NULL : found;
}

static int train(const invocation *c, const replay_call *o, const spec *s, const spec_row *row, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    settings set = {0};
    CLEANUP(str_free) str json = {0};
    for (size_t i = 0; i < row->placed.n; i++) settings_set(&set, row->placed.at[i].key, row->placed.at[i].value, &a);
    CLEANUP(replay_job_free) replay_job j = {0};
    CLEANUP(prepared_free) prepared found = {0};
    spec alone = *s;
    alone.rows = (spec_row *)row, alone.n_rows = 1;
    int bad = check_origins(&alone, &c->p.db, &found, e);
    for (size_t i = 0; i < found.n; i++) settings_set(&set, found.chosen[i].key, found.chosen[i].value, &a);
    if (!bad) config_to_json(&set, NULL, NULL, &json);
    if (!bad) bad = replay_job_of(&c->p, &o->what, str_text(&json), &j, e);
    if (!bad) {
        j.job.device = row->config.device;
        j.job.threads = row->config.threads;
        j.job.seed = o->seed >= 0 ? o->seed : s->seeds[0];
        call_say(c, "%s, seed %lld, from its start\n", row->name, (long long)j.job.seed);
        bad = replay_train(&j, e) != TRAIN_DONE;
    }
    return bad;
}

int replay_ini(const invocation *c, replay_call *o)
{
    err e = {0};
    CLEANUP(str_free) str errors = {0}, folders = {0};
    CLEANUP(spec_free) spec s = {0};
    AUTOFREE char *file = NULL;
    const char *name = row_of(c->word[0], &file);
    spec_options from = {.set = o->set.at, .n_set = o->set.n};
    int code = replay_begin(c, &o->what);
    if (!code && !file_exists(file)) code = call_usage(c, "%s: found no such INI file", file);
    if (!code) {
        spec_plugin_path(file, &from, &folders);
        plugin_add_path(str_text(&folders));
        if (spec_read(&s, file, &from, run_schemas(), &errors)) fprintf(stderr, "%s", str_text(&errors)), code = 2;
    }
    if (!code) {
        const spec_row *row = find_row(&s, name, &e);
        if (!row || train(c, o, &s, row, &e)) code = call_failed(c, &e);
    }
    return code;
}
