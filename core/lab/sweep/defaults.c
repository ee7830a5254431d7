/* defaults.c - the rows of an INI among those that the database has: by values, since keys come and change defaults
 * with versions of the program and of plugins. Nothing is trained again without being asked. */
#include "lab/results/read.h"
#include "lab/sweep/sweep.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- which keys are named, each between blanks ---- */

static void names_of_argv(const char *const *argv, size_t n, str *out)
{
    for (size_t i = 0; i < n; i++) {
        const char *set = has_prefix(argv[i], "-s=")         ? argv[i] + 3
                          : same(argv[i], "-s") && i + 1 < n ? argv[i + 1]
                          : has_prefix(argv[i], "--ranks")   ? "ranks="
                                                             : "";
        spec_add_names(set, strcspn(set, "="), NULL, out);
    }
}

static void names_of_stored(const char *ini, const char *argv_json, str *out)
{
    cJSON *all = cJSON_Parse(argv_json);
    size_t n = 0, cap = all ? (size_t)cJSON_GetArraySize(all) : 0;
    const char **argv = xcalloc(cap + 1, sizeof *argv);
    const cJSON *x;
    cJSON_ArrayForEach(x, all) if (cJSON_IsString(x)) argv[n++] = x->valuestring;
    spec_names(ini, out);
    names_of_argv(argv, n, out);
    free(argv);
    cJSON_Delete(all);
}

