/* finish.c - turns the rows' settings into resolved settings, config, JSON and hash; finds equal rows; selects rows. */
#include "lab/config/build.h"
#include "network/settings/places.h"
#include <fnmatch.h>
#include <math.h>
#include <string.h>

typedef struct {
    const plugin_schema **at;
    size_t n, cap;
} plugin_list;

static void add_plugin(build *b, const plugin_schema *s, plugin_list *out)
{
    if (!s) return;
    out->at = build_room(out->at, &out->cap, out->n, sizeof *out->at, b->a);
    out->at[out->n++] = s;
}

/* Lists the plugins that the row runs, some more than once. Skips `attention`: it only sets the keys
 * attention_encoder, attention_decoder and attention_cross, which are resolved by now. */
static plugin_list plugins_of(build *b, const spec_row *row)
{
    plugin_list out = {0};
    for (size_t i = 0; i < row->settings.n; i++) {
        const setting *one = &row->settings.at[i];
        const char *kind = config_plugin_kind(one->key);
        const plugin_schema *s = kind && !same(one->key, "attention") ? value_plugin(b, kind, one->value) : NULL;
        add_plugin(b, s, &out);
        for (const char *const *c = s ? s->calls : NULL; c && *c; c++)
            add_plugin(b, value_plugin(b, "attention", *c), &out);
    }
    return out;
}

static void add_params(build *b, const spec_row *row, const plugin_schema *s, settings *out)
{
    for (const ab_option *p = s->params; p && p->name; p++) {
        const char *key = arena_printf(b->a, "%s.%s", s->name, p->name), *given = settings_get(&row->given, key),
                   *usual = param_default(p, b->a), *before = settings_get(&b->defaults, key);
        settings_set(out, key, given ? given : usual, b->a);
        if (settings_get(&b->base, key)) continue;
        if (before && !same(before, usual))
            complain(
                b, b->row_where[row->order], row->name,
                "found two plugins named %s with the defaults %s = %s and %s; rename one, or set the key in [base]",
                s->name, key, before, usual);
        settings_set(&b->defaults, key, usual, b->a);
        /* [base] prints the default, so that the expansion does not depend on the plugin. */
        settings_set(&b->s->rows[0].given, key, usual, b->a);
    }
}

static bool has_params(const plugin_schema *s) { return s->params && s->params->name; }

/* Refuses two plugins with one name whose keys would be ambiguous. */
static void check_clash(build *b, const spec_row *row, const plugin_list *x)
{
    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < i; k++) {
            const plugin_schema *s = x->at[i], *other = x->at[k];
            if (s == other || !same(s->name, other->name) || !has_params(s) || !has_params(other)) continue;
            complain(b, b->row_where[row->order], row->name,
                     "found two plugins named %s that both have parameters, expected different names", s->name);
            return;
        }
}

/* Are all plugins of the row loaded? Complains if not: without their parameters the row would have another hash. */
static bool all_loaded(build *b, const spec_row *row)
{
    bool all = true;
    for (size_t i = 0; i < row->settings.n; i++) {
        const setting *one = &row->settings.at[i];
        const char *kind = config_plugin_kind(one->key);
        if (!kind || same(one->key, "attention") || value_plugin(b, kind, one->value)) continue;
        all = complain(b, b->row_where[row->order], row->name,
                       "found %s = %s, which is not loaded, expected an available plugin of kind %s", one->key,
                       one->value, kind);
    }
    return all;
}

/* Makes paths of plugins absolute, because a worker may run in another folder. */
static void place_paths(build *b, spec_row *row)
{
    CLEANUP(str_free) str folders = {0};
    for (size_t i = 0; i < row->settings.n; i++) {
        const setting *one = &row->settings.at[i];
        const char *kind = config_plugin_kind(one->key);
        const known_plugin *k = kind ? known_of(b, kind, one->value) : NULL;
        settings_set(&row->placed, one->key, k && k->file ? k->file : one->value, b->a);
    }
    absolute_folders(b->s, "", settings_get(&row->given, "plugin_path"), &folders);
    settings_set(&row->placed, "plugin_path", str_text(&folders), b->a);
}

