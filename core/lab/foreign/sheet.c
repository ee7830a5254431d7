/* sheet.c - records with named columns. */
#include "lab/foreign/sheet.h"
#include <stdlib.h>
#include <string.h>

static size_t slot_of(const names *x, const char *text)
{
    size_t i = hash64(text, strlen(text)) & (x->n_slots - 1);
    while (x->slots[i] && strcmp(x->at[x->slots[i] - 1], text)) i = (i + 1) & (x->n_slots - 1);
    return i;
}

size_t names_find(const names *x, const char *text)
{
    size_t i = x->n_slots ? x->slots[slot_of(x, text)] : 0;
    return i ? i - 1 : SIZE_MAX;
}

size_t names_add(names *x, arena *a, const char *text)
{
    if (2 * (x->n + 1) > x->n_slots) {
        free(x->slots);
        x->n_slots = x->n_slots ? 2 * x->n_slots : 64;
        x->slots = xcalloc(x->n_slots, sizeof *x->slots);
        for (size_t i = 0; i < x->n; i++) x->slots[slot_of(x, x->at[i])] = i + 1;
    }
    size_t i = slot_of(x, text);
    if (x->slots[i]) return x->slots[i] - 1;
    x->at = grow(x->at, &x->cap, x->n + 1, sizeof *x->at);
    x->at[x->n] = arena_strdup(a, text);
    x->slots[i] = ++x->n;
    return x->n - 1;
}

void names_free(names *x)
{
    free(x->at);
    free(x->slots);
    *x = (names){0};
}

int sheet_column(sheet *s, const char *name, size_t *column, err *e)
{
    *column = names_add(&s->columns, &s->mem, name);
    return s->columns.n <= MOST_COLUMNS ? 0 : fail(e, "found more than %d columns", MOST_COLUMNS);
}

int sheet_start(sheet *s, const char *file, size_t line, err *e)
{
    if (s->n >= MOST_RECORDS) return fail(e, "found more than %d records", MOST_RECORDS);
    s->records = grow(s->records, &s->cap, s->n + 1, sizeof *s->records);
    size_t of = names_add(&s->files, &s->mem, file);
    s->records[s->n++] = (sheet_record){.file = s->files.at[of], .line = line};
    return 0;
}

void sheet_add(sheet *s, size_t column, const char *text)
{
    sheet_record *r = &s->records[s->n - 1];
    if (column >= r->n) {
        size_t n = s->columns.n > column ? s->columns.n : column + 1;
        const char **cell = arena_alloc(&s->mem, n * sizeof *cell);
        if (r->n) memcpy(cell, r->cell, r->n * sizeof *cell);
        r->cell = cell, r->n = n;
    }
    r->cell[column] = *text ? arena_strdup(&s->mem, text) : NULL;
}

int sheet_add_named(sheet *s, const char *column, const char *text, err *e)
{
    size_t c;
    if (sheet_column(s, column, &c, e)) return -1;
    sheet_add(s, c, text);
    return 0;
}

int sheet_add_pairs(sheet *s, const char *file, size_t line, const char *const pairs[][2], size_t n, err *e)
{
    int bad = sheet_start(s, file, line, e);
    for (size_t i = 0; i < n && !bad; i++)
        if (pairs[i][1]) bad = sheet_add_named(s, pairs[i][0], pairs[i][1], e);
    return bad;
}

const char *sheet_cell(const sheet *s, size_t record, size_t column)
{
    const sheet_record *r = &s->records[record];
    return column < r->n ? r->cell[column] : NULL;
}

void sheet_unify_numbers(sheet *s)
{
    enum { MOST_VALUES = 10000 }; /* a column with more distinct numbers is no setting */
    for (size_t c = 0; c < s->columns.n; c++) {
        CLEANUP(names_free) names values = {0};
        AUTOFREE const char **first = NULL;
        const char *cell;
        size_t cap = 0;
        char text[32];
        double x;
        bool numbers = true, some = false;
        for (size_t i = 0; i < s->n && numbers; i++) {
            if (!(cell = sheet_cell(s, i, c))) continue;
            numbers = parse_real(cell, &x) && !(*cell == '0' && cell[1] >= '0' && cell[1] <= '9'); /* "007" is a name */
            some = some || strpbrk(cell, ".eE+");
        }
        for (size_t i = 0; i < s->n && numbers && some && values.n < MOST_VALUES; i++) {
            if (!(cell = sheet_cell(s, i, c)) || !parse_real(cell, &x)) continue;
            snprintf(text, sizeof text, "%.17g", x + 0.0);
            size_t before = values.n, at = names_add(&values, &s->mem, text);
            if (at == before) first = grow(first, &cap, at + 1, sizeof *first), first[at] = cell;
            s->records[i].cell[c] = first[at];
        }
    }
}

void sheet_free(sheet *s)
{
    names_free(&s->columns);
    names_free(&s->files);
    free(s->records);
    arena_free(&s->mem);
    *s = (sheet){0};
}
