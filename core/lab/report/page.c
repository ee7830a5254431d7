/* page.c - prints the HTML page of an experiment. */
#include "lab/report/page.h"
#include "lab/report/figures.h"
#include "lab/report/grid.h"
#include "lab/report/layout.h"
#include "base/cleanup.h"
#include <math.h>
#include <string.h>
#include <time.h>

extern const char page_css[], page_js[]; /* page.css, page.js */

/* ---- tables ---- */

/* keys: each row's name for the script; NULL: rows have no names. The caption is outside the table, to wrap at the
 * page's width. */
static void write_table(const grid *t, const char *caption, const char *const *keys, str *out)
{
    svg_between(out, "<p class=\"note\">", caption, "</p>\n");
    svg_between(out, "<div class=\"scroll\"><table aria-label=\"", caption, "\">\n<thead><tr>");
    for (size_t j = 0; j < t->n_columns; j++)
        svg_between(out, t->right[j] ? "<th scope=\"col\" class=\"r\">" : "<th scope=\"col\">", t->headings[j],
                    "</th>");
    str_add(out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < t->n_rows; i++) {
        str_add(out, i && t->rule[i] ? "<tr class=\"rule\"" : "<tr");
        if (keys) svg_between(out, " tabindex=\"0\" data-row=\"", keys[i], "\"");
        str_addc(out, '>');
        for (size_t j = 0; j < t->n_columns; j++) {
            const grid_cell *c = &t->cells[i * t->n_columns + j];
            str_add(out, t->right[j] ? "<td class=\"r\">" : "<td>");
            svg_between(out, c->strong ? "<b>" : "", c->text, c->strong ? "</b></td>" : "</td>");
        }
        str_add(out, "</tr>\n");
    }
    str_add(out, "</tbody></table></div>\n");
}

static void add_table(const gathered *g, arena *a, str *out)
{
    CLEANUP(grid_free) grid t = {0};
    const char **keys = arena_alloc(a, (g->x.n_rows + 1) * sizeof *keys);
    table_grid(g, &t);
    for (size_t i = 0; i < g->x.n_rows; i++) keys[i] = g->x.rows[i].name;
    str_add(out, "<section id=\"table\"><h2>Table</h2>\n");
    write_table(&t, t.title, t.n_rows == g->x.n_rows ? keys : NULL, out);
    for (size_t i = 0; i < t.n_notes; i++) svg_between(out, "<p class=\"note\">", t.notes[i], "</p>\n");
    str_add(out, "</section>\n");
}

/* Prints the rows' values of keys that differ; blank: same as base. */
static void add_settings(const gathered *g, arena *a, str *out)
{
    factor_table f;
    CLEANUP(grid_free) grid t = {0};
    size_t base = 0;
    factors_find(g, a, &f);
    while (base < g->x.n_rows && !g->rows[base].row->is_base) base++;
    if (!f.n_factors || base == g->x.n_rows) return;
    grid_column(&t, "row", false);
    for (size_t k = 0; k < f.n_factors; k++)
        grid_column(&t, f.factors[k].name, f.factors[k].numbers && f.factors[k].n_levels);
    const char **keys = arena_alloc(a, (g->x.n_rows + 1) * sizeof *keys);
    for (size_t i = 0; i < g->x.n_rows; i++) {
        keys[i] = g->x.rows[i].name;
        grid_row(&t, false);
        grid_set(&t, 0, "%s", g->x.rows[i].name);
        for (size_t k = 0; k < f.n_factors; k++) {
            size_t l = f.level[i * f.n_factors + k];
            if (l != NO_ROW && (i == base || l != f.level[base * f.n_factors + k]))
                grid_set(&t, 1 + k, "%s", f.factors[k].levels[l]);
        }
    }
    str_add(out, "<section id=\"settings\"><h2>Settings that differ</h2>\n");
    write_table(&t, "Blank: same as base.", keys, out);
    str_add(out, "</section>\n");
}

static void write_run(grid *t, const char *row, const read_run *run, bool rule)
{
    grid_row(t, rule);
    grid_set(t, 0, "%lld", (long long)run->id);
    grid_set(t, 1, "%s", row);
    grid_set(t, 2, "%lld", (long long)run->seed);
    grid_set(t, 3, "%s%s", run_status(run), read_origin(run));
    if (run->step >= 0 && run->total_steps > 0)
        grid_set(t, 4, "%.0f %%", 100.0 * (double)run->step / (double)run->total_steps);
    if (isfinite(run->seconds)) grid_set(t, 5, "%.0f", run->seconds);
    if (isfinite(run->tokens_second)) grid_set(t, 6, "%.0f", run->tokens_second);
    if (isfinite(run->peak_memory)) grid_set(t, 7, "%.0f", run->peak_memory / 1e6);
    grid_set(t, 8, "%s", run->host ? run->host : "");
    grid_set(t, 9, "%s", run->device ? run->device : "");
    grid_set(t, 10, "%.12s", run->git_commit ? run->git_commit : "");
    if (run->error) grid_set(t, 11, "%.*s", (int)strcspn(run->error, "\n"), run->error);
}

