/* rows.c - the rows of a sweep: combines lists, removes exclusions, names rows. */
#include "lab/config/build.h"
#include <string.h>

const char *assignment_text(const build *b, const assignment *set)
{
    CLEANUP(str_free) str out = {0};
    for (size_t i = 0; i < set->n; i++) {
        const char *value = set->at[i].value, *kind = config_plugin_kind(set->at[i].key);
        const plugin_schema *plugin = kind ? value_plugin(b, kind, value) : NULL;
        str_addf(&out, "%s%s=%s", i ? " " : "", set->at[i].key, plugin ? plugin->name : value);
    }
    return arena_strdup(b->a, str_text(&out));
}

const char *change_text(build *b, const assignment *set)
{
    assignment shown = *set;
    shown.at = arena_alloc(b->a, (set->n + 1) * sizeof *shown.at);
    shown.n = 0;
    for (size_t i = 0; i < set->n; i++)
        if (!config_is_bookkeeping(set->at[i].key)) shown.at[shown.n++] = set->at[i];
    return assignment_text(b, shown.n ? &shown : set);
}

/* ---- combining ---- */

static size_t rows_each(const value_list *l, size_t n)
{
    size_t rows = 0;
    for (size_t i = 0; i < n; i++) rows += l[i].n;
    return rows;
}

static size_t rows_grid(const value_list *l, size_t n)
{
    size_t rows = 1;
    for (size_t i = 0; i < n; i++) rows = rows > MOST_ROWS ? rows : rows * l[i].n;
    return rows;
}

static bool can_zip(const value_list *l, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (l[i].n != l[0].n) return false;
    return true;
}

static bool complain_combine(build *b, const char *where, const value_list *l, size_t n)
{
    CLEANUP(str_free) str out = {0};
    for (size_t i = 0; i < n; i++) str_addf(&out, "%s%s has %zu", i ? ", " : "", l[i].label, l[i].n);
    str_addf(&out, "), expected combine = each (%zu rows), grid (%zu rows) or zip (", rows_each(l, n), rows_grid(l, n));
    if (can_zip(l, n))
        str_addf(&out, "%zu rows)", l[0].n);
    else
        str_add(&out, "not possible: lists differ in length)");
    return complain(b, where, "combine", "found %zu lists (%s", n, str_text(&out));
}

static void copy_item(assignment *row, const value_list *l, size_t item)
{
    for (size_t j = 0; j < l->m; j++) row->at[row->n++] = (setting){l->keys[j], l->items[item][j]};
}

/* Row `row` of a grid: the last list varies fastest. */
static void copy_grid(assignment *out, const value_list *l, size_t n, size_t row)
{
    size_t stride = rows_grid(l, n);
    for (size_t i = 0; i < n; i++) {
        stride /= l[i].n;
        copy_item(out, &l[i], row / stride % l[i].n);
    }
}

static void copy_each(assignment *out, const value_list *l, size_t row)
{
    while (row >= l->n) row -= l->n, l++;
    copy_item(out, l, row);
}

bool combine_lists(build *b, const char *where, const ini_entry *combine, const value_list *lists, size_t n_lists,
                   assignment **out, size_t *n)
{
    static const char *const choices[] = {"each", "grid", "zip"};
    const char *how = combine ? unquote(combine->value, b->a) : n_lists == 1 ? "each" : NULL;
    if (!how) return complain_combine(b, where, lists, n_lists);
    bool each = same(how, choices[0]), grid = same(how, choices[1]), zip = same(how, choices[2]);
    if (!each && !grid && !zip)
        return complain(b, combine->where, "combine", "found \"%s\", expected each, grid or zip%s", how,
                        suggestion(how, choices, LENGTH(choices), ""));
    if (zip && !can_zip(lists, n_lists)) return complain_combine(b, combine->where, lists, n_lists);
    *n = grid ? rows_grid(lists, n_lists) : zip ? lists[0].n : rows_each(lists, n_lists);
    if (*n > MOST_ROWS)
        return complain(b, where, "combine", "found %zu rows or more, expected at most %d in a sweep", *n, MOST_ROWS);
    size_t most = 0;
    for (size_t i = 0; i < n_lists; i++) most += lists[i].m;
    *out = arena_alloc(b->a, *n * sizeof **out);
    for (size_t r = 0; r < *n; r++) {
        assignment *row = &(*out)[r];
        row->at = arena_alloc(b->a, most * sizeof *row->at);
        if (each)
            copy_each(row, lists, r);
        else if (grid)
            copy_grid(row, lists, n_lists, r);
        else
            for (size_t i = 0; i < n_lists; i++) copy_item(row, &lists[i], r);
    }
    return true;
}

