/* defaults.c - finds an INI's rows among the database's by their values, because versions of the program and of plugins
 * add keys and change defaults. Nothing is trained again without a request. */
#include "lab/results/read.h"
#include "lab/sweep/sweep.h"
#include <cjson/cJSON.h>
#include <string.h>
#include <sys/stat.h>

/* ---- named keys: a text with blanks around each ---- */

static void names_of_argv(const char *const *argv, size_t n, str *out)
{
    for (size_t i = 0; i < n; i++) {
        const char *set = has_prefix(argv[i], "-s=")         ? argv[i] + 3
                          : same(argv[i], "-s") && i + 1 < n ? argv[i + 1]
                                                             : "";
        spec_add_names(set, strcspn(set, "="), NULL, out);
    }
}

static void names_of_stored(const char *ini, const char *argv_json, str *out)
{
    cJSON *all = cJSON_Parse(argv_json);
    size_t n = 0, cap = all ? (size_t)cJSON_GetArraySize(all) : 0;
    AUTOFREE const char **argv = xcalloc(cap + 1, sizeof *argv);
    const cJSON *x;
    cJSON_ArrayForEach(x, all) if (cJSON_IsString(x)) argv[n++] = x->valuestring;
    spec_names(ini, out);
    names_of_argv(argv, n, out);
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
    bool wait = *s->analysis.match;
    for (size_t i = 0; i < s->n_rows; i++) wait = wait || s->rows[i].n_tunes;
    return wait;
}

/* Is the value found by a search or by matching, derived from such a value, or a run's name that a file replaces? */
static bool found_later(const spec *s, const spec_row *row, const char *key)
{
    const char *given = settings_get(&row->given, key);
    for (size_t i = 0; i < row->n_tunes; i++)
        if (same(row->tunes[i].key, key)) return true;
    return same(key, s->analysis.match_key) || config_names_run(key) ||
           (given && (same(given, "auto") || same(given, "same")));
}

/* ---- one row and one stored row ---- */

typedef struct {
    const spec *s;
    bool waiting;
    str names; /* keys that this INI or the stored INI names for all rows */
    arena a;
    read_stored *stored; /* base first, archived rows last */
    settings *then;      /* [n] settings of the stored rows; NULL: not read yet */
    size_t n;
    const char *ini, *argv; /* INI and arguments of the stored experiment */
    size_t apart;           /* position of the last named key that distinguished two rows */
} history;

static int open_history(history *h, const sweep_call *c, err *e)
{
    int bad = 0;
    str_addc(&h->names, ' ');
    names_of_stored(h->ini, h->argv, &h->names);
    spec_names(h->s->text, &h->names);
    if (c) names_of_argv((const char *const *)c->argv, (size_t)c->argc, &h->names);
    h->then = arena_alloc(&h->a, (h->n + 1) * sizeof *h->then);
    for (size_t k = 0; k < h->n && !bad; k++) {
        h->then[k] = (settings){0};
        bad = config_from_json(h->stored[k].json, &h->then[k], &h->a, e);
    }
    return bad;
}

/* Finds the key's value, searching from *from on, where it most likely is. */
static const char *value_from(const settings *s, const char *key, size_t *from)
{
    for (size_t n = 0; n < s->n; n++) {
        const setting *one = &s->at[(*from + n) % s->n];
        if (same(one->key, key)) return *from += n + 1, one->value;
    }
    return NULL;
}

/* Is the key at its default in `row` and stored row k? An archived row has no INI: its value must be stored base's. */
static bool unnamed(const history *h, const spec_row *row, size_t k, const char *key, const char *then)
{
    if (has_prefix(key, "layers.") || settings_get(&row->swept, key)) return false;
    if (is_named(str_text(&h->names), key) || is_named(h->stored[k].swept, key)) return false;
    const char *usual = settings_get(&h->then[0], key);
    return !h->stored[k].archived || !then || !usual || same(usual, then);
}

static bool same_value(const char *key, const char *now, const char *then)
{
    return same(now, then) || same(config_unmoved(key, now), config_unmoved(key, then));
}

/* Do row and stored row k differ at most in defaults? A key that the stored row lacks, because it was added since, must
 * have the value that changes nothing. words: the differing defaults, "beam_size = 8, was 4". */
