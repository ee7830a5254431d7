/* figures.c - forest plot, cost and grids of a page. */
#include "lab/report/figures.h"
#include "lab/report/forest.h"
#include "lab/report/heat.h"
#include "text/metric/stats.h"
#include "base/cleanup.h"
#include <math.h>

void figure_put(drawing *d, str *out)
{
    if (d) drawing_svg(d, SVG_THEMED, out);
    drawing_free(d);
}

curve_line line_points(double *v, size_t n) { return (curve_line){n, v, v + n, v + 2 * n, v + 3 * n}; }

series line_series(const char *name, int color, int dash, const curve_line *l)
{
    return (series){.name = name,
                    .key = name,
                    .line = true,
                    .color = color,
                    .dash = dash,
                    .n = l->n,
                    .x = l->x,
                    .y = l->y,
                    .low = l->low,
                    .high = l->high};
}

/* ---- forest ---- */

static enum forest_verdict verdict_of(const gathered *g, const gathered_row *row)
{
    const char *verdict = gathered_verdict(g, row);
    if (!verdict) return FOREST_UNDECIDED;
    return same(verdict, "better")       ? FOREST_BETTER
           : same(verdict, "worse")      ? FOREST_WORSE
           : same(verdict, "equivalent") ? FOREST_EQUIVALENT
           : same(verdict, "not worse")  ? FOREST_NOT_WORSE
                                         : FOREST_UNDECIDED;
}

/* costs: adds parameters and the shortest run's minutes to the row's text. */
static forest_row describe(const gathered *g, const gathered_row *row, int decimals, bool costs, arena *a)
{
    const measure *m = &row->of[g->headline];
    const comparison *c = &row->against[g->headline];
    forest_row f = {.name = gathered_label(row, a),
                    .d = c->delta,
                    .low = c->low,
                    .high = c->high,
                    .text = "",
                    .verdict = verdict_of(g, row)};
    const char *unit = c->percent ? " %" : "", *none = gathered_no_interval(c);
    if (none) f.low = f.high = NAN;
    if (isfinite(f.low) && isfinite(f.high))
        f.text = arena_printf(a, "%s%s [%s, %s]", gathered_signed(f.d, decimals, a), unit,
                              gathered_signed(f.low, decimals, a), gathered_signed(f.high, decimals, a));
    else if (isfinite(f.d))
        f.text = arena_printf(a, "%s%s (%s)", gathered_signed(f.d, decimals, a), unit,
                              m->n == 1 ? "one seed"
                              : none    ? none
                                        : "no interval");
    else
        f.text = row->why_skipped                 ? "n/a"
                 : m->diverged                    ? "diverged"
                 : row->open || !row->row->n_runs ? "to be run"
                 : row->failed                    ? "failed"
                                                  : "no difference";
    if (!costs) return f;
    double millions = gathered_budget(row, "params") / 1e6, minutes = gathered_minutes(row);
    if (isfinite(millions) && isfinite(minutes))
        f.text = arena_printf(a, "%s  %.2f M %.1f min", f.text, millions, minutes);
    return f;
}

/* Appends "WORDS NAMES. " for the rows with this verdict (NULL: without verdict), if any; names at most eight rows. */
static size_t add_rows_with(const gathered *g, const char *verdict, const char *words, str *out)
{
    enum { MOST = 8 };
    size_t n = 0;
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const gathered_row *row = &g->rows[i];
        const char *own = gathered_verdict(g, row);
        if (isnan(row->against[g->headline].delta) || row->row->same_as || gathered_is_base(g, row)) continue;
        if (verdict ? !own || !same(own, verdict) : own != NULL) continue;
        if (n < MOST) str_addf(out, "%s%s", n ? ", " : words, row->row->name);
        n++;
    }
    if (n > MOST) str_addf(out, " and %zu more", n - MOST);
    if (n) str_add(out, ". ");
    return n;
}

static double detectable_of(const comparison *c) { return c->detectable; }

