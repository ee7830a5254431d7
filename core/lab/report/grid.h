/* grid.h - a table of text cells and its renderings. Everything lives in the grid's own arena. */
#ifndef ABLATE_REPORT_GRID_H
#define ABLATE_REPORT_GRID_H
#include "base/base.h"

enum table_format { TABLE_TEXT, TABLE_MD, TABLE_LATEX, TABLE_CSV, TABLE_JSON, TABLE_TERMINAL };

typedef struct {
    const char *text;
    bool strong; /* bold if the format supports it */
} grid_cell;

typedef struct {
    arena mem;
    const char *title; /* a line above, or NULL */
    const char *label; /* label in LaTeX, or NULL */
    const char **headings;
    bool *right; /* by column: is the column aligned right? */
    size_t n_columns, column_cap, right_cap;
    grid_cell *cells; /* n_rows x n_columns; columns are complete before the first row */
    bool *rule;       /* by row: is a line drawn above the row? */
    size_t n_rows, cell_cap, rule_cap;
    const char **notes; /* lines below */
    size_t n_notes, note_cap;
} grid; /* {0} is empty */

void grid_column(grid *g, const char *heading, bool right);
void grid_row(grid *g, bool rule); /* adds a row of empty cells */
/* Writes a cell of the last row, printf-like. */
void grid_set(grid *g, size_t column, const char *fmt, ...) PRINTF_LIKE(3, 4);
void grid_strong(grid *g, size_t column);
void grid_footnote(grid *g, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Prints as TABLE_TEXT, TABLE_MD, TABLE_LATEX or TABLE_CSV (without title and notes). TABLE_TERMINAL is text whose
 * title and notes wrap at the terminal's width, if standard output is a terminal. */
void grid_print(const grid *g, enum table_format format, str *out);
void print_grid(const grid *g);           /* prints text on standard output */
void grid_latex(const grid *g, str *out); /* prints a table environment (latex.c) */
void grid_free(grid *g);
#endif
