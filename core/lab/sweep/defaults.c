/* defaults.c - the same INI as last time, but rows with other settings: then this version of the program, or of a
 * plugin, has other defaults than the one that trained the results. Nothing is trained again without being asked. */
#include "lab/results/read.h"
#include "lab/sweep/sweep.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

/* The values of -s and --plugin-path, a line each: what besides the INI decides about settings. */
static void settings_of(const char *const *argv, size_t n, str *out)
{
    static const char *const names[] = {"-s", "--plugin-path", "--ranks"};
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < LENGTH(names); k++) {
            size_t length = strlen(names[k]);
            if (same(argv[i], names[k]) && i + 1 < n)
                str_addf(out, "%s %s\n", names[k], argv[i + 1]);
            else if (has_prefix(argv[i], names[k]) && argv[i][length] == '=')
                str_addf(out, "%s %s\n", names[k], argv[i] + length + 1);
        }
}

static void stored_settings(const char *argv_json, str *out)
{
    cJSON *all = cJSON_Parse(argv_json);
    size_t n = 0, cap = all ? (size_t)cJSON_GetArraySize(all) : 0;
    const char **argv = xcalloc(cap + 1, sizeof *argv);
    const cJSON *x;
    cJSON_ArrayForEach(x, all) if (cJSON_IsString(x)) argv[n++] = x->valuestring;
    settings_of(argv, n, out);
    free(argv);
    cJSON_Delete(all);
}

static bool same_call(const sweep_call *c, const spec *s, const char *ini, const char *argv)
{
    str now = {0}, then = {0};
    settings_of((const char *const *)c->argv, (size_t)c->argc, &now);
    stored_settings(argv, &then);
    bool equal = same(ini, s->text) && same(str_text(&now), str_text(&then));
    str_free(&now);
    str_free(&then);
    return equal;
}

bool values_wait(const spec *s)
{
    bool wait = *s->match;
    for (size_t i = 0; i < s->n_rows; i++) wait = wait || s->rows[i].n_tunes;
    return wait;
}

/* Is the value of the key found by a search or by matching, derived from one that is, or a run that becomes a file? */
static bool found_later(const spec *s, const spec_row *row, const char *key)
{
    const char *given = settings_get(&row->given, key);
    for (size_t i = 0; i < row->n_tunes; i++)
        if (same(row->tunes[i].key, key)) return true;
    return same(key, s->match_key) || same(key, "start_from") || same(key, "teacher") ||
           (given && (same(given, "auto") || same(given, "same")));
}

/* "beam_size = 8, was 4", of the keys that count. */
static void differences(const spec *s, const spec_row *row, const settings *then, str *out)
{
    const settings *now = &row->settings;
    bool waiting = values_wait(s);
    for (size_t i = 0; i < now->n; i++) {
        const char *key = now->at[i].key, *old = settings_get(then, key);
        if (config_is_hashed(key) && old && !same(old, now->at[i].value) && !(waiting && found_later(s, row, key)))
            str_addf(out, "%s%s = %s, was %s", out->n ? ", " : "", key, now->at[i].value, old);
    }
}

static const spec_row *row_named(const spec *s, const char *name)
{
    for (size_t i = 0; i < s->n_rows; i++)
        if (same(s->rows[i].name, name) && s->rows[i].run) return &s->rows[i];
    return NULL;
}

static int compare(reader *r, const spec *s, str *out, err *e)
{
    enum { SHOWN = 5 };
    arena a = {0};
    read_experiment x = {0};
    int rc = reader_experiment(r, s->name, READ_VALUES, &a, &x, e);
    size_t rows = 0;
    for (size_t i = 0; i < x.n_rows && !rc; i++) {
        const spec_row *row = row_named(s, x.rows[i].name);
        size_t done = 0;
        settings then = {0};
        str words = {0};
        for (size_t k = 0; k < x.rows[i].n_runs; k++) done += x.rows[i].runs[k].status == DB_DONE;
        if (!row || !done || x.rows[i].same_as || same(row->hash, x.rows[i].config_hash)) continue;
        err ignored = {0};
        if (!config_from_json(x.rows[i].config_json, &then, &a, &ignored)) differences(s, row, &then, &words);
        if (words.n && ++rows <= SHOWN) str_addf(out, "  %s: %s\n", row->name, str_text(&words));
        str_free(&words);
    }
    if (rows > SHOWN) str_addf(out, "  and %zu more rows\n", rows - SHOWN);
    arena_free(&a);
    return rc < 0 ? -1 : 0;
}

int check_defaults(db *d, const sweep_call *c, const spec *s, int rerun, err *e)
{
    str ini = {0}, argv = {0}, words = {0};
    reader *r = NULL;
    int bad = rerun == RERUN_CHANGED ? 0 : db_stored_spec(d, s->name, &ini, &argv, e);
    if (bad > 0 && same_call(c, s, str_text(&ini), str_text(&argv))) {
        r = reader_open(&c->p->db, e);
        bad = r ? compare(r, s, &words, e) : -1;
        reader_close(r);
        if (!bad && words.n)
            bad = fail(e,
                       "%s: this version has other defaults than the one that trained its results:\n%sNothing was "
                       "trained. Put the old values into the INI to go on with these results, or train anew with "
                       "--rerun changed; the old ones stay then (`ablate ls %s --older`)",
                       s->name, str_text(&words), s->name);
    }
    str_free(&ini);
    str_free(&argv);
    str_free(&words);
    return bad < 0 ? -1 : 0;
}