/* Appends the verdicts as a paragraph. */
static void describe_verdict(const gathered *g, int decimals, arena *a, str *out)
{
    static const char *const verdicts[] = {"better", "worse", "equivalent", "not worse", "undecided", "exploratory"};
    const char *metric = g->headings[g->headline], *words[] = {arena_printf(a, "Better than base in %s: ", metric),
                                                               "Worse: ",
                                                               "Equivalent: ",
                                                               "Not worse: ",
                                                               "Undecided: ",
                                                               "Exploratory: "};
    const comparison_criterion *k = g->judged.criterion.given ? &g->judged.criterion : NULL;
    size_t judged = 0, undecided = 0;
    CLEANUP(str_free) str text = {0};
    for (size_t v = 0; v < LENGTH(verdicts); v++) {
        size_t n = add_rows_with(g, verdicts[v], words[v], &text);
        judged += n;
        if (same(verdicts[v], "undecided")) undecided = n;
    }
    if (!judged && !g->tests) {
        str_addf(&text,
                 "These are differences between models, in %s. Differences between designs need three seeds or more "
                 "per row; base has %zu.",
                 metric, gathered_base(g)->of[g->headline].n);
    } else {
        add_rows_with(g, NULL,
                      arena_printf(a, "No verdict (needs %zu seeds per row and no failed run): ", k ? k->seeds : 3),
                      &text);
        str_addf(&text,
                 "Lines are 95 %% intervals for the design; better and worse mean p of at most %g after Holm over %zu "
                 "row%s. ",
                 k ? k->level : 0.05, g->tests, g->tests == 1 ? "" : "s");
        double detectable = gathered_median(g, (size_t)g->headline, detectable_of);
        if (isfinite(detectable) && undecided)
            str_addf(&text,
                     "With these seeds, a difference of about %.*f%s is detected four times in five; smaller "
                     "differences may exist.",
                     decimals, detectable, metric_in_percent(&g->facts[g->headline]) ? " %" : "");
    }
    svg_between(out, "<p>", str_text(&text), "</p>\n");
}

static const char *forest_about(const gathered *g, size_t n, arena *a)
{
    return arena_printf(a, "Difference in %s of %zu rows from base; the table has the numbers",
                        g->headings[g->headline], n);
}

/* Collects everything that a plot of the experiment draws: the rows compared with base, if any, and *decimals of their
 * numbers; no rows: no comparison possible. */
static forest_side side_of(const gathered *g, bool costs, int *decimals, arena *a)
{
    const gathered_row *base = gathered_base(g);
    forest_row *rows = arena_alloc(a, (g->x.n_rows + 1) * sizeof *rows);
    forest_side side = {.rows = rows, .title = read_plain_name(g->x.name, a)};
    if (!base || g->headline < 0 || !base->of[g->headline].n) return side;
    const metric *m = &g->facts[g->headline];
    bool percent = metric_in_percent(m);
    int more = metric_better(m, 1, 0);
    *decimals = percent ? 1 : metric_decimals(m, base->of[g->headline].mean);
    for (size_t i = 0; i < g->x.n_rows; i++)
        if (!gathered_is_base(g, &g->rows[i]) && !g->rows[i].row->same_as)
            rows[side.n++] = describe(g, &g->rows[i], *decimals, costs, a);
    side.axis = arena_printf(a, "%s, %s base's%s", g->headings[g->headline], percent ? "change in % against" : "less",
                             more > 0   ? "; right is better"
                             : more < 0 ? "; left is better"
                                        : "");
    side.more = more > 0;
    return side;
}

drawing *forest_of(const gathered *g, double width)
{
    CLEANUP(arena_free) arena a = {0};
    int decimals;
    forest_side x = side_of(g, true, &decimals, &a);
    return x.n ? forest_draw(x.rows, x.n, x.axis, forest_about(g, x.n, &a), width) : NULL;
}

