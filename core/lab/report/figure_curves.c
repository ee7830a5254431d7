/* figure_curves.c - learning curves in facets: the mean over seeds with a band, and seeds as thin lines. */
#include "lab/report/figures.h"
#include "base/cleanup.h"
#include <math.h>
#include <string.h>

enum { FACET_ROWS = 6, POINTS_IN_ALL = 24000, FEWEST_POINTS = 16, MOST_POINTS = 160 };

int curves_load(reader *r, const gathered *g, arena *a, run_curves **out, size_t *n, err *e)
{
    size_t cap = 0;
    *out = NULL, *n = 0;
    for (size_t i = 0; i < g->x.n_rows; i++)
        for (size_t k = 0; k < g->x.rows[i].n_runs && !g->x.rows[i].same_as; k++) {
            *out = grow(*out, &cap, *n + 1, sizeof **out);
            run_curves *c = &(*out)[(*n)++];
            *c = (run_curves){.row = i, .run = &g->x.rows[i].runs[k]};
            if (reader_curves(r, c->run->id, NULL, a, &c->curves, &c->n, e)) return -1;
        }
    return 0;
}

const read_curve *curve_of(const run_curves *r, const char *metric)
{
    for (size_t i = 0; i < r->n; i++)
        if (same(r->curves[i].metric, metric)) return &r->curves[i];
    return NULL;
}

void curve_thin(curve_line *l, size_t keep)
{
    if (l->n <= keep || keep < 2) return;
    for (size_t i = 0; i < keep; i++) {
        size_t from = i * (l->n - 1) / (keep - 1);
        l->x[i] = l->x[from], l->y[i] = l->y[from];
        if (l->low) l->low[i] = l->low[from], l->high[i] = l->high[from];
    }
    l->n = keep;
}

static curve_line seed_line(const read_curve *c, arena *a)
{
    curve_line l = {.n = c->n};
    l.x = arena_alloc(a, (c->n + 1) * sizeof *l.x), l.y = arena_alloc(a, (c->n + 1) * sizeof *l.y);
    for (size_t i = 0; i < c->n; i++) l.x[i] = (double)c->points[i].step, l.y[i] = c->points[i].value;
    return l;
}

curve_line curve_mean(const read_curve *const *of, size_t n, arena *a)
{
    curve_line l = {0};
    size_t longest = of[0]->n;
    AUTOFREE size_t *at = xcalloc(n, sizeof *at);
    l.x = arena_alloc(a, (longest + 1) * sizeof *l.x), l.y = arena_alloc(a, (longest + 1) * sizeof *l.y);
    if (n > 1)
        l.low = arena_alloc(a, (longest + 1) * sizeof *l.low), l.high = arena_alloc(a, (longest + 1) * sizeof *l.high);
    for (size_t k = 0; k < longest; k++) {
        int64_t step = of[0]->points[k].step;
        double sum = 0, squares = 0;
        bool all = true;
        for (size_t i = 0; i < n; i++) {
            while (at[i] < of[i]->n && of[i]->points[at[i]].step < step) at[i]++;
            all = all && at[i] < of[i]->n && of[i]->points[at[i]].step == step;
            if (all) sum += of[i]->points[at[i]].value;
        }
        if (!all) continue;
        double mean = sum / (double)n;
        for (size_t i = 0; i < n; i++) squares += pow(of[i]->points[at[i]].value - mean, 2);
        double sd = n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
        l.x[l.n] = (double)step, l.y[l.n] = mean;
        if (n > 1) l.low[l.n] = mean - sd, l.high[l.n] = mean + sd;
        l.n++;
    }
    return l;
}

typedef struct {
    const gathered *g;
    const run_curves *runs;
    size_t n, keep, keep_mean; /* keep: points per seed, 0: seeds are not drawn; keep_mean: points per mean */
    arena *a;
    const char *metric;
    chart frame;
} curves;

/* Appends the series of a row, thin seeds and the mean; returns their number. titled: the title names the group. */
static size_t row_series(const curves *c, size_t row, bool titled, int color, int dash, series *s)
{
    const char *name = c->g->rows[row].row->name, *group = c->g->rows[row].row->group;
    size_t prefix = titled && *group && has_prefix(name, group) && name[strlen(group)] == '/' ? strlen(group) + 1 : 0;
    const read_curve **of = arena_alloc(c->a, (c->n + 1) * sizeof *of);
    size_t n = 0, count = 0;
    for (size_t i = 0; i < c->n; i++) {
        const read_curve *one = c->runs[i].row == row ? curve_of(&c->runs[i], c->metric) : NULL;
        if (!one || !one->n) continue;
        of[n++] = one;
        if (c->g->rows[row].row->n_runs < 2 || !c->keep) continue;
        curve_line l = seed_line(one, c->a);
        curve_thin(&l, c->keep);
        series *seed = &s[count++];
        *seed = line_series(name, color, 0, &l);
        seed->name = NULL, seed->faint = true;
        seed->hint = arena_printf(c->a, "%s, seed %lld", name, (long long)c->runs[i].run->seed);
    }
    if (!n) return 0;
    curve_line l = curve_mean(of, n, c->a);
    curve_thin(&l, c->keep_mean);
    if (!l.n) return count;
    s[count] = line_series(name, color, dash, &l);
    s[count].name = name + prefix, s[count].hint = name, s[count].band = true;
    return count + 1;
}

