/* ini.c - from an INI's sections and the command line to the rows of an experiment. */
#include "lab/config/build.h"
#include "network/settings/places.h"
#include <stdlib.h>
#include <string.h>

enum section_kind { EXPERIMENT, BASE, SWEEP, VARIANT, CONDITION, CRITERION, SCALE, SLURM, LAYERS, PLUGIN };

typedef struct { /* one section, or the settings that -s adds to one */
    enum section_kind kind;
    const char *where;
    const char *name; /* name of the sweep, variant, condition or plugin; for layers: the prefix of their keys */
    const ini_entry *at;
    size_t n;
    value_list *lists; /* [n]; empty (m = 0) for the section's own keys */
    const ini_entry *combine, *exclude, *paper_row, *group, *alias, *factorial, *resolution, *against; /* or NULL */
    bool bad;
} section;

typedef struct {
    build b;
    section *at;
    size_t n;
    bool base_bad; /* errors in shared settings: skip the rows */
} input;

/* ---- sections ---- */

static const struct {
    const char *title;
    enum section_kind kind;
    bool named; /* "sweep NAME" */
} titles[] = {{"experiment", EXPERIMENT, false}, {"base", BASE, false},          {"sweep", SWEEP, true},
              {"variant", VARIANT, true},        {"condition", CONDITION, true}, {"layers", LAYERS, true},
              {"criterion", CRITERION, false},   {"scale", SCALE, false},        {"slurm", SLURM, false}};

static section classify(const ini_section *from, arena *a)
{
    section s = {.kind = PLUGIN, .where = from->where, .name = from->title, .at = from->at, .n = from->n};
    s.lists = arena_alloc(a, (s.n + 1) * sizeof *s.lists);
    for (size_t i = 0; i < LENGTH(titles); i++) {
        size_t n = strlen(titles[i].title);
        if (!has_prefix(from->title, titles[i].title) || from->title[n] != (titles[i].named ? ' ' : 0)) continue;
        s.kind = titles[i].kind;
        if (titles[i].named) s.name = from->title + n + 1;
    }
    if (s.kind == LAYERS) { /* "decoder 1-3" -> "layers.decoder.1-3" */
        char *name = arena_printf(a, PLACE_PREFIX "%s", s.name);
        for (char *p = name; *p; p++) *p = *p == ' ' ? '.' : *p;
        s.name = name;
    }
    return s;
}

static bool names_plugin(const build *b, const char *name)
{
    for (size_t i = 0; i < b->n_known; i++)
        if (same(b->known[i].schema->name, name)) return true;
    return false;
}

void spec_add_names(const char *keys, size_t n, const char *section, str *out)
{
    CLEANUP(arena_free) arena a = {0};
    const char **parts;
    size_t m = n ? split_text(arena_strndup(&a, keys, n), '/', &parts, &a) : 0;
    for (size_t i = 0; i < m; i++) {
        const char *now = section ? NULL : config_new_name(parts[i]);
        str_addf(out, "%s%s%s ", section ? section : "", section ? "." : "", now ? now : parts[i]);
    }
}

void spec_names(const char *text, str *out)
{
    CLEANUP(arena_free) arena a = {0};
    CLEANUP(str_free) str ignored = {0};
    ini_file file = {0};
    ini_split(text, strlen(text), "", &file, &a, &ignored);
    for (size_t i = 0; i < file.n; i++) {
        section s = classify(&file.at[i], &a);
        for (size_t k = 0; k < s.n && (s.kind == BASE || s.kind == PLUGIN); k++)
            spec_add_names(s.at[k].key, strlen(s.at[k].key), s.kind == BASE ? NULL : s.name, out);
    }
}