drawing *forest_of_two(const gathered *const g[2], double width)
{
    CLEANUP(arena_free) arena a = {0};
    int decimals;
    const forest_side side[2] = {side_of(g[0], false, &decimals, &a), side_of(g[1], false, &decimals, &a)};
    const char *about =
        arena_printf(&a, "Differences from base of the rows of %s and %s; their tables have the numbers", side[0].title,
                     side[1].title);
    return side[0].n && side[1].n ? forest_draw_pair(side, about, width) : NULL;
}

void figure_forest(const gathered *g, str *out)
{
    CLEANUP(arena_free) arena a = {0};
    int decimals;
    forest_side x = side_of(g, false, &decimals, &a);
    if (x.n) {
        describe_verdict(g, decimals, &a, out);
        forest_figure(x.rows, x.n, x.axis, forest_about(g, x.n, &a), out);
    } else if (!gathered_base(g)) {
        str_add(out, "<p>There is no base to compare with.</p>\n");
    } else if (g->headline < 0 || !gathered_base(g)->of[g->headline].n) {
        str_add(out, "<p>Base has no result yet.</p>\n");
    }
}

/* ---- cost ---- */

/* Numbers the groups, for their colours and markers; base has the text's colour. */
static size_t group_index(const gathered *g, size_t row)
{
    size_t n = 0;
    for (size_t i = 0; i < row; i++) {
        bool first = true;
        for (size_t k = 0; k < i; k++) first = first && !same(g->rows[k].row->group, g->rows[i].row->group);
        if (same(g->rows[i].row->group, g->rows[row].row->group)) return n;
        n += first;
    }
    return n;
}

static drawing *against(const gathered *g, const double *x, const char *title, const char *x_label, arena *a)
{
    series *s = arena_alloc(a, (g->x.n_rows + 1) * sizeof *s);
    size_t n = 0;
    double lo = INFINITY, hi = -INFINITY;
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const measure *m = &g->rows[i].of[g->headline];
        if (g->rows[i].row->same_as || !m->n || !isfinite(x[i])) continue;
        double *xy = arena_alloc(a, 4 * sizeof *xy);
        xy[0] = x[i], xy[1] = m->mean, xy[2] = m->mean - m->sd, xy[3] = m->mean + m->sd;
        size_t group = group_index(g, i);
        bool base = g->rows[i].row->is_base;
        s[n++] = (series){.name = g->rows[i].row->name,
                          .key = g->rows[i].row->name,
                          .points = true,
                          .n = 1,
                          .x = xy,
                          .y = xy + 1,
                          .color = base ? COLOR_INK : series_color(group),
                          .marker = base ? 0 : (int)group % 4,
                          .low = m->n > 1 ? xy + 2 : NULL,
                          .high = m->n > 1 ? xy + 3 : NULL};
        lo = fmin(lo, x[i]), hi = fmax(hi, x[i]);
    }
    if (n < 2 || !(hi > 1.01 * lo)) return NULL; /* equal costs: a chart would magnify roundings */
    return chart_draw(&(chart){.title = g->headings[g->headline],
                               .y_label = title,
                               .x_label = x_label,
                               .log_x = hi / lo > 4,
                               .width = 420,
                               .height = 320,
                               .description = arena_printf(a, "%s %s", g->headings[g->headline], title)},
                      s, n);
}

void figure_cost(const gathered *g, arena *a, str *out)
{
    double *parameters = arena_alloc(a, (g->x.n_rows + 1) * sizeof *parameters);
    double *flops = arena_alloc(a, (g->x.n_rows + 1) * sizeof *flops);
    if (g->headline < 0) return;
    for (size_t i = 0; i < g->x.n_rows; i++)
        parameters[i] = g->rows[i].parameters, flops[i] = training_flops(g->rows[i].row);
    drawing *p = against(g, parameters, "against size", "parameters", a);
    drawing *f = against(g, flops, "against computation", "training FLOPs (per step, times steps)", a);
    if (!p && !f) return;
    str_add(out, "<section id=\"cost\"><h2>Quality against cost</h2>\n<p class=\"note\">Error bars: sample standard "
                 "deviation over seeds. "
                 "Colours and markers: groups of rows; base has the colour of the text.</p>\n<div class=\"facets\">\n");
    figure_put(p, out);
    figure_put(f, out);
    str_add(out, "</div></section>\n");
}