/* The value found for the row by a search or matching, or NULL. */
static const char *chosen_for(const build *b, const spec_row *row, const char *key)
{
    for (size_t i = 0; i < b->options->n_chosen; i++)
        if (same(b->options->chosen[i].row, row->name) && same(b->options->chosen[i].key, key))
            return b->options->chosen[i].value;
    return NULL;
}

static void copy_setting(build *b, const setting *from, settings *to)
{
    settings_set(to, from->key, from->value, b->a);
}

/* Chosen values override the file; a search without a chosen value keeps the middle of its range and is listed. */
static void apply_chosen(build *b, spec_row *row)
{
    spec_tune any;
    for (size_t i = 0; i < row->given.n; i++)
        if (tune_read(b, row->given.at[i].key, row->given.at[i].value, &any))
            copy_setting(b, &row->given.at[i], &row->searched);
    for (size_t i = 0; i < b->options->n_chosen; i++) {
        const spec_chosen *c = &b->options->chosen[i];
        if (!same(c->row, row->name)) continue;
        settings_set(&row->given, c->key, c->value, b->a);
        if (!row->is_base) settings_set(&row->swept, c->key, c->value, b->a);
    }
    row->tunes = arena_alloc(b->a, (row->given.n + 1) * sizeof *row->tunes);
    for (size_t i = 0; i < row->given.n; i++) {
        setting *one = &row->given.at[i];
        spec_tune t;
        if (!tune_read(b, one->key, one->value, &t) || chosen_for(b, row, one->key)) continue;
        row->tunes[row->n_tunes++] = t;
        one->value = tune_middle(b, &t);
    }
}

static bool resolve_row(build *b, spec_row *row)
{
    err e = {{0}};
    settings all = {0};
    apply_chosen(b, row);
    settings places = {0};
    const char *where = b->row_where[row->order], *key = b->s->analysis.match_key;
    if (config_from_settings(&row->given, &row->config, b->a, &e) ||
        places_resolve(&row->given, &row->config, &places, b->a, &e))
        return complain(b, where, row->name, "%s", e.text);
    if (places.n && *b->s->analysis.match && (same(key, "layers") || same(key, "d_model")))
        return complain(b, where, row->name,
                        "found %s, a setting of some layers; match by %s does not allow these: match by another key",
                        places.at[0].key, key);
    config_unbind(&row->config, NULL, config_params, &all, b->a);
    for (size_t i = 0; i < all.n; i++)
        if (!same(all.at[i].key, "seed")) copy_setting(b, &all.at[i], &row->settings);
    for (size_t i = 0; i < places.n; i++)
        if (!strchr(place_inner(places.at[i].key), '.')) copy_setting(b, &places.at[i], &row->settings);
    if (!all_loaded(b, row)) return false;
    settings params = {0};
    plugin_list plugins = plugins_of(b, row);
    check_clash(b, row, &plugins);
    for (size_t i = 0; i < plugins.n; i++) add_params(b, row, plugins.at[i], &params);
    for (size_t i = 0; i < params.n; i++) copy_setting(b, &params.at[i], &row->settings);
    for (size_t i = 0; i < places.n; i++) { /* then settings of layers for parameters of plugins that the row uses */
        const char *inner = place_inner(places.at[i].key);
        if (strchr(inner, '.') && settings_get(&params, inner)) copy_setting(b, &places.at[i], &row->settings);
    }
    return true;
}

/* Hashes a row. While a search is pending, the hash covers the searches themselves: the row differs from a row with the
 * middle of the range, and from a row with another range. */