/* Checks that a section of no known kind names a plugin. */
static void check_title(build *b, section *s)
{
    if (s->kind != PLUGIN || names_plugin(b, s->name)) return;
    const char **names = arena_alloc(b->a, (b->n_known + LENGTH(titles)) * sizeof *names);
    for (size_t i = 0; i < LENGTH(titles); i++) names[i] = titles[i].title;
    for (size_t i = 0; i < b->n_known; i++) names[LENGTH(titles) + i] = b->known[i].schema->name;
    const char *first = arena_strndup(b->a, s->name, strcspn(s->name, " "));
    const char *near = nearest(first, names, b->n_known + LENGTH(titles));
    for (size_t i = 0; i < LENGTH(titles); i++)
        if (near == titles[i].title && titles[i].named)
            near = arena_printf(b->a, "%s %s", near, titles[i].kind == LAYERS ? "PLACE" : "NAME");
    complain(b, s->where, arena_printf(b->a, "[%s]", s->name),
             "found an unknown section, expected [experiment], [base], [sweep NAME], [variant NAME], "
             "[condition NAME], [layers PLACE], [criterion], [scale], [slurm] or a plugin's name%s%s%s",
             near ? "; did you mean [" : "", near ? near : "", near ? "]?" : ""),
        s->bad = true;
}

/* ---- a section's own keys, which are not settings ---- */

/* Returns the field in which the section stores this own key, or NULL. */
static const ini_entry **own_key(section *s, const char *key)
{
    bool sweep = s->kind == SWEEP, variant = s->kind == VARIANT;
    if (same(key, "paper_row") && s->kind != PLUGIN) return &s->paper_row;
    if (same(key, "combine") && sweep) return &s->combine;
    if (same(key, "exclude") && sweep) return &s->exclude;
    if (same(key, "factorial") && sweep) return &s->factorial;
    if (same(key, "resolution") && sweep) return &s->resolution;
    if (same(key, "group") && variant) return &s->group;
    if (same(key, "name") && variant) return &s->alias;
    if (same(key, "base") && variant) return &s->against;
    return NULL;
}

static bool has_dot(const section *s, const char *key) { return s->kind == PLUGIN || strchr(place_inner(key), '.'); }
static bool has_prefixed_keys(const section *s) { return s->kind == PLUGIN || s->kind == LAYERS; }

/* Reads the entries with (or without) a dotted key. Dotted keys are read last, when plugins named by path are known. */
static void read_entries(build *b, section *s, bool dotted)
{
    for (size_t i = 0; i < s->n; i++) {
        const ini_entry *e = &s->at[i];
        if (has_dot(s, e->key) != dotted) continue;
        const ini_entry **own = own_key(s, e->key);
        if (own) {
            if (*own) complain_twice(b, e->where, e->key, (*own)->where), s->bad = true;
            *own = e;
            continue;
        }
        value_list l = read_list(b, has_prefixed_keys(s) ? s->name : NULL, e);
        if (!l.bad && l.n > 1 && s->kind != SWEEP && s->kind != SCALE)
            complain(b, e->where, e->key,
                     "found a list of %zu values, expected one value; lists belong in a [sweep NAME]%s", l.n,
                     l.m == 1 && key_param(b, l.keys[0])->type == AB_TEXT ? ", or quote a text with commas" : ""),
                l.bad = true;
        s->lists[i] = l;
        s->bad |= l.bad;
    }
}

/* Reports keys that a section sets twice, or that `earlier` (may be NULL) has set already. */
static void check_duplicates(build *b, section *s, const section *earlier)
{
    CLEANUP(name_set_free) name_set seen = {0};
    size_t first, n_earlier = earlier ? earlier->n : 0;
    for (size_t i = 0; i < n_earlier; i++)
        for (size_t p = 0; p < earlier->lists[i].m; p++) name_set_add(&seen, earlier->lists[i].keys[p], i, &first);
    for (size_t i = 0; i < s->n; i++)
        for (size_t p = 0; p < s->lists[i].m; p++) {
            if (name_set_add(&seen, s->lists[i].keys[p], n_earlier + i, &first)) continue;
            if (first == n_earlier + i) continue; /* the entry has the key twice: read_keys has reported it */
            const ini_entry *e = first < n_earlier ? &earlier->at[first] : &s->at[first - n_earlier];
            complain_twice(b, s->at[i].where, s->lists[i].keys[p], e->where);
            s->bad = true;
        }
}

/* ---- the command line: single values go to [base], lists make the sweep "cli" ---- */

