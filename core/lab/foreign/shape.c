/* shape.c - finds a table's columns by the options or by their documented names. Nothing is guessed: a column that
 * neither the options nor the documentation names is left out. */
#include "lab/foreign/foreign.h"

static int no_column(const sheet *s, const char *option, const char *name, err *e)
{
    CLEANUP(str_free) str list = {0};
    for (size_t i = 0; i < s->columns.n && i < 40; i++) str_addf(&list, "%s%s", i ? ", " : "", s->columns.at[i]);
    return fail(e, "%s: found no column \"%s\"%s; there are: %s", option, name,
                suggestion(name, s->columns.at, s->columns.n, "\""), str_text(&list));
}

/* Finds a column that may be absent unless the option names it. */
static int find_key(const sheet *s, const char *option, const char *given, const char *usual, size_t *out, err *e)
{
    *out = names_find(&s->columns, given ? given : usual);
    return given && *out == SIZE_MAX ? no_column(s, option, given, e) : 0;
}

static int find_all(const sheet *s, const char *option, const text_list *given, size_t **out, size_t *n, arena *a,
                    err *e)
{
    *out = arena_alloc(a, (given->n + 1) * sizeof **out);
    for (*n = 0; *n < given->n; ++*n)
        if (find_key(s, option, given->at[*n], NULL, &(*out)[*n], e)) return -1;
    return 0;
}

static int find_row(const sheet *s, const foreign_options *o, shape *x, arena *a, err *e)
{
    if (find_all(s, "--row", &o->row, &x->row, &x->n_row, a, e)) return -1;
    if (x->n_row) return 0;
    x->row[0] = names_find(&s->columns, SHEET_ROW);
    if (x->row[0] == SIZE_MAX && s->files.n > 1) x->row[0] = names_find(&s->columns, SHEET_FILE);
    x->n_row = 1;
    return x->row[0] == SIZE_MAX ? no_column(s, "--row", SHEET_ROW, e) : 0;
}

int shape_find(const sheet *s, const foreign_options *o, shape *x, arena *a, err *e)
{
    x->metric = names_find(&s->columns, SHEET_METRIC), x->value = names_find(&s->columns, SHEET_VALUE);
    if (x->metric == SIZE_MAX || x->value == SIZE_MAX) x->metric = x->value = SIZE_MAX;
    x->status = names_find(&s->columns, "status");
    if (x->status == SIZE_MAX) x->status = names_find(&s->columns, "State"); /* W&B's table of runs */
    if (find_row(s, o, x, a, e) || find_key(s, "--seed", o->seed, SHEET_SEED, &x->seed, e) ||
        find_key(s, "--step", o->step, SHEET_STEP, &x->step, e) ||
        find_key(s, "--example", o->example, SHEET_EXAMPLE, &x->example, e) ||
        find_all(s, "--setting", &o->settings, &x->setting, &x->n_settings, a, e))
        return -1;
    if (x->value != SIZE_MAX) return 0;
    if (!o->metrics.n)
        return fail(e, "found no columns \"metric\" and \"value\"; name each metric's column with --metric COLUMN, "
                       "first the one to judge");
    return find_all(s, "--metric", &o->metrics, &x->wide, &x->n_wide, a, e);
}