static bool is_named(const char *names, const char *key)
{
    char word[160];
    snprintf(word, sizeof word, " %s ", key);
    return strstr(names, word);
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

/* ---- one row and one stored row ---- */

typedef struct {
    const spec *s;
    bool waiting;
    str names; /* keys that this INI, or the one stored, names for all rows */
    arena a;
    read_stored *stored; /* those in force first, base first of all */
    settings *then;      /* [n] */
    size_t n;
    const char *apart, **of; /* the key that told two rows apart last, and its value in each stored row */
} history;

static void remember_apart(history *h, const char *key)
{
    h->apart = key;
    for (size_t k = 0; k < h->n; k++) h->of[k] = settings_get(&h->then[k], key);
}

/* Is the key at its default in both? What an archived row was asked for nobody knows; base tells the default. */
static bool unnamed(const history *h, const spec_row *row, size_t k, const char *key, const char *then)
{
    if (has_prefix(key, "layers.") || settings_get(&row->swept, key)) return false;
    if (is_named(str_text(&h->names), key) || is_named(h->stored[k].swept, key)) return false;
    const char *usual = settings_get(&h->then[0], key);
    return !h->stored[k].archived || !then || !usual || same(usual, then);
}

/* Are row and stored row k the same but for defaults? A key that came since has, for the stored row, the value that
 * changes nothing. words: "beam_size = 8, was 4" of the defaults. */
static bool is_same(history *h, const spec_row *row, size_t k, str *words)
{
    const settings *now = &row->placed, *then = &h->then[k];
    bool trial = has_suffix(h->s->name, ".tune") || has_suffix(h->s->name, ".time"); /* needs no outputs */
    str_clear(words);
    for (size_t i = 0; i < now->n; i++) {
        const char *key = now->at[i].key, *value = now->at[i].value, *old = settings_get(then, key);
        if (!config_is_hashed(key) || (old && same(old, value)) || (h->waiting && found_later(h->s, row, key)))
            continue;
        if ((!old && config_came_later(key, value)) || (trial && same(key, "decode_split"))) continue;
        if (!unnamed(h, row, k, key, old)) {
            if (is_named(str_text(&h->names), key) || settings_get(&row->swept, key)) remember_apart(h, key);
            return false;
        }
        if (old) str_addf(words, "%s%s = %s, was %s", words->n ? ", " : "", key, value, old);
    }
    for (size_t i = 0; i < then->n; i++)
        if (has_prefix(then->at[i].key, "layers.") && !settings_get(now, then->at[i].key)) return false;
    return true;
}

/* The row's value of the key that told rows apart last, if a difference there is one here too; else NULL. */
static const char *apart_value(const history *h, const spec_row *row)
{
    bool asked = h->apart && (is_named(str_text(&h->names), h->apart) || settings_get(&row->swept, h->apart));
    return asked && !(h->waiting && found_later(h->s, row, h->apart)) ? settings_get(&row->placed, h->apart) : NULL;
}

/* The stored row that equals it, else one that is done and differs in defaults alone, whose words are left; h->n. */
static size_t find_row(history *h, const spec_row *row, str *words)
{
    size_t found = h->n;
    const char *value = apart_value(h, row);
    str now = {0};
    for (int round = 0; round < 2 && found == h->n; round++) /* rows of its name first */
        for (size_t k = 0; k < h->n; k++) {
            if (same(h->stored[k].name, row->name) == round || (value && h->of[k] && !same(h->of[k], value))) continue;
            if (!is_same(h, row, k, &now)) {
                value = apart_value(h, row);
                continue;
            }
            if (now.n && (found < h->n || !h->stored[k].done)) continue;
            found = k;
            str_clear(words);
            str_add(words, str_text(&now));
            if (!now.n) break;
        }
    str_free(&now);
    return found;
}

/* ---- all of them ---- */

static int by_hash(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Rows that the database knows by their hash need no comparison. */
static bool *unknown_rows(const history *h, size_t *n)
{
    bool *unknown = xcalloc(h->s->n_rows + 1, sizeof *unknown);
    const char **hashes = xcalloc(h->n + 1, sizeof *hashes);
    for (size_t k = 0; k < h->n; k++) hashes[k] = h->stored[k].hash;
    qsort((void *)hashes, h->n, sizeof *hashes, by_hash);
    for (size_t i = *n = 0; i < h->s->n_rows; i++) {
        const char *hash = h->s->rows[i].hash;
        unknown[i] = h->s->rows[i].same_as < 0 && !bsearch(&hash, hashes, h->n, sizeof *hashes, by_hash);
        *n += unknown[i];
    }
    free(hashes);
    return unknown;
}

static int open_history(history *h, const char *ini, const char *argv, const sweep_call *c, err *e)
{
    int bad = 0;
    str_addc(&h->names, ' ');
    names_of_stored(ini, argv, &h->names);
    spec_names(h->s->text, &h->names);
    if (c) names_of_argv((const char *const *)c->argv, (size_t)c->argc, &h->names);
    h->then = arena_alloc(&h->a, (h->n + 1) * sizeof *h->then);
    h->of = arena_alloc(&h->a, (h->n + 1) * sizeof *h->of);
    for (size_t k = 0; k < h->n && !bad; k++) {
        h->then[k] = (settings){0};
        bad = config_from_json(h->stored[k].json, &h->then[k], &h->a, e);
    }
    return bad ? -1 : 0;
}

/* "  base: beam_size = 8, was 4" and so on of the first rows; equal rows get the stored hash. */
static size_t compare_rows(history *h, spec *s, const bool *unknown, str *list)
{
    enum { SHOWN = 5 };
    size_t rows = 0;
    str words = {0};
    for (size_t i = 0; i < s->n_rows; i++) {
        size_t k = unknown[i] ? find_row(h, &s->rows[i], &words) : h->n;
        if (k == h->n) continue;
        if (!words.n && !h->waiting) memcpy(s->rows[i].hash, h->stored[k].hash, sizeof s->rows[i].hash);
        if (words.n && ++rows <= SHOWN) str_addf(list, "  %s: %s\n", s->rows[i].name, str_text(&words));
    }
    if (rows > SHOWN) str_addf(list, "  and %zu more rows\n", rows - SHOWN);
    str_free(&words);
    return rows;
}

int recognize_rows(const db_options *where, const sweep_call *c, spec *s, int rerun, err *e)
{
    history h = {.s = s, .waiting = values_wait(s)};
    str list = {0};
    struct stat st;
    const char *ini, *argv;
    size_t n = 0;
    if (stat(where->path, &st) || !st.st_size) return 0;
    reader *r = reader_open(where, e);
    int bad = r ? reader_stored(r, s->name, &h.a, &h.stored, &h.n, &ini, &argv, e) : -1;
    reader_close(r);
    bool *unknown = unknown_rows(&h, &n);
    if (!bad && n && h.n) bad = open_history(&h, ini, argv, c, e);
    if (!bad && n && h.n && compare_rows(&h, s, unknown, &list) && rerun != RERUN_CHANGED)
        bad = fail(e,
                   "%s: this version has other defaults than the one that trained its results:\n%sNothing was "
                   "trained. Put the old values into the INI to go on with these results, or train anew with "
                   "--rerun changed; the old ones stay then (`ablate ls %s --older`)",
                   s->name, str_text(&list), s->name);
    free(unknown);
    arena_free(&h.a);
    str_free(&h.names);
    str_free(&list);
    return bad ? -1 : 0;
}
