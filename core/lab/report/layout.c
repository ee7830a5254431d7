/* layout.c - lays out a table's rows and columns for readers; columns.c defines and computes the columns. */
#include "lab/report/layout.h"
#include "lab/report/columns.h"
#include <string.h>

/* Writes the row's cells from column `at` on. */
static void print_cells(grid *t, size_t at, const table_column *columns, size_t n, const gathered *g,
                        const gathered_row *row, enum column_in in)
{
    for (size_t j = 0; j < n; j++) {
        grid_set(t, at + j, "%s", column_cell(&columns[j], g, row, in, &t->mem));
        if (columns[j].of->each == EACH_METRIC && row->of[columns[j].i].best) grid_strong(t, at + j);
    }
}

static const table_column *add_columns(grid *t, const gathered *g, enum column_in in, size_t *n)
{
    const table_column *columns = columns_of(g, in, n, &t->mem);
    for (size_t j = 0; j < *n; j++) grid_column(t, columns[j].heading, !columns[j].of->left);
    return columns;
}

void layout_rows(const gathered *g, grid *t)
{
    size_t n;
    const table_column *columns = add_columns(t, g, OWN, &n);
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const char *group = g->rows[i].row->group;
        grid_row(t, i && (!same(group, g->rows[i - 1].row->group) || !*group));
        print_cells(t, 0, columns, n, g, &g->rows[i], OWN);
    }
}

/* ---- published tables ---- */

void layout_published(const read_published *p, grid *t, bool with_keys)
{
    size_t first = with_keys ? 0 : 1;
    t->title = arena_printf(&t->mem, "%s  %s", p->table, p->title);
    for (size_t j = first; j < p->n_columns; j++) {
        bool number = false;
        for (size_t i = 0; i < p->n_rows; i++) {
            double v;
            number = number || parse_real(p->cells[i * p->n_columns + j], &v);
        }
        grid_column(t, same(p->columns[j], "params_M") && !with_keys ? "params (M)" : p->columns[j], number);
    }
    for (size_t i = 0; i < p->n_rows; i++) {
        const char *const *now = &p->cells[i * p->n_columns];
        grid_row(t, i && same(p->columns[1], "block") && strcmp(now[1], now[1 - (ptrdiff_t)p->n_columns]));
        for (size_t j = first; j < p->n_columns; j++) grid_set(t, j - first, "%s", now[j]);
    }
    grid_footnote(t, "Paper: %s", p->paper);
}

void layout_beside_published(const gathered *g, grid *t)
{
    const read_published *p = &g->paper;
    for (size_t j = 1; j < p->n_columns; j++) grid_column(t, p->columns[j], p->is_result[j]);
    size_t ours = t->n_columns;
    grid_column(t, "ours", false);
    size_t n;
    const table_column *columns = add_columns(t, g, BESIDE, &n);
    for (size_t i = 0; i < p->n_rows; i++) {
        bool written = false;
        for (size_t k = 0; k <= g->x.n_rows; k++) {
            bool here = k < g->x.n_rows && g->rows[k].paper == i;
            if (!here && (k < g->x.n_rows || written)) continue;
            grid_row(t, false);
            for (size_t j = 1; j < p->n_columns && !written; j++)
                grid_set(t, j - 1, "%s", p->cells[i * p->n_columns + j]);
            written = true;
            if (!here) break;
            grid_set(t, ours, "%s", g->rows[k].row->name);
            print_cells(t, ours + 1, columns, n, g, &g->rows[k], BESIDE);
        }
    }
    bool rule = true;
    for (size_t k = 0; k < g->x.n_rows; k++) {
        if (g->rows[k].paper != NO_ROW) continue;
        grid_row(t, rule);
        rule = false;
        grid_set(t, ours, "%s", g->rows[k].row->name);
        print_cells(t, ours + 1, columns, n, g, &g->rows[k], BESIDE);
    }
}
