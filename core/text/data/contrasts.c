#include "text/data/contrasts.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 32, MOST_GROUPS = 100, FIELDS = 4 };

static bool is_name(const char *s)
{
    size_t n = strlen(s);
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)s[i]) && !strchr("+-._", s[i])) return false;
    return n > 0 && n <= LONGEST_NAME;
}

static int64_t group_of(contrasts *x, const char *name)
{
    for (int64_t i = 0; i < x->n_groups; i++)
        if (same(x->name[i], name)) return i;
    if (x->n_groups == MOST_GROUPS) return -1;
    x->name[x->n_groups] = xstrdup(name);
    return x->n_groups++;
}

/* Splits a line at its tabs, in place. */
static int read_contrast(contrasts *x, const char *path, size_t number, char *line, err *e)
{
    char *field[FIELDS] = {line};
    size_t n = 1;
    for (char *tab = line; (tab = strchr(tab, '\t')); n++) {
        *tab++ = 0;
        if (n < FIELDS) field[n] = tab;
    }
    if (n < FIELDS - 1 || n > FIELDS)
        return fail(e,
                    "%s:%zu: found %zu columns, expected SOURCE, RIGHT, WRONG and optionally GROUP, separated by tabs",
                    path, number, n);
    if (same(field[1], field[2])) return fail(e, "%s:%zu: the right and the wrong target are the same", path, number);
    if (n == FIELDS && !is_name(field[3]))
        return fail(e, "%s:%zu: found the group '%.40s', expected at most %d letters, digits and + - . _", path, number,
                    field[3], LONGEST_NAME);
    int64_t group = n == FIELDS ? group_of(x, field[3]) : -1;
    if (n == FIELDS && group < 0)
        return fail(e, "%s:%zu: found a new group, expected at most %d groups", path, number, MOST_GROUPS);
    x->source[x->n] = field[0], x->right[x->n] = field[1], x->wrong[x->n] = field[2];
    x->group[x->n++] = group;
    return 0;
}

int contrasts_read(const char *path, contrasts *out, err *e)
{
    size_t n_lines = 0;
    *out = (contrasts){0};
    int rc = file_lines(path, &out->text, &out->lines, &n_lines, e);
    if (!rc) {
        out->source = xcalloc(3 * n_lines + 1, sizeof *out->source);
        out->right = out->source + n_lines, out->wrong = out->right + n_lines;
        out->group = xcalloc(n_lines + 1, sizeof *out->group);
        out->name = xcalloc(MOST_GROUPS, sizeof *out->name);
    }
    for (size_t i = 0; i < n_lines && !rc; i++)
        if (*out->lines[i]) rc = read_contrast(out, path, i + 1, out->lines[i], e);
    if (!rc && !out->n) rc = fail(e, "%s: found no line, expected SOURCE, RIGHT and WRONG, separated by tabs", path);
    if (rc) contrasts_free(out);
    return rc;
}

void contrasts_free(contrasts *x)
{
    for (int64_t i = 0; i < x->n_groups; i++) free(x->name[i]);
    free(x->source);
    free(x->group);
    free(x->name);
    free(x->lines);
    str_free(&x->text);
    *x = (contrasts){0};
}
