/* published.c - reads published numbers from tab-separated texts built into the program.
 *
 * One text per table (experiments/published/table3.tsv). Three comments have a meaning: "# paper: ...", "# title: ...",
 * and "# results: A, B", the columns that are results rather than settings. A line of column names and one line per row
 * follow; the first column is the row's key. Empty cells are skipped. */
#include "lab/results/published.h"
#include "base/cleanup.h"
#include <string.h>

enum { MAX_COLUMNS = 32 };

/* Cuts `line` at its tabs, in place, into at most `max` cells; returns their number. */
static size_t cut(char *line, char **cells, size_t max)
{
    size_t n = 0;
    for (char *p = line; p; n++) {
        char *tab = strchr(p, '\t');
        if (tab) *tab++ = 0;
        if (n < max) cells[n] = trim(p);
        p = tab;
    }
    return n;
}

/* Is `name` one of the comma-separated names in `list`? */
static bool is_listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = list; p && *p;) {
        while (*p == ' ' || *p == ',') p++;
        size_t k = strcspn(p, ",");
        size_t bare = k;
        while (bare && p[bare - 1] == ' ') bare--;
        if (bare == n && !strncmp(p, name, n)) return true;
        p += k;
    }
    return false;
}

/* Returns the words after "# key:" if the comment `line` has that key, else NULL. */
static char *comment_value(char *line, const char *key)
{
    char *p = trim(line + 1);
    size_t n = strlen(key);
    return !strncmp(p, key, n) && p[n] == ':' ? trim(p + n + 1) : NULL;
}

static int parse_rows(char **lines, size_t n, read_published *out, arena *a, err *e)
{
    char *found[MAX_COLUMNS];
    const char **names = NULL, **cells = arena_alloc(a, (n + 1) * MAX_COLUMNS * sizeof *cells);
    for (size_t i = 0; i < n; i++) {
        if (lines[i][0] == '#' || !*lines[i]) continue;
        size_t many = cut(lines[i], found, MAX_COLUMNS);
        if (many > MAX_COLUMNS || (names && many != out->n_columns))
            return fail(e, "line %zu: found %zu cells, expected %zu", i + 1, many,
                        names ? out->n_columns : (size_t)MAX_COLUMNS);
        if (names && !*found[0]) return fail(e, "line %zu: the row's key is empty", i + 1);
        const char **to =
            names ? cells + out->n_rows++ * out->n_columns : (names = arena_alloc(a, MAX_COLUMNS * sizeof *names));
        for (size_t c = 0; c < many; c++) to[c] = arena_strdup(a, found[c]);
        out->n_columns = many;
    }
    out->columns = names;
    out->cells = cells;
    return out->n_columns < 2 || !out->n_rows ? fail(e, "found no rows") : 0;
}

int published_parse(const char *name, const char *text, arena *a, read_published *out, err *e)
{
    CLEANUP(str_free) str copy = {0};
    AUTOFREE char **lines = NULL;
    size_t n = 0;
    const char *results = NULL;
    *out = (read_published){.table = name, .paper = "", .title = ""};
    str_add(&copy, text);
    int rc = text_lines(&copy, name, &lines, &n, e);
    for (size_t i = 0; i < n && !rc; i++) {
        char *v;
        if (lines[i][0] != '#') continue;
        if ((v = comment_value(lines[i], "paper"))) out->paper = arena_strdup(a, v);
        if ((v = comment_value(lines[i], "title"))) out->title = arena_strdup(a, v);
        if ((v = comment_value(lines[i], "results"))) results = arena_strdup(a, v);
    }
    if (!rc && parse_rows(lines, n, out, a, e)) rc = fail_in(e, "published table %s: ", name);
    if (!rc) {
        bool *is_result = arena_alloc(a, out->n_columns * sizeof *is_result);
        for (size_t c = 1; c < out->n_columns; c++) is_result[c] = is_listed(results, out->columns[c]);
        out->is_result = is_result;
    }
    return rc;
}

int published_read(const char *name, arena *a, read_published *out, err *e)
{
    for (const published_text *t = published_tables; t->name; t++)
        if (same(t->name, name)) return published_parse(t->name, t->text, a, out, e);
    return 1;
}