static void facet(curves *c, const size_t *rows, size_t n, const char *title, str *out)
{
    AUTOFREE series *s = xcalloc(c->n + c->g->x.n_rows + 2, sizeof *s);
    size_t count = 0, color = 0;
    for (size_t i = 0; i < n; i++) {
        bool base = c->g->rows[rows[i]].row->is_base;
        size_t k = base ? 0 : color++;
        count += row_series(c, rows[i], *title != 0, base ? COLOR_INK : series_color(k),
                            base ? 0 : (int)(k % SERIES_DASHES), s + count);
    }
    c->frame.title = *title ? title : NULL;
    c->frame.y_label = c->metric;
    c->frame.description =
        arena_printf(c->a, "%s over steps, %zu rows%s%s", c->metric, n, *title ? ", group " : "", title);
    figure_put(chart_draw(&c->frame, s, count), out);
}

/* All facets of a metric share the vertical axis, for comparison; steps have separate axes. */
static bool set_frame(curves *c)
{
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < c->n; i++) {
        const read_curve *one = curve_of(&c->runs[i], c->metric);
        for (size_t k = 0; one && k < one->n; k++) {
            if (!isfinite(one->points[k].value)) continue;
            least = fmin(least, one->points[k].value), most = fmax(most, one->points[k].value);
        }
    }
    bool logarithmic = least > 0 && most / least > 6;
    c->frame = (chart){
        .x_label = logarithmic ? "step (logarithmic upwards)" : "step", .log_y = logarithmic, .y0 = least, .y1 = most};
    return isfinite(least);
}

/* Draws the facets of a group of rows, or of all: as many as needed, equally full. */
static void group_facets(curves *c, const size_t *rows, size_t n, size_t base, const char *title, str *out)
{
    size_t facets = (n + FACET_ROWS - 1) / FACET_ROWS, each = facets ? (n + facets - 1) / facets : 0;
    for (size_t from = 0; from < n; from += each) {
        size_t shown[FACET_ROWS + 1], count = 0;
        if (base != NO_ROW) shown[count++] = base; /* base is in every facet */
        for (size_t i = from; i < n && i < from + each; i++) shown[count++] = rows[i];
        facet(c, shown, count, title, out);
    }
    if (!n && base != NO_ROW) facet(c, &base, 1, title, out);
}

static void one_metric(curves *c, bool shown, str *out)
{
    AUTOFREE size_t *rows = xcalloc(c->g->x.n_rows + 1, sizeof *rows);
    size_t n = 0, base = NO_ROW, in_all = 0, groups = 0;
    if (!set_frame(c)) return;
    str_addf(out, "<div class=\"metric%s\"", shown ? "" : " later");
    svg_between(out, " data-metric=\"", c->metric, "\">");
    svg_between(out, "<h3>", c->metric, "</h3><div class=\"facets\">\n");
    for (size_t i = 0; i < c->g->x.n_rows; i++) {
        if (c->g->rows[i].row->is_base)
            base = i;
        else
            in_all += !c->g->rows[i].row->same_as;
    }
    for (size_t i = 0; i < c->g->x.n_rows; i++) {
        const read_row *row = c->g->rows[i].row, *next = i + 1 < c->g->x.n_rows ? c->g->rows[i + 1].row : NULL;
        if (!row->same_as && i != base) rows[n++] = i;
        if (next && (in_all <= FACET_ROWS || same(row->group, next->group))) continue;
        if (n || (!next && !groups))
            group_facets(c, rows, n, base, in_all > FACET_ROWS ? row->group : "", out), groups++;
        n = 0;
    }
    str_add(out, "</div></div>\n");
}

/* Limits the points of all lines, for the page's size. A mean with its band is three lines; each facet draws base. */
static void share_points(curves *c, size_t n_metrics)
{
    size_t means = 4 * c->g->x.n_rows, keep = POINTS_IN_ALL / (n_metrics * (c->n + means) + 1),
           keep_mean = POINTS_IN_ALL / (n_metrics * means + 1);
    c->keep = keep < FEWEST_POINTS ? 0 : keep > MOST_POINTS ? MOST_POINTS : keep;
    c->keep_mean = c->keep                     ? c->keep
                   : keep_mean < FEWEST_POINTS ? FEWEST_POINTS
                   : keep_mean > MOST_POINTS   ? MOST_POINTS
                                               : keep_mean;
}

void figure_curves(const gathered *g, const run_curves *runs, size_t n, arena *a, str *out)
{
    AUTOFREE const char **metrics = NULL;
    size_t n_metrics = 0, cap = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < runs[i].n; k++) {
            size_t m = 0;
            while (m < n_metrics && !same(metrics[m], runs[i].curves[k].metric)) m++;
            if (m < n_metrics) continue;
            metrics = grow(metrics, &cap, n_metrics + 1, sizeof *metrics);
            metrics[n_metrics++] = runs[i].curves[k].metric;
        }
    if (!n_metrics) return;
    size_t first = 0; /* metrics on held-out data come first */
    for (size_t m = n_metrics; m-- > 0;)
        if (has_prefix(metrics[m], "dev")) first = m;
    curves c = {.g = g, .runs = runs, .n = n, .a = a};
    share_points(&c, n_metrics);
    str_add(out, "<section id=\"curves\"><h2>Learning curves</h2>\n<p class=\"note\">Thick: mean over seeds; band: "
                 "mean ± sample standard deviation; thin: seeds. Base is in every facet.</p>\n<div class=\"choose\" "
                 "role=\"group\" aria-label=\"metric\"></div>\n");
    for (size_t i = 0; i < n_metrics; i++) {
        c.metric = metrics[i == 0 ? first : i <= first ? i - 1 : i];
        one_metric(&c, i == 0, out);
    }
    str_add(out, "</section>\n");
}