static void hash_row(build *b, spec_row *row)
{
    settings planned = {0};
    for (size_t i = 0; i < row->settings.n && row->searched.n; i++) {
        const char *key = row->settings.at[i].key, *search = settings_get(&row->searched, key),
                   *given = settings_get(&row->given, key);
        bool derived = given && (same(given, "auto") || same(given, "same"));
        settings_set(&planned, key, search ? search : derived ? given : row->settings.at[i].value, b->a);
    }
    if (planned.n) config_hash(&planned, row->planned);
    if (row->n_tunes)
        memcpy(row->hash, row->planned, sizeof row->hash);
    else
        config_hash(&row->settings, row->hash);
}

static const ab_option *lookup(void *user, const char *key) { return key_param(user, key); }

static void write_row(build *b, spec_row *row, name_set *hashes)
{
    CLEANUP(str_free) str json = {0};
    hash_row(b, row);
    place_paths(b, row);
    config_to_json(&row->placed, lookup, b, &json);
    row->json = arena_strdup(b->a, str_text(&json));
    size_t first;
    if (!name_set_add(hashes, row->hash, row->order, &first)) row->same_as = (int)first;
}

/* ---- parameters that no plugin of the row or of any row reads ---- */

static void check_used(build *b)
{
    for (size_t i = 0; i < b->s->n_rows; i++) {
        const spec_row *row = &b->s->rows[i];
        for (size_t k = 0; k < row->swept.n; k++)
            if (strchr(row->swept.at[k].key, '.') && !settings_get(&row->settings, row->swept.at[k].key))
                complain(b, b->row_where[i], row->swept.at[k].key, "no plugin that row %s uses has this parameter",
                         row->name);
    }
    for (size_t k = 0; k < b->n_base_params; k++) {
        bool used = false;
        for (size_t i = 0; i < b->s->n_rows; i++)
            used |= settings_get(&b->s->rows[i].settings, b->base_params[k].key) != NULL;
        if (!used)
            complain(b, b->base_params[k].where, b->base_params[k].key, "no plugin that a row uses has this parameter");
    }
}

/* ---- seeds ---- */

size_t spec_base_auto(size_t seeds, size_t rows)
{
    return (size_t)ceil((double)seeds * sqrt((double)(rows ? rows : 1)) - 1e-9);
}

size_t spec_seeds(const spec *s, const spec_row *row) { return row->n_seeds ? row->n_seeds : s->n_seeds; }

void spec_seeds_text(const spec *s, size_t rows, str *out)
{
    str_addf(out, "%zu seed%s", rows, rows == 1 ? "" : "s");
    if (s->base_seeds) str_addf(out, ", %zu of base", spec_seeds(s, &s->rows[0]));
}

/* Appends the next numbers to the list of seeds until there are n. */
static void continue_seeds(build *b, size_t n)
{
    spec *s = b->s;
    size_t listed = s->analysis.until.most > (int64_t)s->n_seeds ? (size_t)s->analysis.until.most : s->n_seeds;
    int64_t *seeds = arena_alloc(b->a, (listed + n) * sizeof *seeds), last = 0;
    for (size_t i = 0; i < listed; i++) seeds[i] = s->seeds[i], last = seeds[i] > last ? seeds[i] : last;
    for (size_t i = listed; i < n; i++) seeds[i] = ++last;
    if (last > UINT32_MAX)
        complain(b, s->path, "seeds", "base's additional seeds reach %lld, expected at most %lld", (long long)last,
                 (long long)UINT32_MAX);
    s->seeds = seeds, s->n_seeds = n > s->n_seeds ? n : s->n_seeds;
}

