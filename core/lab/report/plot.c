/* plot.c - ablate plot: selects the numbers of the chart. */
#include "lab/report/plot.h"
#include "lab/draw/chart_data.h"
#include "lab/report/figures.h"
#include "lab/statistics/best_of.h"
#include "base/cleanup.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const plot_options *o;
    gathered g;
    factor_table factors;
    size_t metric; /* index in g */
    arena mem;
    series *series;
    size_t n;
    chart chart;
} plot;

static int find_factor(const plot *p, const char *option, const char *name, size_t *out, err *e)
{
    static const char *const more[] = {"step", "params", "flops", "time", "trials"};
    AUTOFREE const char **names = xcalloc(p->factors.n_factors + LENGTH(more) + 1, sizeof *names);
    size_t n = 0;
    CLEANUP(str_free) str all = {0};
    *out = factor_named(&p->factors, name, strlen(name));
    for (size_t i = 0; i < p->factors.n_factors; i++) names[n++] = p->factors.factors[i].name;
    for (size_t i = 0; i < LENGTH(more) && same(option, "--over"); i++) names[n++] = more[i];
    for (size_t i = 0; i < n; i++) str_addf(&all, "%s%s", i ? ", " : "", names[i]);
    if (*out != NO_ROW) return 0;
    return fail(e, "%s %s: no row of %s changes this key; expected one of: %s", option, name, p->g.x.name,
                str_text(&all));
}

/* ---- numbers of rows ---- */

static double mean_time(const read_row *row)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < row->n_runs; i++)
        if (isfinite(row->runs[i].seconds)) sum += row->runs[i].seconds, n++;
    return n ? sum / (double)n : NAN;
}

static void interval(const plot *p, const measure *m, double *low, double *high)
{
    *low = *high = NAN;
    if (m->n < 2 || same(p->o->bars, "none")) return;
    *low = m->mean - m->sd, *high = m->mean + m->sd;
    for (size_t i = 0; i < m->n && same(p->o->bars, "range"); i++) {
        if (!i) *low = *high = m->values[0];
        *low = fmin(*low, m->values[i]), *high = fmax(*high, m->values[i]);
    }
}

typedef struct {
    double x, y, low, high;
} point;

static int by_x(const void *a, const void *b)
{
    double p = ((const point *)a)->x, q = ((const point *)b)->x;
    return (p > q) - (p < q);
}

/* Appends a line with the next colour, dashes and marker. */
static series *add_line(plot *p, const char *name, const curve_line *l)
{
    series *s = &p->series[p->n];
    *s = line_series(name, series_color(p->n), series_dash(p->n), l);
    s->marker = (int)p->n++ % 5;
    return s;
}

static void add_series(plot *p, const char *name, point *points, size_t n, bool line)
{
    if (!n) return;
    double *v = arena_alloc(&p->mem, 4 * n * sizeof *v);
    qsort(points, n, sizeof *points, by_x);
    for (size_t i = 0; i < n; i++)
        v[i] = points[i].x, v[n + i] = points[i].y, v[2 * n + i] = points[i].low, v[3 * n + i] = points[i].high;
    curve_line l = line_points(v, n);
    series *s = add_line(p, name, &l);
    s->line = line, s->points = true;
}

/* Plots the metric over each row's cost: a named point per row, or a line per level of `by`. */
static int over_cost(plot *p, err *e)
{
    const char *over = p->o->over;
    size_t by = NO_ROW, levels = 1;
    if (p->o->by && find_factor(p, "--by", p->o->by, &by, e)) return -1;
    if (by != NO_ROW) levels = p->factors.factors[by].n_levels;
    AUTOFREE point *points = xcalloc(p->g.x.n_rows + 1, sizeof *points);
    for (size_t l = 0; l < levels; l++) {
        size_t n = 0;
        for (size_t i = 0; i < p->g.x.n_rows; i++) {
            const gathered_row *row = &p->g.rows[i];
            const measure *m = &row->of[p->metric];
            if (row->row->same_as || !m->n || (by != NO_ROW && p->factors.level[i * p->factors.n_factors + by] != l))
                continue;
            double x = same(over, "params")  ? row->parameters
                       : same(over, "flops") ? training_flops(row->row)
                                             : mean_time(row->row);
            if (!isfinite(x)) continue;
            point at = {.x = x, .y = m->mean};
            interval(p, m, &at.low, &at.high);
            if (by == NO_ROW)
                add_series(p, gathered_label(row, &p->mem), &at, 1, false);
            else
                points[n++] = at;
        }
        if (by != NO_ROW) add_series(p, p->factors.factors[by].levels[l], points, n, true);
    }
    p->chart.x_label = same(over, "params")  ? "parameters"
                       : same(over, "flops") ? "training FLOPs"
                                             : "training time (s)";
    return 0;
}