static bool is_same(history *h, const spec_row *row, size_t k, str *words)
{
    const settings *now = &row->placed, *then = &h->then[k];
    bool trial = has_suffix(h->s->name, ".tune") || has_suffix(h->s->name, ".time"); /* these need no outputs */
    size_t from = 0, at = h->apart;
    str_clear(words);
    if (at && at < now->n && at < then->n && same(now->at[at].key, then->at[at].key) &&
        !same_value(now->at[at].key, now->at[at].value, then->at[at].value))
        return false;
    for (size_t i = 0; i < now->n; i++) {
        const char *key = now->at[i].key, *value = now->at[i].value, *old = value_from(then, key, &from);
        if (!config_is_hashed(key) || (old && same_value(key, value, old)) ||
            (h->waiting && found_later(h->s, row, key)))
            continue;
        if ((!old && config_came_later(key, value)) || (trial && same(key, "decode_split"))) continue;
        if (!unnamed(h, row, k, key, old)) {
            if (!h->waiting && is_named(str_text(&h->names), key)) h->apart = i;
            return false;
        }
        if (old) str_addf(words, "%s%s = %s, was %s", words->n ? ", " : "", key, value, old);
    }
    for (size_t i = 0; i < then->n; i++)
        if (has_prefix(then->at[i].key, "layers.") && !settings_get(now, then->at[i].key)) return false;
    return true;
}

/* Finds the stored row equal to this one, else a done one with other defaults (words: which). h->n: none. */
static size_t find_row(history *h, const spec_row *row, str *words)
{
    size_t found = h->n;
    CLEANUP(str_free) str now = {0};
    for (int round = 0; round < 2 && found == h->n; round++) /* first tries rows with its name */
        for (size_t k = 0; k < h->n; k++) {
            if (same(h->stored[k].name, row->name) == round || !is_same(h, row, k, &now)) continue;
            if (now.n && (found < h->n || !h->stored[k].done)) continue;
            found = k;
            str_clear(words);
            str_add(words, str_text(&now));
            if (!now.n) break;
        }
    return found;
}

/* ---- all rows ---- */

static bool is_known(const history *h, const char *hash, size_t *from)
{
    for (size_t n = 0; n < h->n; n++)
        if (same(h->stored[(*from + n) % h->n].hash, hash)) return *from += n + 1, true;
    return false;
}

int recognize_rows(const db_options *where, const sweep_call *c, spec *s, int rerun, err *e)
{
    enum { SHOWN = 5 };
    history h = {.s = s, .waiting = values_wait(s)};
    CLEANUP(str_free) str list = {0}, words = {0};
    struct stat st;
    size_t rows = 0, from = 0;
    if (stat(where->path, &st) || !st.st_size) return 0;
    CLEANUP(reader_end) reader *r = reader_open(where, e);
    int bad = r ? reader_stored(r, s->name, &h.a, &h.stored, &h.n, &h.ini, &h.argv, e) : -1;
    for (size_t i = 0; i < s->n_rows && h.n && !bad; i++) {
        spec_row *row = &s->rows[i];
        if (row->same_as >= 0 || is_known(&h, row->hash, &from)) continue; /* found by its hash */
        if (!h.then && (bad = open_history(&h, c, e))) continue;
        size_t k = find_row(&h, row, &words);
        if (k == h.n) continue;
        if (!words.n && !h.waiting) memcpy(row->hash, h.stored[k].hash, sizeof row->hash);
        if (words.n && ++rows <= SHOWN) str_addf(&list, "  %s: %s\n", row->name, str_text(&words));
    }
    if (rows > SHOWN) str_addf(&list, "  and %zu more rows\n", rows - SHOWN);
    if (!bad && rows && rerun != RERUN_CHANGED)
        bad = fail(e,
                   "%s: this version of ablate has other defaults than the version that trained the "
                   "results:\n%sNothing was trained. Put the old values into the INI to keep these results, or train "
                   "anew with --rerun changed, which keeps the old results as older runs (`ablate ls %s --older`)",
                   s->name, str_text(&list), s->name);
    arena_free(&h.a);
    str_free(&h.names);
    return bad ? -1 : 0;
}
