/* values.c - one entry of an INI as keys and lists of checked, canonical values. */
#include "network/settings/plugin_files.h"
#include "lab/config/build.h"
#include "network/settings/places.h"
#include <string.h>

bool complain(build *b, const char *where, const char *key, const char *fmt, ...)
{
    va_list args;
    if (!room_for_error(b->errors)) return false;
    str_addf(b->errors, "%s: %s: ", where, key);
    va_start(args, fmt);
    str_addv(b->errors, fmt, args);
    va_end(args);
    str_addc(b->errors, '\n');
    return false;
}

bool complain_twice(build *b, const char *where, const char *key, const char *first)
{
    return complain(b, where, key, "found a second time, expected once; the first is at %s", first);
}

/* ---- text ---- */

size_t split_text(const char *text, char mark, const char ***parts, arena *a)
{
    size_t n = 1, i = 0;
    for (const char *p = text; *p; p++) n += *p == mark;
    *parts = arena_alloc(a, n * sizeof **parts);
    bool quoted = false;
    const char *start = text;
    for (const char *p = text;; p++) {
        if (*p == '"') quoted = !quoted;
        if (*p && (*p != mark || quoted)) continue;
        (*parts)[i++] = trim(arena_strndup(a, start, (size_t)(p - start)));
        if (!*p) return i;
        start = p + 1;
    }
}

const char *unquote(const char *text, arena *a)
{
    size_t n = strlen(text);
    if (n >= 2 && text[0] == '"' && strchr(text + 1, '"') == text + n - 1) return arena_strndup(a, text + 1, n - 2);
    return text;
}

/* "1..9:2" -> from, to, by; false: not a range. */
static bool read_range(const char *text, int64_t *from, int64_t *to, int64_t *by, arena *a)
{
    const char *dots = strstr(text, "..");
    if (!dots) return false;
    const char *colon = strchr(dots, ':');
    size_t n = colon ? (size_t)(colon - dots - 2) : strlen(dots + 2);
    const double most = 1e15; /* keeps the arithmetic below from overflowing */
    *by = 1;
    return parse_int(arena_strndup(a, text, (size_t)(dots - text)), from) &&
           parse_int(arena_strndup(a, dots + 2, n), to) && (!colon || parse_int(colon + 1, by)) && *by > 0 &&
           (double)*by < most && (double)*from > -most && (double)*to < most && *from <= *to &&
           (*to - *from) / *by < MOST_VALUES;
}

/* ---- keys ---- */

static const ab_option *find(const ab_option *table, const char *name)
{
    for (const ab_option *p = table; p && p->name; p++)
        if (same(p->name, name)) return p;
    return NULL;
}

static bool key_is_of(const char *key, const char *plugin)
{
    size_t n = strlen(plugin);
    return !strncmp(key, plugin, n) && key[n] == '.';
}

const ab_option *key_param(const build *b, const char *key)
{
    place_key place;
    if (place_key_read(key, &place))
        key = place.key;
    else if (has_prefix(key, PLACE_PREFIX))
        return NULL;
    if (!strchr(key, '.')) return find(config_params, key);
    const ab_option *p = NULL;
    for (size_t i = 0; i < b->n_known && !p; i++) {
        const plugin_schema *s = b->known[i].schema;
        if (key_is_of(key, s->name)) p = find(s->params, key + strlen(s->name) + 1);
    }
    return p;
}

/* Sections' own keys, which are not settings of a run. */
static const ab_option section_keys[] = {{.name = "combine", .doc = "[sweep NAME]"},
                                         {.name = "exclude", .doc = "[sweep NAME]"},
                                         {.name = "group", .doc = "[variant NAME]"},
                                         {.name = "name", .doc = "[experiment] or [variant NAME]"},
                                         {.name = "paper_row", .doc = "[base], [sweep NAME] or [variant NAME]"},
                                         {.name = "note", .doc = "[experiment]"},
                                         {.name = "seeds", .doc = "[experiment]"},
                                         {.name = "paper", .doc = "[experiment]"},
                                         {.name = "only", .doc = "[experiment]"},
                                         {.name = "match", .doc = "[experiment]"},
                                         {.name = "factorial", .doc = "[sweep NAME]"},
                                         {.name = "resolution", .doc = "[sweep NAME]"},
                                         {0}};