/* Lists all runs, or only unfinished ones if there are many, to limit the page's size. */
static void add_runs(const gathered *g, str *out)
{
    enum { MOST = 200 };
    static const char *const headings[] = {"run",      "row",         "seed", "status", "step",   "time (s)",
                                           "tokens/s", "memory (MB)", "host", "device", "commit", "error"};
    CLEANUP(grid_free) grid t = {0};
    AUTOFREE const char **keys = NULL;
    size_t cap = 0, n = 0, all = 0;
    for (size_t i = 0; i < g->x.n_rows; i++) all += g->x.rows[i].same_as ? 0 : g->x.rows[i].n_runs;
    for (size_t i = 0; i < LENGTH(headings); i++) grid_column(&t, headings[i], i == 0 || i == 2 || (i >= 4 && i <= 7));
    for (size_t i = 0; i < g->x.n_rows; i++)
        for (size_t k = 0; k < g->x.rows[i].n_runs && !g->x.rows[i].same_as; k++) {
            if (n == MOST || (all > MOST && g->x.rows[i].runs[k].status == DB_DONE)) continue;
            keys = grow(keys, &cap, n + 1, sizeof *keys);
            keys[n++] = g->x.rows[i].name;
            write_run(&t, g->x.rows[i].name, &g->x.rows[i].runs[k], k == 0);
        }
    str_add(out, "<section id=\"runs\"><h2>Runs</h2>\n<details><summary>");
    if (n == all)
        str_addf(out, "%zu run%s: where and when each was trained</summary>\n", n, n == 1 ? "" : "s");
    else
        str_addf(
            out,
            "%zu of %zu runs, including the first %d unfinished ones; <code>ablate ls</code> lists all</summary>\n", n,
            all, MOST);
    write_table(&t, "Each run's settings: `ablate show RUN`.", keys, out);
    str_add(out, "</details></section>\n");
}

/* ---- words ---- */

static void add_head(const gathered *g, bool live, const char *body, str *out)
{
    CLEANUP(str_free) str devices = {0}, commits = {0};
    size_t runs = 0, done = 0, failed = 0, open = 0;
    for (size_t i = 0; i < g->x.n_rows; i++) {
        if (g->x.rows[i].same_as) continue;
        runs += g->x.rows[i].n_runs, done += g->rows[i].done, failed += g->rows[i].failed, open += g->rows[i].open;
    }
    for (size_t i = 0; i < g->x.n_rows; i++)
        for (size_t k = 0; k < g->x.rows[i].n_runs; k++) {
            add_once(&devices, g->x.rows[i].runs[k].device, 80);
            add_once(&commits, g->x.rows[i].runs[k].git_commit, 12);
        }
    svg_between(out, "<header><h1>", g->x.name, "</h1>\n");
    if (g->x.note && *g->x.note) svg_between(out, "<p>", g->x.note, "</p>\n");
    str_addf(out, "<p>%zu row%s, %zu of %zu runs done", g->x.n_rows, g->x.n_rows == 1 ? "" : "s", done, runs);
    if (failed) str_addf(out, ", %zu failed", failed);
    if (open) str_addf(out, ", %zu to go", open);
    if (devices.n) svg_between(out, "; trained on ", devices.s, "");
    if (commits.n) svg_between(out, ", commit ", commits.s, "");
    str_addf(out, ".%s</p>\n", live ? " <span id=\"live\" role=\"status\">live</span>" : "");
    str_add(out, "<nav aria-label=\"sections\">");
    for (const char *at = body; (at = strstr(at, "<section id=\"")); at++) {
        const char *id = at + strlen("<section id=\""), *title = strstr(id, "<h2>") + strlen("<h2>");
        str_addf(out, "<a href=\"#%.*s\">%.*s</a>", (int)strcspn(id, "\""), id, (int)strcspn(title, "<"), title);
    }
    str_add(out, "</nav></header>\n");
}

static void add_verdict(const gathered *g, str *out)
{
    str_add(out, "<section id=\"verdict\"><h2>Verdict</h2>\n");
    if (g->headline < 0)
        str_add(out, "<p>No run has a result yet.</p>\n");
    else
        figure_forest(g, out);
    str_add(out, "</section>\n");
}

int page_print(reader *r, const char *name, bool live, str *out, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    gathered g = {0};
    AUTOFREE run_curves *curves = NULL;
    size_t n = 0;
    table_options o = {0};
    CLEANUP(str_free) str body = {0};
    int rc = gather(r, name, &o, true, &a, &g, e);
    if (rc == 1) rc = reader_no_experiment(r, name, e);
    if (!rc) rc = curves_load(r, &g, &a, &curves, &n, e);
    if (!rc) {
        draw_head(out, "", g.x.name);
        str_addf(out, "%s</style></head>\n<body%s>\n<main>\n", page_css, live ? " data-live" : "");
        add_verdict(&g, &body);
        add_table(&g, &a, &body);
        figure_curves(&g, curves, n, &a, &body);
        figure_cost(&g, &a, &body);
        figure_effects(&g, &body);
        figure_grids(&g, &a, &body);
        add_settings(&g, &a, &body);
        add_runs(&g, &body);
        add_head(&g, live, str_text(&body), out);
        str_add(out, str_text(&body));
        str_addf(out, "</main>\n<script>\n%s</script></body></html>\n", page_js);
    }
    return rc;
}