/* Plots over a key that rows change: rows equal to base in all other keys except `by`. */
static int over_key(plot *p, err *e)
{
    size_t over, by = NO_ROW, nf = p->factors.n_factors, base = 0, left_out = 0;
    if (find_factor(p, "--over", p->o->over, &over, e) || (p->o->by && find_factor(p, "--by", p->o->by, &by, e)))
        return -1;
    if (over == by) return fail(e, "--over and --by are both %s", p->o->by);
    while (base < p->g.x.n_rows && !p->g.rows[base].row->is_base) base++;
    const factor *f = &p->factors.factors[over];
    double v;
    if (p->o->log_x && !f->numbers)
        return fail(e, "--log x: %s has non-numeric values, such as \"%s\"", f->name, f->levels[0]);
    size_t levels = by == NO_ROW ? 1 : p->factors.factors[by].n_levels;
    AUTOFREE point *points = xcalloc(p->g.x.n_rows + 1, sizeof *points);
    for (size_t l = 0; l < levels; l++) {
        size_t n = 0;
        for (size_t i = 0; i < p->g.x.n_rows; i++) {
            const size_t *level = &p->factors.level[i * nf];
            const measure *m = &p->g.rows[i].of[p->metric];
            bool as_base = base == p->g.x.n_rows || factors_in_slice(&p->factors, i, base, over, by);
            if (p->g.rows[i].row->same_as || level[over] == NO_ROW || (by != NO_ROW && level[by] != l)) continue;
            if (!as_base || !m->n) {
                left_out++;
                continue;
            }
            bool twice = false; /* another row has this level already, such as a row equal to base */
            point at = {.x = (double)level[over], .y = m->mean};
            if (f->numbers && parse_real(f->levels[level[over]], &v)) at.x = v;
            for (size_t k = 0; k < n; k++) twice = twice || points[k].x == at.x;
            interval(p, m, &at.low, &at.high);
            if (!twice) points[n++] = at;
        }
        add_series(p, by == NO_ROW ? NULL : p->factors.factors[by].levels[l], points, n, f->numbers);
    }
    if (left_out)
        fprintf(stderr, "%zu row%s left out: other keys also differ from base, or no run has a %s\n", left_out,
                left_out == 1 ? " is" : "s are", p->g.headings[p->metric]);
    p->chart.x_label = f->name;
    if (!f->numbers) p->chart.categories = f->levels, p->chart.n_categories = f->n_levels;
    return 0;
}

/* Plots over steps: a curve per row, or per level of `by` among rows otherwise equal to base; means over seeds. */
static int over_steps(plot *p, reader *r, err *e)
{
    enum { MOST_POINTS = 400 };
    AUTOFREE run_curves *runs = NULL;
    size_t n_runs = 0, by = NO_ROW, base = 0, nf = p->factors.n_factors;
    const char *metric = p->o->metric;
    if (p->o->by && find_factor(p, "--by", p->o->by, &by, e)) return -1;
    int rc = curves_load(r, &p->g, &p->mem, &runs, &n_runs, e);
    CLEANUP(str_free) str known = {0};
    bool found = false;
    for (size_t i = 0; i < n_runs && !rc; i++)
        for (size_t k = 0; k < runs[i].n; k++) {
            const char *name = runs[i].curves[k].metric;
            bool judged = p->g.foreign && p->g.headline >= 0 && same(name, p->g.metrics[p->g.headline]);
            if (!metric && (has_prefix(name, "dev") || judged)) metric = name;
            found = found || same(name, metric);
            if (!i) str_addf(&known, "%s%s", k ? ", " : "", name);
        }
    if (!rc && !found)
        rc = fail(e, "--metric %s: no run of %s has such a curve; expected one of: %s", metric ? metric : "dev...",
                  p->g.x.name, str_text(&known));
    while (base < p->g.x.n_rows && !p->g.rows[base].row->is_base) base++;
    for (size_t i = 0; i < p->g.x.n_rows && !rc; i++) {
        const read_curve **of = arena_alloc(&p->mem, (n_runs + 1) * sizeof *of);
        size_t n = 0;
        bool as_base = by == NO_ROW || base == p->g.x.n_rows || factors_in_slice(&p->factors, i, base, by, by);
        for (size_t k = 0; k < n_runs && as_base; k++) {
            const read_curve *c = runs[k].row == i ? curve_of(&runs[k], metric) : NULL;
            if (c && c->n) of[n++] = c;
        }
        if (!n) continue;
        curve_line l = curve_mean(of, n, &p->mem);
        curve_thin(&l, MOST_POINTS);
        size_t level = by == NO_ROW ? NO_ROW : p->factors.level[i * nf + by];
        const char *name =
            level == NO_ROW ? gathered_label(&p->g.rows[i], &p->mem) : p->factors.factors[by].levels[level];
        bool bars = l.low && !same(p->o->bars, "none");
        if (!bars) l.low = l.high = NULL;
        series *s = add_line(p, name, &l);
        s->band = true, s->marker = 0;
    }
    if (!rc) p->chart.x_label = "step", p->chart.y_label = arena_strdup(&p->mem, metric);
    return rc;
}