/* ---- grids ---- */

static drawing *heat_map(const gathered *g, const factor_table *t, const factor_grid *x, arena *a)
{
    const factor *rows = &t->factors[x->a], *columns = &t->factors[x->b];
    size_t cells = rows->n_levels * columns->n_levels, marked = SIZE_MAX;
    double mean = 0;
    for (size_t c = 0; c < cells; c++) {
        if (x->row[c] != NO_ROW && g->rows[x->row[c]].row->is_base) marked = c;
        if (isfinite(x->mean[c])) mean = fmax(mean, fabs(x->mean[c]));
    }
    const gathered_row *base = gathered_base(g);
    for (size_t c = 0; c < cells && marked == SIZE_MAX && base; c++)
        if (x->row[c] != NO_ROW && g->rows[x->row[c]].row->runs == base->row->runs) marked = c;
    heat h = {.title = g->headings[g->headline],
              .row_key = rows->name,
              .column_key = columns->name,
              .rows = rows->levels,
              .columns = columns->levels,
              .n_rows = rows->n_levels,
              .n_columns = columns->n_levels,
              .value = x->mean,
              .sd = x->sd,
              .decimals = metric_decimals(&g->facts[g->headline], mean),
              .marked = marked,
              .description = arena_printf(a, "%s by %s and %s as a heat map", g->headings[g->headline], rows->name,
                                          columns->name)};
    return heat_draw(&h, 360);
}

/* Draws one line per level of b over the levels of a; parallel lines mean no interaction. */
static drawing *interaction(const gathered *g, const factor_table *t, const factor_grid *x, arena *a)
{
    const factor *across = &t->factors[x->a], *lines = &t->factors[x->b];
    series *s = arena_alloc(a, (lines->n_levels + 1) * sizeof *s);
    for (size_t j = 0; j < lines->n_levels; j++) {
        double *v = arena_alloc(a, 4 * across->n_levels * sizeof *v);
        for (size_t i = 0; i < across->n_levels; i++) {
            size_t c = i * lines->n_levels + j;
            v[i] = (double)i;
            v[across->n_levels + i] = x->mean[c];
            v[2 * across->n_levels + i] = x->mean[c] - x->sd[c];
            v[3 * across->n_levels + i] = x->mean[c] + x->sd[c];
        }
        curve_line l = line_points(v, across->n_levels);
        s[j] = line_series(lines->levels[j], series_color(j), series_dash(j), &l);
        s[j].key = NULL, s[j].points = true, s[j].marker = (int)j % 4;
    }
    return chart_draw(&(chart){.title = g->headings[g->headline],
                               .y_label = arena_printf(a, "by %s", lines->name),
                               .x_label = across->name,
                               .categories = across->levels,
                               .n_categories = across->n_levels,
                               .description = arena_printf(a, "%s over %s, one line per %s", g->headings[g->headline],
                                                           across->name, lines->name)},
                      s, lines->n_levels);
}

void figure_grids(const gathered *g, arena *a, str *out)
{
    factor_table t;
    factor_grid *grids;
    if (g->headline < 0) return;
    factors_find(g, a, &t);
    size_t n = factors_grids(g, &t, (size_t)g->headline, a, &grids);
    for (size_t i = 0; i < n; i++) {
        if (!i)
            str_add(out, "<section id=\"grids\"><h2>Two settings at once</h2>\n<p class=\"note\">Parallel lines: the "
                         "effect of one setting does not depend on the other. Error bars: sample standard deviation "
                         "over seeds.</p>\n<div class=\"facets\">\n");
        figure_put(heat_map(g, &t, &grids[i], a), out);
        figure_put(interaction(g, &t, &grids[i], a), out);
        if (grids[i].rows_each > 1)
            str_addf(out,
                     "<p class=\"note\">Each cell is the mean of %zu rows, averaged over the other settings.</p>\n",
                     grids[i].rows_each);
    }
    if (n) str_add(out, "</div></section>\n");
}
