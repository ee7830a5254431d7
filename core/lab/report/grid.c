/* grid.c - prints a table of cells as text, Markdown and CSV. */
#include "lab/report/grid.h"
#include "base/cleanup.h"
#include "lab/draw/drawing.h"
#include <string.h>

void grid_column(grid *g, const char *heading, bool right)
{
    g->headings = grow(g->headings, &g->column_cap, g->n_columns + 1, sizeof *g->headings);
    g->right = grow(g->right, &g->right_cap, g->n_columns + 1, sizeof *g->right);
    g->headings[g->n_columns] = arena_strdup(&g->mem, heading);
    g->right[g->n_columns++] = right;
}

void grid_row(grid *g, bool rule)
{
    g->rule = grow(g->rule, &g->rule_cap, g->n_rows + 1, sizeof *g->rule);
    g->cells = grow(g->cells, &g->cell_cap, (g->n_rows + 1) * g->n_columns, sizeof *g->cells);
    for (size_t j = 0; j < g->n_columns; j++) g->cells[g->n_rows * g->n_columns + j] = (grid_cell){"", false};
    g->rule[g->n_rows++] = rule;
}

static grid_cell *last(grid *g, size_t column) { return &g->cells[(g->n_rows - 1) * g->n_columns + column]; }

static const char *text_of(grid *g, const char *fmt, va_list ap)
{
    CLEANUP(str_free) str text = {0};
    str_addv(&text, fmt, ap);
    return arena_strdup(&g->mem, str_text(&text));
}

void grid_set(grid *g, size_t column, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    last(g, column)->text = text_of(g, fmt, ap);
    va_end(ap);
}

void grid_strong(grid *g, size_t column) { last(g, column)->strong = true; }

void grid_footnote(grid *g, const char *fmt, ...)
{
    va_list ap;
    g->notes = grow(g->notes, &g->note_cap, g->n_notes + 1, sizeof *g->notes);
    va_start(ap, fmt);
    g->notes[g->n_notes++] = text_of(g, fmt, ap);
    va_end(ap);
}

void grid_free(grid *g)
{
    arena_free(&g->mem);
    free(g->headings);
    free(g->right);
    free(g->cells);
    free(g->rule);
    free(g->notes);
    *g = (grid){0};
}

static const char *cell(const grid *g, size_t i, size_t j) { return g->cells[i * g->n_columns + j].text; }

/* ---- text ---- */

static void text_line(const grid *g, const size_t *widths, size_t row, bool heading, str *out)
{
    size_t pending = 0; /* blanks, written only if something follows */
    for (size_t j = 0; j < g->n_columns; j++) {
        const char *text = heading ? g->headings[j] : cell(g, row, j);
        size_t fill = widths[j] - utf8_count(text, SIZE_MAX);
        if (g->right[j]) pending += fill;
        if (*text) str_addf(out, "%*s%s", (int)pending, "", text), pending = 0;
        if (!g->right[j]) pending += fill;
        pending += 2;
    }
    str_addc(out, '\n');
}

/* Writes a title or note, wrapped to lines of `columns` characters, since it can be long; columns 0: on one line. */
static void sentence(const char *text, size_t columns, str *out)
{
    size_t column = 0;
    str_wrap(out, text, columns ? columns : SIZE_MAX, 0, &column);
    str_addc(out, '\n');
}

static void print_text(const grid *g, size_t columns, str *out)
{
    AUTOFREE size_t *widths = xcalloc(g->n_columns, sizeof *widths);
    for (size_t j = 0; j < g->n_columns; j++) {
        widths[j] = utf8_count(g->headings[j], SIZE_MAX);
        for (size_t i = 0; i < g->n_rows; i++)
            if (utf8_count(cell(g, i, j), SIZE_MAX) > widths[j]) widths[j] = utf8_count(cell(g, i, j), SIZE_MAX);
    }
    if (g->title) sentence(g->title, columns, out);
    text_line(g, widths, 0, true, out);
    for (size_t i = 0; i < g->n_rows; i++) text_line(g, widths, i, false, out);
    for (size_t i = 0; i < g->n_notes; i++) sentence(g->notes[i], columns, out);
}

/* ---- Markdown ---- */

static void md_text(str *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("|*_<\\", *text) || has_prefix(text, "~~") || has_prefix(text, "](")) str_addc(out, '\\');
        str_addc(out, *text);
    }
}

static void print_md(const grid *g, str *out)
{
    if (g->title) md_text(out, g->title), str_add(out, "\n\n");
    for (size_t j = 0; j < g->n_columns; j++) {
        str_add(out, j ? " " : "| ");
        md_text(out, g->headings[j]);
        str_add(out, " |");
    }
    str_add(out, "\n|");
    for (size_t j = 0; j < g->n_columns; j++) str_add(out, g->right[j] ? "---:|" : "---|");
    str_addc(out, '\n');
    for (size_t i = 0; i < g->n_rows; i++) {
        for (size_t j = 0; j < g->n_columns; j++) {
            bool strong = g->cells[i * g->n_columns + j].strong;
            str_add(out, j ? " " : "| ");
            str_add(out, strong ? "**" : "");
            md_text(out, cell(g, i, j));
            str_add(out, strong ? "** |" : " |");
        }
        str_addc(out, '\n');
    }
    for (size_t i = 0; i < g->n_notes; i++) {
        str_addc(out, '\n');
        md_text(out, g->notes[i]);
        str_addc(out, '\n');
    }
}

/* ---- CSV ---- */

static void print_csv(const grid *g, str *out)
{
    for (size_t i = 0; i <= g->n_rows; i++) {
        for (size_t j = 0; j < g->n_columns; j++) {
            if (j) str_addc(out, ',');
            str_add_csv(out, i ? cell(g, i - 1, j) : g->headings[j]);
        }
        str_add(out, "\r\n");
    }
}

void grid_print(const grid *g, enum table_format format, str *out)
{
    switch (format) {
    case TABLE_TEXT: print_text(g, 0, out); break;
    case TABLE_TERMINAL: print_text(g, terminal_columns(1), out); break;
    case TABLE_MD: print_md(g, out); break;
    case TABLE_LATEX: grid_latex(g, out); break;
    case TABLE_CSV: print_csv(g, out); break;
    case TABLE_JSON: broken("lab/report/grid.c: a grid has no JSON form");
    }
}

void print_grid(const grid *t)
{
    CLEANUP(str_free) str out = {0};
    grid_print(t, TABLE_TERMINAL, &out);
    fputs(str_text(&out), stdout);
}