static section *read_options(input *in, const spec_options *o)
{
    build *b = &in->b;
    section *both = arena_alloc(b->a, 2 * sizeof *both); /* base, sweep */
    ini_section rest[2] = {{0}};
    for (size_t i = 0; i < o->n_set; i++) {
        const char *equals = strchr(o->set[i], '=');
        bool text = true;
        for (const char *p = o->set[i]; *p; p++) text &= (unsigned char)*p >= ' ' && *p != 0x7f;
        for (const char *p = o->set[i]; *p && text; p += utf8_length(p)) text &= utf8_length(p) > 0;
        if (!equals || !text) {
            complain(b, COMMAND_LINE, o->set[i], "found %s, expected -s key=value",
                     equals ? "a control character or text that is not UTF-8" : "no =");
            continue;
        }
        const char *key = trim(arena_strndup(b->a, o->set[i], (size_t)(equals - o->set[i])));
        const char *value = trim(arena_strdup(b->a, equals + 1)), **items;
        bool own = same(key, "combine") || same(key, "exclude"), tune = has_prefix(value, "tune("),
             list = !tune && split_text(value, ',', &items, b->a) > 1;
        bool range =
            !tune && !strchr(key, '/') && key_param(b, key) && key_param(b, key)->type == AB_INT && strstr(value, "..");
        ini_add(&rest[own || list || range], (ini_entry){COMMAND_LINE, key, value}, b->a);
    }
    for (int k = 0; k < 2; k++)
        both[k] = (section){.kind = k ? SWEEP : BASE,
                            .where = COMMAND_LINE,
                            .name = k ? "cli" : NULL,
                            .at = rest[k].at,
                            .n = rest[k].n,
                            .lists = arena_alloc(b->a, (rest[k].n + 1) * sizeof(value_list))};
    return both;
}

/* ---- base ---- */

static void add_base_section(build *b, const section *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const value_list *l = &s->lists[i];
        for (size_t j = 0; !l->bad && l->n && j < l->m; j++) {
            settings_set(&b->base, l->keys[j], l->items[0][j], b->a);
            if (!strchr(l->keys[j], '.')) continue;
            b->base_params =
                build_room(b->base_params, &b->cap_base_params, b->n_base_params, sizeof *b->base_params, b->a);
            b->base_params[b->n_base_params++] = (ini_entry){l->where, l->keys[j], l->items[0][j]};
        }
    }
}

/* Warns about rows that set a key of -s themselves. */
static void warn_overrides(build *b, const section *options)
{
    for (size_t i = 0; i < options->n; i++)
        for (size_t j = 0; j < options->lists[i].m; j++) {
            const char *key = options->lists[i].keys[j], *own;
            CLEANUP(str_free) str rows = {0};
            for (size_t r = 0; r < b->s->n_rows; r++)
                if ((own = settings_get(&b->s->rows[r].swept, key)))
                    str_addf(&rows, "%s%s (%s)", rows.n ? ", " : "", b->s->rows[r].name, own);
            if (rows.n)
                str_addf(&b->s->warnings,
                         "-s %s changes [base]; these rows set the key themselves and keep their value: %s\n", key,
                         str_text(&rows));
        }
}

/* ---- rows ---- */

/* The published rows of a section's n rows, or NULL if the section names no published row. */
static const char **paper_rows(build *b, const section *s, size_t n)
{
    const char **names;
    if (!s->paper_row) return NULL;
    size_t found = split_text(s->paper_row->value, ',', &names, b->a);
    if (found != n) {
        complain(b, s->paper_row->where, "paper_row", "found %zu name%s, expected %zu, one per row", found,
                 found == 1 ? "" : "s", n);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) names[i] = unquote(names[i], b->a);
    return names;
}

static void add_sweep(build *b, section *s)
{
    assignment *rows = NULL;
    value_list *lists = arena_alloc(b->a, (s->n + 1) * sizeof *lists);
    size_t n_lists = 0, n = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->lists[i].m) lists[n_lists++] = s->lists[i];
    if (!n_lists) {
        complain(b, s->where, arena_printf(b->a, "[sweep %s]", s->name),
                 "found no list, expected key = value, value, ...");
        return;
    }
    /* The lists are known even if a value is invalid, so `combine` is always checked. */
    bool combined = s->factorial ? factorial_rows(b, s->factorial, s->resolution, s->name, lists, n_lists, &rows, &n)
                                 : combine_lists(b, s->where, s->combine, lists, n_lists, &rows, &n);
    if (!combined || s->bad) return;
    if (s->exclude && !exclude_rows(b, s->exclude, rows, &n)) return;
    const char **paper = paper_rows(b, s, n);
    for (size_t i = 0; i < n; i++)
        add_row(b, s->where, s->name, arena_printf(b->a, "%s/%s", s->name, assignment_text(b, &rows[i])), &rows[i],
                paper ? paper[i] : NULL);
}