/* Sets how many seeds each row trains. With `base =`, rows that others are compared with train more. */
static void set_seeds(build *b)
{
    spec *s = b->s;
    size_t *rivals = arena_alloc(b->a, s->n_rows * sizeof *rivals), own = s->n_row_seeds = s->n_seeds, most = own;
    if (!s->base_seeds) return;
    for (size_t i = 0; i < s->n_rows; i++) {
        const spec_row *row = &s->rows[i];
        const char *name = row->base ? row->base : row->size_base;
        const spec_row *base = name ? row_called(b, name) : s->rows;
        if (base && base != row && row->same_as < 0) rivals[base - s->rows]++;
    }
    for (size_t i = 0; i < s->n_rows; i++) {
        spec_row *trained = s->rows[i].same_as < 0 ? &s->rows[i] : &s->rows[s->rows[i].same_as];
        size_t n = !rivals[i]                   ? own
                   : s->base_seeds == BASE_AUTO ? spec_base_auto(own, rivals[i])
                                                : (size_t)s->base_seeds;
        s->rows[i].n_seeds = n;
        if (n > trained->n_seeds) trained->n_seeds = n;
        most = n > most ? n : most;
    }
    if (most > MOST_VALUES)
        complain(b, s->path, "seeds", "base = auto gives base %zu seeds, expected at most %d", most, MOST_VALUES);
    else
        continue_seeds(b, most);
}

/* ---- selection ---- */

static bool chosen_by(const spec_row *row, const char *pattern)
{
    return same(row->name, pattern) || (*row->group && same(row->group, pattern)) || !fnmatch(pattern, row->name, 0);
}

static void select_rows(build *b)
{
    enum { MOST_NAMED = 8 };
    spec *s = b->s;
    const char **names = arena_alloc(b->a, 2 * s->n_rows * sizeof *names);
    for (size_t i = 0; i < s->n_rows; i++) {
        s->rows[i].selected = !s->n_only;
        names[2 * i] = s->rows[i].name, names[2 * i + 1] = s->rows[i].group;
    }
    if (s->n_only > MOST_PATTERNS) {
        complain(b, b->only_where, "only", "found %zu patterns, expected at most %d", s->n_only, MOST_PATTERNS);
        return;
    }
    for (size_t k = 0; k < s->n_only; k++) {
        bool any = false;
        for (size_t i = 0; i < s->n_rows; i++)
            if (chosen_by(&s->rows[i], s->only[k])) any = s->rows[i].selected = true;
        if (any) continue;
        const char *near = nearest(s->only[k], names, 2 * s->n_rows);
        const char *several = strchr(s->only[k], ',') ? " (for several rows, repeat --only)" : "";
        bool found = near && *near;
        CLEANUP(str_free) str list = {0};
        for (size_t i = 0; i < s->n_rows && i < MOST_NAMED && !found; i++)
            str_addf(&list, "%s%s", i ? ", " : "", s->rows[i].name);
        if (!found && s->n_rows > MOST_NAMED) str_addf(&list, " and %zu more", s->n_rows - MOST_NAMED);
        complain(b, b->only_where, "only",
                 "found \"%s\", which no row matches, expected a row, a group or a pattern%s; %s%s%s", s->only[k],
                 several, found ? "did you mean " : "rows: ", found ? near : str_text(&list), found ? "?" : "");
    }
    for (size_t i = 0; i < s->n_rows; i++) {
        const spec_row *row = &s->rows[i];
        if (row->selected) s->rows[row->same_as < 0 ? i : (size_t)row->same_as].run = true;
    }
    for (size_t i = 0; i < s->n_rows; i++) s->n_runs += s->rows[i].run ? spec_seeds(s, &s->rows[i]) : 0;
    if (s->n_runs > MOST_RUNS)
        complain(b, s->path, "seeds", "found %zu rows x %zu seeds = %zu runs, expected at most %d", s->n_rows,
                 s->n_row_seeds, s->n_runs, MOST_RUNS);
}

void finish_rows(build *b)
{
    for (size_t i = 0; i < b->s->n_rows; i++)
        if (!resolve_row(b, &b->s->rows[i]) && !i) return; /* an error in base is an error in most rows */
    if (b->errors->n) return;
    CLEANUP(name_set_free) name_set hashes = {0};
    for (size_t i = 0; i < b->s->n_rows; i++) write_row(b, &b->s->rows[i], &hashes);
    check_used(b);
    set_seeds(b);
    select_rows(b);
}