/* ---- excluding ---- */

/* "heads=32 layers=8" -> canonical pairs. False after a complaint. */
static bool read_condition(build *b, const ini_entry *e, const char *text, assignment *out)
{
    const char **parts;
    size_t n = split_text(text, ' ', &parts, b->a);
    out->at = arena_alloc(b->a, n * sizeof *out->at);
    for (size_t i = 0; i < n; i++) {
        if (!*parts[i]) continue;
        const char *equals = strchr(parts[i], '=');
        if (!equals)
            return complain(b, e->where, "exclude", "found \"%s\", expected key=value key=value, ...", parts[i]);
        const char *key = arena_strndup(b->a, parts[i], (size_t)(equals - parts[i]));
        value_list l = read_list(b, NULL, &(ini_entry){e->where, key, equals + 1});
        if (l.bad) return false;
        if (l.n != 1 || l.m != 1)
            return complain(b, e->where, "exclude", "found \"%s\", expected one key and one value", parts[i]);
        out->at[out->n++] = (setting){l.keys[0], l.items[0][0]};
    }
    if (!out->n) return complain(b, e->where, "exclude", "found no condition, expected key=value");
    return true;
}

static const char *row_value(const build *b, const assignment *row, const char *key)
{
    for (size_t i = 0; i < row->n; i++)
        if (same(row->at[i].key, key)) return row->at[i].value;
    const char *value = settings_get(&b->base, key);
    const ab_option *p = key_param(b, key);
    return value ? value : param_default(p, b->a);
}

static bool matches(const build *b, const assignment *row, const assignment *condition)
{
    for (size_t i = 0; i < condition->n; i++)
        if (!same(row_value(b, row, condition->at[i].key), condition->at[i].value)) return false;
    return true;
}

bool exclude_rows(build *b, const ini_entry *exclude, assignment *rows, size_t *n)
{
    const char **texts;
    size_t n_texts = split_text(exclude->value, ',', &texts, b->a);
    if (n_texts > MOST_PATTERNS)
        return complain(b, exclude->where, "exclude", "found %zu conditions, expected at most %d", n_texts,
                        MOST_PATTERNS);
    for (size_t i = 0; i < n_texts; i++) {
        assignment condition = {0};
        if (!read_condition(b, exclude, texts[i], &condition)) return false;
        size_t kept = 0;
        for (size_t r = 0; r < *n; r++)
            if (!matches(b, &rows[r], &condition)) rows[kept++] = rows[r];
        if (kept == *n)
            return complain(b, exclude->where, "exclude",
                            "found \"%s\", which matches no row, expected the values of some row", texts[i]);
        *n = kept;
    }
    if (!*n)
        return complain(b, exclude->where, "exclude",
                        "found conditions that exclude every row, expected at least one row to remain");
    return true;
}

/* ---- adding ---- */

spec_row *add_row(build *b, const char *where, const char *group, const char *name, const assignment *set,
                  const char *paper_row)
{
    spec *s = b->s;
    size_t first;
    if (s->n_rows >= MOST_ROWS)
        return complain(b, where, name, "found more than %d rows, expected fewer", MOST_ROWS), NULL;
    if (!name_set_add(&b->row_names, name, s->n_rows, &first))
        return complain(b, where, name, "found a second row of this name, expected one; the first is at %s",
                        b->row_where[first]),
               NULL;
    size_t cap = b->cap_rows;
    s->rows = build_room(s->rows, &cap, s->n_rows, sizeof *s->rows, b->a);
    b->row_where = build_room(b->row_where, &b->cap_rows, s->n_rows, sizeof *b->row_where, b->a);
    b->row_where[s->n_rows] = where;
    spec_row *row = &s->rows[s->n_rows];
    *row = (spec_row){.group = group, .name = name, .order = s->n_rows, .is_base = !s->n_rows, .same_as = -1};
    row->changed = set ? change_text(b, set) : "";
    row->paper_row = paper_row ? paper_row : name;
    for (size_t i = 0; i < b->base.n; i++) settings_set(&row->given, b->base.at[i].key, b->base.at[i].value, b->a);
    for (size_t i = 0; set && i < set->n; i++) {
        settings_set(&row->given, set->at[i].key, set->at[i].value, b->a);
        settings_set(&row->swept, set->at[i].key, set->at[i].value, b->a);
    }
    s->n_rows++;
    return row;
}
