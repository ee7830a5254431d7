/* across.c - ablate table of several experiments, the tasks: compares rows with equal names in all tasks. */
#include "lab/report/across.h"
#include "lab/draw/chart.h"
#include "lab/report/figures.h"
#include "lab/report/grid.h"
#include "lab/report/plot.h"
#include "lab/statistics/across.h"
#include "base/cleanup.h"
#include <math.h>

enum { POINTS = 61 };
static const double LEVEL = 0.05;

typedef struct {
    gathered g[MOST_TASKS];
    size_t n;
    arena mem;
} tasks;

/* Failed runs leave a row without a score, since the runs that are left are a selection. */
static bool all_positive(const gathered_row *row, int metric)
{
    const measure *m = &row->of[metric];
    for (size_t i = 0; i < m->n; i++)
        if (!(m->values[i] > 0)) return false;
    return m->n && !m->diverged && !row->failed;
}

static int read_task(reader *r, const char *name, const across_options *o, tasks *all, err *e)
{
    table_options t = {.metrics = &o->metric, .n_metrics = o->metric ? 1 : 0};
    gathered *g = &all->g[all->n];
    int rc = gather(r, name, &t, false, &all->mem, g, e);
    if (rc > 0) return reader_no_experiment(r, name, e);
    if (rc) return -1;
    all->n++;
    const gathered_row *base = gathered_base(g);
    if (g->headline < 0 || !g->facts[g->headline].direction)
        return fail(e, "%s: %s", name,
                    g->headline < 0 ? "no run has a result"
                                    : "its metric has no direction; choose another by --metric");
    if (!base) return fail(e, "%s: found no base, but scores are relative to base", name);
    if (!all_positive(base, g->headline))
        return fail(e,
                    "%s: found runs of base that failed, or whose %s is missing, not finite or not above 0, expected "
                    "all above 0",
                    name, g->headings[g->headline]);
    return 0;
}

/* Finds the row's runs on each task; false: a task lacks the row, or has values that are not above 0. */
static bool tasks_of(const tasks *all, const char *name, across_task *out)
{
    for (size_t i = 0; i < all->n; i++) {
        const gathered *g = &all->g[i];
        size_t at = row_named(&g->x, name);
        if (at == NO_ROW || g->x.rows[at].same_as || g->rows[at].base == NO_ROW) return false;
        const measure *m = &g->rows[at].of[g->headline], *b = &g->rows[g->rows[at].base].of[g->headline];
        if (!all_positive(&g->rows[at], g->headline) || !all_positive(&g->rows[g->rows[at].base], g->headline))
            return false;
        out[i] = (across_task){b->values, m->values, b->n, m->n, g->facts[g->headline].direction < 0};
    }
    return true;
}

static void print_figure(grid *t, size_t column, const across_figure *f, bool has_interval)
{
    grid_set(t, column, "%.3f", f->value);
    if (has_interval) grid_set(t, column + 1, "%.3f .. %.3f", f->low, f->high);
}

static void describe_tasks(const tasks *all, size_t left_out, grid *t)
{
    CLEANUP(str_free) str of = {0};
    for (size_t i = 0; i < all->n; i++)
        str_addf(&of, "%s%s (%s)", i ? ", " : "", all->g[i].x.name, all->g[i].headings[all->g[i].headline]);
    grid_footnote(t,
                  "Tasks: %s. A run's score is its value divided by base's mean value on the task, or the inverse if "
                  "lower is better; base scores 1.",
                  of.s);
    grid_footnote(t, "IQM: mean of the middle half of the scores; better: probability that a run is better than a run "
                     "of base on the same task; intervals: 95 %% percentile bootstrap over runs of row and base, "
                     "within tasks (Agarwal et al. 2021).");
    if (left_out)
        grid_footnote(
            t,
            "%zu row%s left out: not in all of these experiments, or with a run that failed or diverged or has a value "
            "not above 0.",
            left_out, left_out == 1 ? " is" : "s are");
}

/* Draws the share of runs above a score, over scores from the lowest to the highest of all rows. */
static int draw(const series *s, size_t n, const char *to, err *e)
{
    chart c = {.x_label = "score over base's",
               .y_label = "share of runs above the score",
               .width = 480,
               .height = 300,
               .exact_height = true,
               .description = "performance profiles"};
    return plot_file(&c, s, n, to, e);
}

static series profile(const across_task *t, size_t n, const char *name, size_t color, double from, double to, arena *a)
{
    across_figure share[POINTS];
    double *v = arena_alloc(a, 4 * POINTS * sizeof *v);
    for (size_t i = 0; i < POINTS; i++) v[i] = from + (to - from) * (double)i / (POINTS - 1);
    across_profile(t, n, LEVEL, v, POINTS, share);
    for (size_t i = 0; i < POINTS; i++)
        v[POINTS + i] = share[i].value, v[2 * POINTS + i] = share[i].low, v[3 * POINTS + i] = share[i].high;
    curve_line l = line_points(v, POINTS);
    series s = line_series(name, series_color(color), series_dash(color), &l);
    s.band = true;
    return s;
}

static int report_across(tasks *all, const across_options *o, err *e)
{
    static const char *const headings[] = {"row", "runs", "IQM", "95 % interval", "better", "95 % interval"};
    const read_experiment *x = &all->g[0].x;
    across_task t[MOST_TASKS];
    series *lines = arena_alloc(&all->mem, (x->n_rows + 1) * sizeof *lines);
    double from = INFINITY, to = -INFINITY;
    CLEANUP(grid_free) grid g = {0};
    CLEANUP(str_free) str out = {0};
    size_t left_out = 0, n = 0;
    for (size_t i = 0; i < LENGTH(headings); i++) grid_column(&g, headings[i], i > 0);
    for (size_t i = 0; i < x->n_rows && o->to; i++)
        if (!x->rows[i].same_as && tasks_of(all, x->rows[i].name, t)) across_range(t, all->n, &from, &to);
    for (size_t i = 0; i < x->n_rows; i++) {
        if (x->rows[i].same_as) continue;
        if (!tasks_of(all, x->rows[i].name, t)) {
            left_out++;
            continue;
        }
        size_t runs = 0;
        bool known = true; /* a single run cannot measure noise */
        for (size_t k = 0; k < all->n; k++) runs += t[k].n_row, known = known && t[k].n_row > 1 && t[k].n_base > 1;
        across_figure iqm = across_iqm(t, all->n, LEVEL), better = across_better(t, all->n, LEVEL);
        grid_row(&g, false);
        grid_set(&g, 0, "%s", x->rows[i].name);
        grid_set(&g, 1, "%zu", runs);
        print_figure(&g, 2, &iqm, known);
        if (!gathered_is_base(&all->g[0], &all->g[0].rows[i])) print_figure(&g, 4, &better, known);
        if (o->to) lines[n] = profile(t, all->n, x->rows[i].name, n, from, to, &all->mem);
        n++;
    }
    describe_tasks(all, left_out, &g);
    grid_print(&g, (enum table_format)o->format, &out);
    fputs(str_text(&out), stdout);
    return o->to ? draw(lines, n, o->to, e) : 0;
}

int across_print(const db_options *where, const char *const *names, size_t n, const across_options *o, err *e)
{
    AUTOFREE tasks *all = xcalloc(1, sizeof *all);
    CLEANUP(reader_end) reader *r = reader_open_any(where, e);
    int rc = r ? 0 : -1;
    for (size_t i = 0; i < n && !rc; i++) rc = read_task(r, names[i], o, all, e);
    if (!rc) rc = report_across(all, o, e);
    arena_free(&all->mem);
    return rc ? -1 : 0;
}