typedef struct {
    const char **at;
    size_t n, cap;
} key_names;

static void add_names(key_names *x, const ab_option *params, const char *plugin, arena *a)
{
    for (const ab_option *p = params; p && p->name; p++) {
        x->at = build_room(x->at, &x->cap, x->n, sizeof *x->at, a);
        x->at[x->n++] = plugin ? arena_printf(a, "%s.%s", plugin, p->name) : p->name;
    }
}

/* Reports an unknown key. Returns false. */
static bool unknown_key(build *b, const char *where, const char *label, const char *key)
{
    if (!room_for_error(b->errors)) return false; /* skip the costly search for a near name */
    place_key place;
    if (has_prefix(key, PLACE_PREFIX) && !place_key_read(key, &place))
        return complain(b, where, label, "found an unknown key, expected %s", place_expects);
    const char *now = config_new_name(key), *shown = same(label, key) ? "" : key, *blank = *shown ? " " : "";
    if (now) return complain(b, where, label, "%s%swas renamed to %s", shown, blank, now);
    const ab_option *own = find(section_keys, key);
    if (own) return complain(b, where, label, "found a key that belongs in %s", own->doc);
    key_names names = {0};
    bool plugin = false;
    add_names(&names, section_keys, NULL, b->a);
    add_names(&names, config_params, NULL, b->a);
    for (size_t i = 0; i < b->n_known; i++) {
        const plugin_schema *s = b->known[i].schema;
        plugin |= key_is_of(key, s->name);
        add_names(&names, s->params, s->name, b->a);
    }
    const char *expected = plugin             ? "a parameter of that plugin"
                           : strchr(key, '.') ? "PLUGIN.parameter of an existing plugin"
                                              : "a key listed by ablate list keys, or PLUGIN.parameter";
    return complain(b, where, label, "found an unknown key%s%s, expected %s%s", blank, shown, expected,
                    suggestion(key, names.at, names.n, ""));
}

/* ---- plugin names ---- */

static bool is_path(const char *value) { return strchr(value, '/') || plugin_suffix(value); }

const known_plugin *known_of(const build *b, const char *kind, const char *value)
{
    for (size_t i = 0; i < b->n_known; i++) {
        const known_plugin *k = &b->known[i];
        if (same(k->schema->kind, kind) && same(k->path ? k->path : k->schema->name, value)) return k;
    }
    return NULL;
}

const plugin_schema *value_plugin(const build *b, const char *kind, const char *value)
{
    const known_plugin *k = known_of(b, kind, value);
    return k ? k->schema : NULL;
}

/* Opens the plugin at a path, once. False after a complaint. */
static bool open_plugin(build *b, const char *where, const char *label, const char *kind, const char *path)
{
    err e = {{0}};
    const plugin_schema *s = NULL;
    const char *file = absolute_path(b->s, where, path, b->a);
    if (!b->plugins->open)
        fail(&e, "plugin paths are not allowed here");
    else
        s = b->plugins->open(b->plugins->user, kind, file, &e);
    if (s && !same(s->kind, kind)) fail(&e, "this is a plugin of kind %s, expected kind %s", s->kind, kind), s = NULL;
    if (!s) return complain(b, where, label, "found \"%s\": %s", path, e.text);
    b->known = build_room(b->known, &b->cap_known, b->n_known, sizeof *b->known, b->a);
    b->known[b->n_known++] = (known_plugin){s, arena_strdup(b->a, path), file};
    return true;
}

static bool check_plugin(build *b, const char *where, const char *label, const char *key, const char *value)
{
    const char *kind = config_plugin_kind(key);
    if (!kind || value_plugin(b, kind, value)) return true;
    if (same(value, "same") && same(key_param(b, key)->choices, "same")) return true;
    bool first = !strcmp(key, "attention") || has_prefix(key, "attention_");
    const char **parts;
    size_t n_parts = 0;
    err e = {{0}};
    if (first && place_pattern(value, &parts, &n_parts, b->a, &e)) return complain(b, where, label, "%s", e.text);
    for (size_t i = 0; i < n_parts; i++)
        if (!check_plugin(b, where, label, "attention", parts[i])) return false;
    if (n_parts) return true;
    if (is_path(value)) return open_plugin(b, where, label, kind, value);
    const char **names = arena_alloc(b->a, (b->n_known + 1) * sizeof *names);
    size_t n = 0;
    CLEANUP(str_free) str list = {0};
    for (size_t i = 0; i < b->n_known; i++)
        if (same(b->known[i].schema->kind, kind) && !b->known[i].path) {
            names[n++] = b->known[i].schema->name;
            str_addf(&list, "%s%s", n > 1 ? ", " : "", names[n - 1]);
        }
    return complain(b, where, label, "found \"%s\", expected a plugin of kind %s (%s) or the path of a plugin%s", value,
                    kind, n ? str_text(&list) : "none is loaded", suggestion(value, names, n, ""));
}

