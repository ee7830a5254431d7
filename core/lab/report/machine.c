/* machine.c - prints a gathered table for programs: CSV and JSON, numbers in full precision. */
#include "lab/report/layout.h"
#include "lab/report/columns.h"

void layout_csv(const gathered *g, str *out)
{
    grid t = {0};
    size_t n;
    const table_column *columns = columns_of(g, CSV, &n, &t.mem);
    for (size_t j = 0; j < n; j++) grid_column(&t, columns[j].heading, false);
    for (size_t i = 0; i < g->x.n_rows; i++) {
        grid_row(&t, false);
        for (size_t j = 0; j < n; j++) grid_set(&t, j, "%s", column_cell(&columns[j], g, &g->rows[i], CSV, &t.mem));
    }
    grid_print(&t, TABLE_CSV, out);
    grid_free(&t);
}

void layout_json(const gathered *g, str *out)
{
    str_addc(out, '{');
    json_key_text(out, "experiment", g->x.name);
    json_key_text(out, "note", g->x.note);
    json_key_text(out, "headline", g->headline < 0 ? NULL : g->metrics[g->headline]);
    str_addf(out,
             ",\"test\":{\"method\":\"crossed components of seeds and sentences, Howe's "
             "interval\",\"adjusted\":\"Holm\",\"rows\":%zu,"
             "\"models\":\"paired approximate randomisation over sentences\",\"trials\":%d}",
             g->tests, g->trials);
    if (g->has_paper) json_key_text(out, "paper", g->paper.paper);
    json_key(out, "rows");
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const gathered_row *row = &g->rows[i];
        const comparison *c = g->headline < 0 ? &comparison_none : &row->against[g->headline];
        str_add(out, i ? ",\n" : "[\n");
        columns_json(&(place){g, row, 0, c}, ONCE, JSON, out);
    }
    str_add(out, g->x.n_rows ? "\n]}\n" : "[]}\n");
}

void layout_published_json(const read_published *p, str *out)
{
    str_addc(out, '{');
    json_key_text(out, "table", p->table);
    json_key_text(out, "paper", p->paper);
    json_key_text(out, "title", p->title);
    json_key(out, "rows");
    for (size_t i = 0; i < p->n_rows; i++) {
        str_add(out, i ? ",\n" : "[\n");
        json_published(p, i, out);
    }
    str_add(out, "\n]}\n");
}