/* Plots each searched row over the number k of trials: the best of k candidates of its first rung, where all candidates
 * train equally long. */
static int over_trials(plot *p, err *e)
{
    if (!p->g.n_trials) return fail(e, "--over trials: no row of %s was searched (lr = tune(...))", p->g.x.name);
    AUTOFREE double *values = xmalloc(p->g.n_trials * sizeof *values);
    const char *metric =
        p->g.trials_made[0].metric; /* dev perplexity for ablate's searches, any metric for imported ones */
    bool lower = true;
    for (size_t m = 0; m < p->g.n_metrics; m++)
        if (same(p->g.metrics[m], metric)) lower = metric_better(&p->g.facts[m], 1, 0) <= 0;
    for (size_t i = 0; i < p->g.x.n_rows; i++) {
        const read_row *row = p->g.rows[i].row;
        int64_t first = INT64_MAX;
        size_t n = 0;
        for (size_t k = 0; k < p->g.n_trials; k++)
            if (same(p->g.trials_made[k].row, row->name) && p->g.trials_made[k].rung < first)
                first = p->g.trials_made[k].rung;
        int64_t seed = INT64_MIN;
        for (size_t k = 0; k < p->g.n_trials; k++) {
            const db_trial *t = &p->g.trials_made[k];
            if (!same(t->row, row->name) || t->rung != first) continue;
            if (seed == INT64_MIN) seed = t->seed; /* each candidate's first run */
            if (t->seed == seed) values[n++] = t->value;
        }
        if (!n || row->same_as) continue;
        double *v = arena_alloc(&p->mem, 4 * n * sizeof *v);
        for (size_t k = 0; k < n; k++) {
            best_of b = best_of_trials(values, n, k + 1, lower);
            v[k] = (double)k + 1, v[n + k] = b.mean, v[2 * n + k] = b.low, v[3 * n + k] = b.high;
        }
        curve_line l = line_points(v, n);
        series *s = add_line(p, gathered_label(&p->g.rows[i], &p->mem), &l);
        s->points = s->band = true;
        if (same(p->o->bars, "none")) s->low = s->high = NULL;
    }
    p->chart.x_label = "trials k";
    p->chart.y_label = arena_printf(&p->mem, "best %s%s of k trials", p->g.foreign ? "" : "dev ", metric);
    return 0;
}

/* ---- files ---- */

typedef struct {
    const char *ending;
    void (*data)(const chart *c, const series *s, size_t n, str *out); /* writes the data; NULL: a drawing */
} file_format;

/* Returns the format of a file by its name's ending; NULL: unknown. */
static const file_format *format_of(const char *name)
{
    static const file_format formats[] = {{".svg", NULL},         {".pdf", NULL},        {".png", NULL},
                                          {".gp", chart_gnuplot}, {".json", chart_vega}, {".csv", chart_csv}};
    for (size_t i = 0; i < LENGTH(formats); i++)
        if (has_suffix(name, formats[i].ending)) return &formats[i];
    return NULL;
}