/* ---- lists ---- */

/* Canonical text of one value, or NULL after a complaint. */
static const char *check_value(build *b, const value_list *l, const char *key, const char *text)
{
    const ab_option *p = key_param(b, key);
    const char *out, *plain = unquote(text, b->a);
    err e = {{0}};
    if (strchr(plain, '"')) fail(&e, "found %s, expected quotes only around the whole value", text);
    bool is_tune = false;
    out = e.text[0] ? NULL : tune_canonical(b, l, plain, &is_tune);
    if (is_tune) return out;
    if (e.text[0] || param_canonical(p, plain, &out, b->a, &e)) {
        complain(b, l->where, l->m > 1 ? arena_printf(b->a, "%s: %s", l->label, key) : l->label, "%s", e.text);
        return NULL;
    }
    bool typed = same(l->where, COMMAND_LINE); /* with -s, paths are relative to the current folder */
    if (typed && config_plugin_kind(key) && is_path(out)) out = absolute_path(b->s, l->where, out, b->a);
    if (typed && same(key, "plugin_path")) {
        CLEANUP(str_free) str folders = {0};
        absolute_folders(b->s, l->where, out, &folders);
        out = arena_strdup(b->a, str_text(&folders));
    }
    return check_plugin(b, l->where, l->label, key, out) ? out : NULL;
}

static void add_item(build *b, value_list *l, const char *const *texts)
{
    if (++b->n_values == MOST_ALL_VALUES)
        complain(b, l->where, l->label, "found more than %d values in all lists, expected fewer", MOST_ALL_VALUES);
    l->bad |= b->n_values >= MOST_ALL_VALUES;
    if (b->n_values >= MOST_ALL_VALUES) return;
    const char **item = arena_alloc(b->a, l->m * sizeof *item);
    for (size_t j = 0; j < l->m; j++) {
        item[j] = texts ? check_value(b, l, l->keys[j], texts[j]) : NULL;
        l->bad |= !item[j];
    }
    l->items = build_room(l->items, &l->cap, l->n, sizeof *l->items, b->a);
    l->items[l->n++] = item;
}

static void add_range(build *b, value_list *l, int64_t from, int64_t to, int64_t by)
{
    for (int64_t x = from; x <= to; x += by) {
        const char *text = arena_printf(b->a, "%lld", (long long)x);
        size_t before = b->errors->n;
        add_item(b, l, &text);
        if (b->errors->n != before || b->n_values >= MOST_ALL_VALUES) return; /* one complaint is enough for a range */
    }
}

static void read_item(build *b, value_list *l, const char *text)
{
    int64_t from, to, by;
    if (l->m > 1) {
        const char **parts;
        size_t n = split_text(text, '/', &parts, b->a);
        if (n != l->m)
            complain(b, l->where, l->label,
                     "found \"%s\" with %zu part%s, expected %zu parts separated by slashes, one per key", text, n,
                     n == 1 ? "" : "s", l->m);
        add_item(b, l, n == l->m ? parts : NULL);
        return;
    }
    const ab_option *p = key_param(b, l->keys[0]);
    bool range = p->type != AB_TEXT && strstr(text, "..") && !has_prefix(unquote(text, b->a), "tune");
    if (range && p->type == AB_INT && read_range(text, &from, &to, &by, b->a)) {
        add_range(b, l, from, to, by);
        return;
    }
    if (range)
        complain(b, l->where, l->label, "found \"%s\", expected %s", text,
                 p->type == AB_INT ? "a rising range of integers, FROM..TO or FROM..TO:STEP"
                                   : "no range: ranges are only for integer keys");
    add_item(b, l, range ? NULL : &text);
}