/* The settings of a section of single values. */
static assignment assignment_of(build *b, const section *s)
{
    assignment set = {0};
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) n += s->lists[i].m;
    set.at = arena_alloc(b->a, (n + 1) * sizeof *set.at);
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < s->lists[i].m; j++)
            set.at[set.n++] = (setting){s->lists[i].keys[j], s->lists[i].items[0][j]};
    return set;
}

static void add_variant(build *b, section *s)
{
    if (s->bad) return;
    assignment set = assignment_of(b, s);
    const char **paper = paper_rows(b, s, 1);
    const char *name = s->alias ? unquote(s->alias->value, b->a) : s->name;
    if (!set.n)
        complain(b, s->where, arena_printf(b->a, "[variant %s]", s->name), "found no setting, expected key = value");
    else if (!*name)
        complain(b, s->where, "name", "found no name, expected text");
    else {
        const char *group = s->group ? unquote(s->group->value, b->a) : "";
        spec_row *row = add_row(b, s->where, group, name, &set, paper ? *paper : NULL);
        if (row && s->against) row->base = unquote(s->against->value, b->a);
    }
}

static void add_condition(build *b, section *s, size_t rows)
{
    if (s->bad) return;
    assignment set = assignment_of(b, s);
    if (!set.n)
        complain(b, s->where, arena_printf(b->a, "[condition %s]", s->name), "found no setting, expected key = value");
    else
        condition_rows(b, s->where, s->name, &set, rows);
}

/* ---- reading an INI ---- */

static bool has_settings(const section *s) { return s->kind != EXPERIMENT && s->kind != CRITERION && s->kind != SLURM; }

static void read_sections(input *in, section *options)
{
    build *b = &in->b;
    section *base = NULL;
    for (int dotted = 0; dotted < 2; dotted++) {
        for (size_t i = 0; dotted && i < in->n; i++) check_title(b, &in->at[i]);
        for (size_t i = 0; i < in->n; i++)
            if (has_settings(&in->at[i]) && !(in->at[i].kind == PLUGIN && in->at[i].bad))
                read_entries(b, &in->at[i], dotted);
        for (size_t i = 0; i < 2; i++) read_entries(b, &options[i], dotted);
    }
    for (size_t i = 0; i < in->n; i++)
        if (in->at[i].kind == BASE) base = &in->at[i];
    for (size_t i = 0; i < in->n; i++) {
        section *s = &in->at[i];
        if (!has_settings(s)) continue;
        check_duplicates(b, s, has_prefixed_keys(s) ? base : NULL);
        in->base_bad |= s->bad && (s->kind == BASE || has_prefixed_keys(s));
    }
    for (size_t i = 0; i < 2; i++) check_duplicates(b, &options[i], NULL);
    in->base_bad |= options[0].bad;
    for (const ab_option *p = config_params; p->name; p++)
        if (!same(p->name, "seed")) settings_set(&b->base, p->name, param_default(p, b->a), b->a);
    if (base) add_base_section(b, base);
    for (size_t i = 0; i < in->n; i++)
        if (has_prefixed_keys(&in->at[i])) add_base_section(b, &in->at[i]);
    add_base_section(b, options);
    const char **paper = base ? paper_rows(b, base, 1) : NULL;
    add_row(b, base ? base->where : b->s->path, "", "base", NULL, paper ? *paper : NULL);
}

