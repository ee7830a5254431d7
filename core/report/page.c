/* page.c - the HTML page of an experiment. */
#include "report/page.h"
#include "report/curves.h"
#include "report/grid.h"
#include "report/layout.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    "body{font:15px/1.45 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 "
    "1rem;color:#222;background:#fff}"
    "h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:14px;display:block;overflow-"
    "x:auto}"
    "caption{text-align:left;color:#555;padding:.3rem 0}th,td{padding:.15rem "
    ".6rem;text-align:left;white-space:nowrap}"
    "th{border-bottom:1px solid #222}.r{text-align:right}tr.rule td{border-top:1px solid "
    "#bbb}.note{color:#555;font-size:13px;margin:.2rem 0}"
    "svg{max-width:100%;height:auto;margin:.5rem 1rem .5rem 0}svg text{font:11px "
    "system-ui,sans-serif;fill:#444}"
    "svg .title{font-size:13px;font-weight:600;fill:#222}.grid{stroke:#e4e4e4}.axis{stroke:#222;fill:none}"
    ".curve{fill:none;stroke-width:1.5;stroke-opacity:.8}.key "
    "span{display:inline-block;width:.8em;height:.8em;margin:0 .3em 0 1em}"
    "pre{background:#f5f5f5;padding:.7rem;overflow-x:auto;font-size:13px}";

/* All curves of all runs; which row each belongs to. */
typedef struct {
    read_curve *curves;
    size_t n, row;
    int64_t seed;
} run_curves;

static int load_curves(reader *r, const gathered *g, arena *a, run_curves **out, size_t *n, err *e)
{
    size_t cap = 0;
    *out = NULL, *n = 0;
    for (size_t i = 0; i < g->x.n_rows; i++)
        for (size_t k = 0; k < g->x.rows[i].n_runs && !g->x.rows[i].same_as; k++) {
            *out = grow(*out, &cap, *n + 1, sizeof **out);
            run_curves *c = &(*out)[(*n)++];
            *c = (run_curves){.row = i, .seed = g->x.rows[i].runs[k].seed};
            if (reader_curves(r, g->x.rows[i].runs[k].id, a, &c->curves, &c->n, e)) return -1;
        }
    return 0;
}

/* One drawing of the metric over the runs [0, n). */
static void draw_metric(const gathered *g, const run_curves *all, size_t n, const char *metric, arena *a,
                        str *out)
{
    curve_line *lines = arena_alloc(a, (n + 1) * sizeof *lines);
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < all[i].n; k++)
            if (same(all[i].curves[k].metric, metric))
                lines[count++] = (curve_line){
                    arena_printf(a, "%s, seed %lld", g->x.rows[all[i].row].name, (long long)all[i].seed),
                    all[i].row, all[i].curves[k].n, all[i].curves[k].points};
    curves_svg(metric, lines, count, out);
}

static void add_curves(const gathered *g, const run_curves *all, size_t n, arena *a, str *out)
{
    size_t drawn = 0, cap = 0;
    const char **metrics = NULL;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < all[i].n; k++) {
            bool known = false;
            for (size_t m = 0; m < drawn; m++) known = known || same(metrics[m], all[i].curves[k].metric);
            if (known) continue;
            if (!drawn) str_add(out, "<h2>Learning curves</h2>\n<div>\n");
            metrics = grow(metrics, &cap, drawn + 1, sizeof *metrics);
            metrics[drawn++] = all[i].curves[k].metric;
            draw_metric(g, all, n, all[i].curves[k].metric, a, out);
        }
    free(metrics);
    if (!drawn) return;
    str_add(out, "</div>\n<p class=\"key\">");
    for (size_t i = 0; i < g->x.n_rows; i++) {
        if (g->x.rows[i].same_as) continue;
        str_addf(out, "<span style=\"background:%s\"></span>", curve_color(i));
        html_text(out, g->x.rows[i].name);
        str_addc(out, '\n');
    }
    str_add(out, "</p>\n");
}

static void add_runs(const gathered *g, str *out)
{
    static const char *const headings[] = {"run",         "row",  "seed",   "status", "time (s)", "tokens/s",
                                           "memory (MB)", "host", "device", "commit", "error"};
    grid t = {0};
    for (size_t i = 0; i < LENGTH(headings); i++)
        grid_column(&t, headings[i], i == 0 || i == 2 || (i >= 4 && i <= 6));
    for (size_t i = 0; i < g->x.n_rows; i++)
        for (size_t k = 0; k < g->x.rows[i].n_runs && !g->x.rows[i].same_as; k++) {
            const read_run *run = &g->x.rows[i].runs[k];
            grid_row(&t, k == 0);
            grid_put(&t, 0, "%lld", (long long)run->id);
            grid_put(&t, 1, "%s", g->x.rows[i].name);
            grid_put(&t, 2, "%lld", (long long)run->seed);
            grid_put(&t, 3, "%s%s", db_status_text(run->status), run->recorded ? " (recorded)" : "");
            if (isfinite(run->started_at) && isfinite(run->ended_at))
                grid_put(&t, 4, "%.0f", run->ended_at - run->started_at);
            if (isfinite(run->tokens_second)) grid_put(&t, 5, "%.0f", run->tokens_second);
            if (isfinite(run->peak_memory)) grid_put(&t, 6, "%.0f", run->peak_memory / 1e6);
            grid_put(&t, 7, "%s", run->host ? run->host : "");
            grid_put(&t, 8, "%s", run->device ? run->device : "");
            grid_put(&t, 9, "%.12s", run->git_commit ? run->git_commit : "");
            if (run->error) grid_put(&t, 10, "%.*s", (int)strcspn(run->error, "\n"), run->error);
        }
    str_add(out, "<h2>Runs</h2>\n");
    grid_html(&t, out);
    grid_free(&t);
}

static void add_table(const gathered *g, str *out)
{
    grid t = {0};
    table_grid(g, &t);
    grid_html(&t, out);
    grid_free(&t);
}

int page_print(reader *r, const char *name, str *out, err *e)
{
    arena a = {0};
    gathered g;
    run_curves *curves = NULL;
    size_t n = 0;
    table_options o = {0};
    int rc = gather(r, name, &o, true, &a, &g, e);
    if (rc == 1)
        rc = fail(e, "found no experiment%s%s%s; `ablate ls` lists what there is", name ? " \"" : "",
                  name ? name : "", name ? "\"" : "");
    if (!rc) rc = load_curves(r, &g, &a, &curves, &n, e);
    if (!rc) {
        str_add(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
        html_text(out, g.x.name);
        str_addf(out, "</title>\n<style>%s</style></head><body>\n<h1>", style);
        html_text(out, g.x.name);
        str_add(out, "</h1>\n");
        add_table(&g, out);
        add_curves(&g, curves, n, &a, out);
        add_runs(&g, out);
        str_add(out, "</body></html>\n");
    }
    free(curves);
    arena_free(&a);
    return rc;
}