static void check_twice(build *b, value_list *l)
{
    CLEANUP(name_set_free) name_set seen = {0};
    size_t first;
    for (size_t i = 0; i < l->n && !l->bad; i++) {
        CLEANUP(str_free) str all = {0};
        for (size_t j = 0; j < l->m; j++) str_addf(&all, "%s%s", j ? "\n" : "", l->items[i][j]);
        l->bad = !name_set_add(&seen, arena_strdup(b->a, str_text(&all)), i, &first);
        if (l->bad) complain(b, l->where, l->label, "found %s twice, expected each value once", l->items[i][0]);
    }
}

static bool read_keys(build *b, const char *prefix, value_list *l)
{
    const char **parts;
    l->m = split_text(l->label, '/', &parts, b->a);
    l->keys = arena_alloc(b->a, l->m * sizeof *l->keys);
    bool ok = true;
    for (size_t j = 0; j < l->m; j++) {
        l->keys[j] = prefix ? arena_printf(b->a, "%s.%s", prefix, parts[j]) : parts[j];
        if (same(l->keys[j], "seed"))
            ok = complain(b, l->where, l->label, "found the key seed; set seeds = ... in [experiment] or use --seeds");
        else if (!key_param(b, l->keys[j]))
            ok = unknown_key(b, l->where, l->label, l->keys[j]);
        for (size_t k = 0; k < j; k++)
            if (same(l->keys[k], l->keys[j]))
                ok = complain(b, l->where, l->label, "found %s twice, expected each key once", l->keys[j]);
    }
    return ok;
}

value_list read_list(build *b, const char *prefix, const ini_entry *e)
{
    value_list l = {.where = e->where, .label = e->key};
    const char **items;
    bool known = read_keys(b, prefix, &l);
    size_t n = split_text(e->value, ',', &items, b->a);
    /* a comma in this value separates no list items */
    if (has_prefix(e->value, "tune(")) n = 1, items = arena_alloc(b->a, sizeof *items), items[0] = e->value;
    for (size_t i = 0; i < n && !known; i++) add_item(b, &l, NULL); /* keeps the list's length for `combine` */
    for (size_t i = 0; i < n && known; i++) {
        if (l.n >= MOST_VALUES) {
            complain(b, e->where, e->key, "found a list of more than %d values, expected fewer", MOST_VALUES),
                l.bad = true;
            break;
        }
        const ab_option *p = key_param(b, l.keys[0]);
        if (!*items[i] && (n > 1 || p->type != AB_TEXT))
            complain(b, e->where, e->key, "found %s, expected %s", n > 1 ? "an empty item in the list" : "no value",
                     param_expects(p, b->a)),
                l.bad = true;
        else
            read_item(b, &l, items[i]);
    }
    if (!l.bad) check_twice(b, &l);
    return l;
}

bool read_seeds(build *b, const char *where, const char *text)
{
    const char **items;
    size_t n = split_text(text, ',', &items, b->a), cap = 0, k = 0;
    AUTOFREE int64_t *seeds = NULL;
    int64_t from, to, by;
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) {
        bool range = read_range(items[i], &from, &to, &by, b->a);
        ok = range || parse_int(items[i], &from);
        if (!range) to = from, by = 1;
        ok = ok && from >= 0 && to <= UINT32_MAX && k < MOST_VALUES;
        for (int64_t x = from; ok && x <= to; x += by) {
            for (size_t j = 0; j < k; j++) ok = ok && seeds[j] != x;
            seeds = grow(seeds, &cap, k + 1, sizeof *seeds);
            seeds[k++] = x;
        }
        if (!ok && k >= MOST_VALUES)
            complain(b, where, "seeds", "found more than %d seeds, expected fewer", MOST_VALUES);
        else if (!ok)
            complain(b, where, "seeds",
                     "found \"%s\", expected different integers from 0 to 4294967295, as in 1, 2, 3 or 1..3", items[i]);
    }
    if (ok) {
        b->s->seeds = arena_alloc(b->a, k * sizeof *seeds);
        memcpy(b->s->seeds, seeds, k * sizeof *seeds);
        b->s->n_seeds = k;
    }
    return ok;
}