int plot_file(const chart *c, const series *s, size_t n, const char *to, err *e)
{
    const file_format *f = format_of(to);
    if (f && f->data) {
        CLEANUP(str_free) str out = {0};
        f->data(c, s, n, &out);
        return file_write(to, out.s, out.n, e);
    }
    drawing *d = chart_draw(c, s, n);
    int rc =
        d ? drawing_write(d, to, e) : fail(e, "nothing to plot: no value%s", c->log_x || c->log_y ? " is above 0" : "");
    drawing_free(d);
    return rc;
}

static int check(const plot_options *o, err *e)
{
    const file_format *f = format_of(o->to);
    if (!f)
        return fail(e, "-o %s: expected a name ending in .svg, .pdf, .png, .gp (gnuplot), .json (Vega-Lite) or .csv",
                    o->to);
    if (o->forest && f->data)
        return fail(
            e, "-o %s: expected .svg, .pdf or .png for a forest plot; for its numbers use `ablate table --format csv`",
            o->to);
    if (o->bars && !same(o->bars, "sd") && !same(o->bars, "range") && !same(o->bars, "none"))
        return fail(e, "--bars: found \"%s\", expected sd, range or none", o->bars);
    return 0;
}

static int gather_one(reader *r, const char *name, const table_options *t, arena *mem, gathered *g, err *e)
{
    int rc = gather(r, name, t, false, mem, g, e);
    if (rc == 1) rc = reader_no_experiment(r, name, e);
    return rc ? -1 : 0;
}

static int draw_forest(plot *p, reader *r, const table_options *t, err *e)
{
    const plot_options *o = p->o;
    const double width = o->width > 0 ? o->width : 640;
    gathered other = {0};
    int rc = o->beside ? gather_one(r, o->beside, t, &p->mem, &other, e) : 0;
    if (!rc && o->beside && other.headline < 0) rc = fail(e, "%s has no results yet", o->beside);
    if (!rc) {
        drawing *d =
            o->beside ? forest_of_two((const gathered *const[]){&p->g, &other}, width) : forest_of(&p->g, width);
        rc = d ? drawing_write(d, o->to, e)
               : fail(e, "nothing to compare: %s%s%s has no base with a result, or no other row", p->g.x.name,
                      o->beside ? " or " : "", o->beside ? o->beside : "");
        drawing_free(d);
    }
    return rc;
}

static int make(plot *p, reader *r, err *e)
{
    const plot_options *o = p->o;
    bool steps = !o->over || same(o->over, "step"), trials = same(o->over, "trials"),
         cost = same(o->over, "params") || same(o->over, "flops") || same(o->over, "time");
    table_options t = {.metrics = &o->metric, .n_metrics = o->metric && (o->forest || !steps)};
    int rc;
    if (gather_one(r, o->experiment, &t, &p->mem, &p->g, e)) return -1;
    if (p->g.headline < 0 && ((!steps && !trials) || o->forest)) return fail(e, "%s has no results yet", p->g.x.name);
    if (o->forest) return draw_forest(p, r, &t, e);
    factors_find(&p->g, &p->mem, &p->factors);
    p->series = arena_alloc(&p->mem, (p->g.x.n_rows + 1) * sizeof *p->series);
    p->metric = p->g.headline < 0 ? 0 : (size_t)p->g.headline;
    p->chart = (chart){.title = o->title,
                       .y_label = p->g.n_metrics ? p->g.headings[p->metric] : NULL,
                       .log_x = o->log_x,
                       .log_y = o->log_y,
                       .width = o->width > 0 ? o->width : 420,
                       .height = o->height > 0 ? o->height : 280,
                       .exact_height = o->height > 0};
    rc = steps ? over_steps(p, r, e) : trials ? over_trials(p, e) : cost ? over_cost(p, e) : over_key(p, e);
    if (!rc && !p->n) rc = fail(e, "nothing to plot: no row has a value");
    p->chart.description = arena_printf(&p->mem, "%s over %s", p->chart.y_label ? p->chart.y_label : "",
                                        p->chart.x_label ? p->chart.x_label : "");
    return rc ? rc : plot_file(&p->chart, p->series, p->n, o->to, e);
}

int plot_write(reader *r, const plot_options *o, err *e)
{
    plot p = {.o = o};
    int rc = check(o, e) || make(&p, r, e) ? -1 : 0;
    arena_free(&p.mem);
    return rc;
}