static void build_spec(input *in, const ini_file *file, const spec_options *o)
{
    build *b = &in->b;
    const ini_section *experiment = NULL;
    in->at = arena_alloc(b->a, (file->n + 1) * sizeof *in->at);
    in->n = file->n;
    for (size_t i = 0; i < file->n; i++) {
        in->at[i] = classify(&file->at[i], b->a);
        if (in->at[i].kind == EXPERIMENT) experiment = &file->at[i];
    }
    section *options = read_options(in, o);
    read_experiment(b, experiment, o);
    read_sections(in, options);
    for (size_t i = 0; i < in->n; i++) {
        if (in->at[i].kind == SWEEP) add_sweep(b, &in->at[i]);
        if (in->at[i].kind == VARIANT) add_variant(b, &in->at[i]);
    }
    if (options[1].n) add_sweep(b, &options[1]);
    for (size_t i = 0; i < in->n; i++) {
        section *of = &in->at[i];
        if (of->kind == CRITERION) read_criterion(b, of->at, of->n);
        if (of->kind == SLURM) read_slurm(b, of->at, of->n);
        if (of->kind == SCALE && of->n != 1)
            complain(
                b, of->where, "[scale]",
                "found %zu keys, expected one list of sizes, such as d_model/d_ff = 32/128, 48/192, 64/256, 96/384",
                of->n);
        if (of->kind == SCALE && of->n == 1 && !of->bad) scale_rows(b, &of->lists[0]);
    }
    size_t rows = b->s->n_rows;
    for (size_t i = 0; i < in->n; i++)
        if (in->at[i].kind == CONDITION) add_condition(b, &in->at[i], rows);
    find_bases(b);
    if (!in->base_bad) finish_rows(b);
    if (b->s->analysis.until.most && b->s->base_seeds) b->s->analysis.until.base = (int64_t)b->s->rows[0].n_seeds;
    warn_overrides(b, &options[0]);
}

/* ---- errors in the order of the file ---- */

typedef struct {
    const char *text;
    size_t n;
    long line;
    size_t order;
} message;

static int by_line(const void *a, const void *b)
{
    const message *x = a, *y = b;
    return x->line != y->line ? (x->line > y->line) - (x->line < y->line)
                              : (x->order > y->order) - (x->order < y->order);
}

/* Appends the lines of `found`, sorted by line; errors of the command line come first. */
static void sort_errors(const char *found, const char *path, str *out, arena *a)
{
    size_t n = 0, at = strlen(path);
    for (const char *p = found; *p; p++) n += *p == '\n';
    message *list = arena_alloc(a, (n + 1) * sizeof *list);
    for (size_t i = 0; i < n; i++) {
        size_t length = strcspn(found, "\n") + 1;
        bool here = has_prefix(found, path) && found[at] == ':';
        list[i] = (message){found, length, here ? strtol(found + at + 1, NULL, 10) : 0, i};
        found += length;
    }
    qsort(list, n, sizeof *list, by_line);
    for (size_t i = 0; i < n; i++) str_addn(out, list[i].text, list[i].n);
}

/* Builds the spec from `text`, or from the file at `path` and what it includes if text is NULL. */
static int parse(spec *s, const char *text, const char *path, const spec_options *o, const plugin_schemas *plugins,
                 str *errors)
{
    static const spec_options none;
    CLEANUP(str_free) str found = {0}, whole = {0};
    ini_file file = {0};
    bool readable = true;
    *s = (spec){0};
    s->path = arena_strdup(&s->mem, path);
    if (text)
        ini_split(text, strlen(text), s->path, &file, &s->mem, &found);
    else
        readable = ini_load(s->path, &file, &whole, &s->mem, &found);
    s->text = arena_strdup(&s->mem, text ? text : str_text(&whole));
    input in = {.b = {.s = s,
                      .a = &s->mem,
                      .errors = &found,
                      .plugins = plugins,
                      .n_known = plugins->n,
                      .cap_known = plugins->n + 1,
                      .options = o ? o : &none}};
    in.b.known = arena_alloc(&s->mem, (plugins->n + 1) * sizeof *in.b.known);
    for (size_t i = 0; i < plugins->n; i++) in.b.known[i] = (known_plugin){.schema = &plugins->list[i]};
    if (readable) build_spec(&in, &file, in.b.options);
    int rc = found.n ? -1 : 0;
    name_set_free(&in.b.row_names);
    sort_errors(str_text(&found), s->path, errors, &s->mem);
    if (rc) spec_free(s);
    return rc;
}

int spec_parse(spec *s, const char *text, const char *path, const spec_options *o, const plugin_schemas *plugins,
               str *errors)
{
    return parse(s, text, path, o, plugins, errors);
}

int spec_read(spec *s, const char *path, const spec_options *o, const plugin_schemas *plugins, str *errors)
{
    return parse(s, NULL, path, o, plugins, errors);
}

void spec_free(spec *s)
{
    arena_free(&s->mem);
    str_free(&s->warnings);
    *s = (spec){0};
}
