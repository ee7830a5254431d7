/* effects.c - effects of the factors of a two-level design, and scaling over sizes: notes and a figure. */
#include "lab/report/figures.h"
#include "lab/report/forest.h"
#include "lab/report/layout.h"
#include "lab/statistics/choice.h"
#include "lab/statistics/scale.h"
#include "text/metric/stats.h"
#include "base/cleanup.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

/* ---- two-level designs ---- */

enum { MOST_FACTORS = 8, MOST_EFFECTS = MOST_FACTORS * (MOST_FACTORS + 1) / 2 };

typedef struct {
    char label[160];
    double *weights; /* [rows of the table]: +-2 / N, 0 for rows outside the design */
    difference x;
} effect;

/* Does the row's configuration have this value, in INI form? */
static bool has_value(const cJSON *config, const char *key, const char *value)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(config, key);
    double number;
    if (cJSON_IsString(v)) return same(v->valuestring, value);
    if (cJSON_IsBool(v)) return same(value, cJSON_IsTrue(v) ? "true" : "false");
    return cJSON_IsNumber(v) && parse_real(value, &number) && number == v->valuedouble;
}

static bool at_level(const cJSON *config, const design_factor *f, const text_list *level)
{
    for (size_t j = 0; j < f->keys.n; j++) /* a stranger's file may hold fewer values */
        if (j >= level->n || !has_value(config, f->keys.at[j], level->at[j])) return false;
    return true;
}

/* signs[row][factor]: -1 low, +1 high, 0: not in the design or not finished. Returns the number of finished rows. */
static size_t find_signs(const gathered *g, const two_level_design *design, int (*signs)[MOST_FACTORS])
{
    size_t found = 0;
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const gathered_row *row = &g->rows[i];
        if (!same(row->row->group, design->group) || row->of[g->headline].n < 2) continue;
        cJSON *config = cJSON_Parse(row->row->config_json);
        bool all = true;
        for (size_t k = 0; k < design->n && k < MOST_FACTORS; k++) {
            const design_factor *f = &design->factors[k];
            signs[i][k] = at_level(config, f, &f->high) ? 1 : at_level(config, f, &f->low) ? -1 : 0;
            all = all && signs[i][k];
        }
        for (int k = 0; !all && k < MOST_FACTORS; k++) signs[i][k] = 0;
        found += all;
        cJSON_Delete(config);
    }
    return found;
}

/* Adds the effect of factor a (with b: the interaction), or its name alone to an earlier effect with equal signs. */
static size_t add_effect(const gathered *g, const two_level_design *design, int (*signs)[MOST_FACTORS], size_t rows,
                         int a, int b, effect *list, size_t n, arena *mem)
{
    effect *e = &list[n];
    e->weights = arena_alloc(mem, (g->x.n_rows + 1) * sizeof *e->weights);
    for (size_t i = 0; i < g->x.n_rows; i++)
        e->weights[i] = 2. / (double)rows * signs[i][a] * (b >= 0 ? signs[i][b] : 1) * (signs[i][a] != 0);
    const char *name = design->factors[a].name;
    if (b >= 0)
        snprintf(e->label, sizeof e->label, "%s x %s", name, design->factors[b].name);
    else
        snprintf(e->label, sizeof e->label, "%s", name);
    for (size_t k = 0; k < n; k++) {
        double dot = 0, own = 0;
        for (size_t i = 0; i < g->x.n_rows; i++)
            dot += list[k].weights[i] * e->weights[i], own += e->weights[i] * e->weights[i];
        if (fabs(fabs(dot) - own) > 1e-9) continue;
        char other[160];
        snprintf(other, sizeof other, "%s", e->label);
        size_t used = strlen(list[k].label);
        snprintf(list[k].label + used, sizeof list[k].label - used, " = %s%s", dot < 0 ? "−" : "", other);
        return n;
    }
    return n + 1;
}

typedef struct {
    size_t found, wanted; /* found: rows with two seeds or more; wanted: all rows of the design */
    effect *list;
    double *p; /* after Holm */
    size_t n;  /* 0: some rows are missing */
} design_effects;

static design_effects find_effects(const gathered *g, const two_level_design *design, arena *mem)
{
    int(*signs)[MOST_FACTORS] = arena_alloc(mem, (g->x.n_rows + 1) * sizeof *signs),
    k = design->n <= MOST_FACTORS ? (int)design->n : 0;
    const read_row **rows = arena_alloc(mem, (g->x.n_rows + 1) * sizeof *rows);
    design_effects e = {.found = find_signs(g, design, signs),
                        .list = arena_alloc(mem, (MOST_EFFECTS + 1) * sizeof *e.list)};
    for (size_t i = 0; i < g->x.n_rows; i++) rows[i] = g->rows[i].row, e.wanted += same(rows[i]->group, design->group);
    if (e.found < e.wanted || k < 2) return e;
    for (int a = 0; a < k; a++) e.n = add_effect(g, design, signs, e.found, a, -1, e.list, e.n, mem);
    for (int a = 0; a < k; a++)
        for (int b = a + 1; b < k; b++) e.n = add_effect(g, design, signs, e.found, a, b, e.list, e.n, mem);
    comparison_task task = {.metric = &g->facts[g->headline], .rows = rows, .n = g->x.n_rows, .base = g->x.n_rows};
    e.p = arena_alloc(mem, (e.n + 1) * sizeof *e.p);
    for (size_t i = 0; i < e.n; i++) {
        difference *x = &e.list[i].x;
        *x = contrast_rows(&task, e.list[i].weights);
        if (fabs(x->d) < 1e-9 * (x->high - x->low)) x->d = 0; /* rounding errors of sums that cancel */
        e.p[i] = x->p;
    }
    stats_holm(e.p, e.n);
    return e;
}

/* Returns a comparison with nothing but the scale of effects, for comparison_shown. */
static comparison scale_of(const gathered *g)
{
    return (comparison){.percent = metric_in_percent(&g->facts[g->headline])};
}

static void footnote_design_of(const gathered *g, const two_level_design *design, grid *t)
{
    CLEANUP(arena_free) arena mem = {0};
    design_effects e = find_effects(g, design, &mem);
    comparison scale = scale_of(g);
    if (!e.n)
        grid_footnote(t, "Factorial %s: effects are shown once all %zu rows have two seeds or more; so far %zu have.",
                      design->group, e.wanted, e.found);
    else
        grid_footnote(
            t,
            "Factorial %s, %zu rows: effects on %s, high minus low%s, with 95 %% intervals and p after Holm over "
            "%zu effects%s.",
            design->group, e.found, g->headings[g->headline], scale.percent ? ", in percent" : "", e.n,
            design->resolution ? "; = joins effects that this fraction cannot separate" : "");
    for (size_t i = 0; i < e.n; i++)
        grid_footnote(t, "  %s: %+.3g (%+.3g .. %+.3g), p %.3g", e.list[i].label,
                      comparison_shown(&scale, e.list[i].x.d), comparison_shown(&scale, e.list[i].x.low),
                      comparison_shown(&scale, e.list[i].x.high), e.p[i]);
}

static void figure_design_of(const gathered *g, const two_level_design *design, str *out)
{
    CLEANUP(arena_free) arena mem = {0};
    design_effects e = find_effects(g, design, &mem);
    comparison scale = scale_of(g);
    forest_row *rows = arena_alloc(&mem, (e.n + 1) * sizeof *rows);
    for (size_t i = 0; i < e.n; i++) {
        double d = comparison_shown(&scale, e.list[i].x.d), low = comparison_shown(&scale, e.list[i].x.low),
               high = comparison_shown(&scale, e.list[i].x.high);
        int better = metric_better(&g->facts[g->headline], d, 0);
        rows[i] = (forest_row){.name = e.list[i].label,
                               .d = d,
                               .low = low,
                               .high = high,
                               .text = arena_printf(&mem, "%+.3g [%+.3g, %+.3g], p %.2g", d, low, high, e.p[i]),
                               .verdict = e.p[i] >= 0.05 || !better ? FOREST_UNDECIDED
                                          : better > 0              ? FOREST_BETTER
                                                                    : FOREST_WORSE};
    }
    const char *axis =
        arena_printf(&mem, "%s: high level minus low%s", g->headings[g->headline], scale.percent ? ", in percent" : "");
    const char *about = arena_printf(&mem, "main effects and interactions of the factorial %s", design->group);
    if (e.n) forest_figure(rows, e.n, axis, about, out);
}

void figure_effects(const gathered *g, str *out)
{
    if (g->headline < 0) return;
    CLEANUP(str_free) str figures = {0};
    for (size_t i = 0; i < g->judged.n_designs; i++) figure_design_of(g, &g->judged.designs[i], &figures);
    if (figures.n)
        str_addf(out,
                 "<section id=\"effects\"><h2>Effects of factors</h2>\n<p class=\"note\">Main effects: each factor's "
                 "high level minus its low level, averaged over the others. Pairs: how much one factor's effect "
                 "changes with the other. 95 %% intervals; coloured if p after Holm is below 0.05.</p>\n%s</section>\n",
                 str_text(&figures));
}

void footnote_effects(const gathered *g, grid *t)
{
    for (size_t i = 0; g->headline >= 0 && i < g->judged.n_designs; i++)
        footnote_design_of(g, &g->judged.designs[i], t);
}

/* ---- sizes ---- */

/* Returns the row at size k, or at its own size if k = number of sizes. NULL: no result, or its own size is listed. */
static const gathered_row *row_at(const gathered *g, const text_list *row, size_t k, size_t ppl)
{
    const bool listed = k + 1 < row->n;
    size_t named = row_named(&g->x, row->at[listed ? k + 1 : 0]);
    const gathered_row *at = named == NO_ROW ? NULL : &g->rows[named];
    if (!at || !at->of[ppl].n || isnan(at->parameters)) return NULL;
    for (size_t i = 0; !listed && i < k; i++) {
        const gathered_row *other = row_at(g, row, i, ppl);
        if (other && other->parameters == at->parameters) return NULL;
    }
    return at;
}

static double mean_loss(const scale_points *p, size_t size)
{
    double sum = 0;
    for (size_t i = 0; i < p->runs[size]; i++) sum += p->losses[size][i];
    return sum / (double)p->runs[size];
}

/* Computes the standard deviation of log perplexity over seeds, pooled over sizes. */
static double sd_over_seeds(const gathered *g, const text_list *row, size_t ppl, size_t sizes)
{
    double squares = 0, df = 0;
    for (size_t k = 0; k < sizes; k++) {
        const gathered_row *at = row_at(g, row, k, ppl);
        const measure *m = at ? &at->of[ppl] : NULL;
        double mean = 0;
        for (size_t i = 0; m && i < m->n; i++) mean += log(m->values[i]) / (double)m->n;
        for (size_t i = 0; m && i < m->n; i++) squares += pow(log(m->values[i]) - mean, 2);
        df += m ? (double)m->n - 1 : 0;
    }
    return sqrt(squares / df);
}

/* Collects the runs of one row over its sizes: parameters, and loss in nats per token. */
static scale_points points_of(const gathered *g, size_t ppl, const text_list *row, arena *a)
{
    size_t most = row->n, n = 0;
    double *sizes = arena_alloc(a, (most + 1) * sizeof *sizes), **losses = arena_alloc(a, (most + 1) * sizeof *losses),
           *choice = arena_alloc(a, (most + 1) * sizeof *choice);
    size_t *runs = arena_alloc(a, (most + 1) * sizeof *runs), *step = arena_alloc(a, (most + 1) * sizeof *step);
    double sd = sd_over_seeds(g, row, ppl, most);
    for (size_t k = 0; k < most; k++) {
        const gathered_row *at = row_at(g, row, k, ppl);
        if (!at) continue;
        losses[n] = arena_alloc(a, at->of[ppl].n * sizeof **losses);
        for (size_t i = 0; i < at->of[ppl].n; i++)
            if (at->of[ppl].values[i] > 1) losses[n][runs[n]++] = log(at->of[ppl].values[i]);
        sizes[n] = at->parameters, step[n] = k;
        scale_points one = {.runs = &runs[n], .losses = (const double *const *)&losses[n]};
        if (runs[n]) /* converts a variance of the loss to one of its logarithm */
            choice[n] = choice_variance(at->row->behind, at->row->n_candidates,
                                        sd / sqrt(fmax(1, (double)at->row->trial_seeds))) /
                        pow(mean_loss(&one, 0), 2);
        n += runs[n] > 0;
    }
    return (scale_points){n, sizes, runs, (const double *const *)losses, step, choice};
}

/* Returns a warning if the loss at which the speed-up compares is outside the row's range of losses, else "". */
static const char *beyond(const scale_points *row, const scale_points *base, arena *a)
{
    size_t largest = 0;
    double least = INFINITY, most = -INFINITY, size = 0;
    for (size_t i = 1; i < base->n_sizes; i++)
        if (base->sizes[i] > base->sizes[largest]) largest = i;
    for (size_t i = 0; i < row->n_sizes; i++) {
        least = fmin(least, mean_loss(row, i)), most = fmax(most, mean_loss(row, i));
        size = fmax(size, row->sizes[i]);
    }
    double at = base->n_sizes ? mean_loss(base, largest) : NAN;
    if (at < least)
        return arena_printf(
            a, "; extrapolated: its largest size, %.2g parameters, has a higher loss (%.3g) than base's (%.3g)", size,
            least, at);
    if (at > most)
        return arena_printf(
            a, "; extrapolated: all its sizes have a lower loss (%.3g or less) than base's largest (%.3g)", most, at);
    return "";
}

static double percent_of(double log_ratio) { return 100 * (exp(log_ratio) - 1); }

/* Prints a row against base at each size, the trend over sizes, and whether the smaller sizes predict the largest. */
static void footnote_difference(const char *row, const scale_points *p, const scale_points *base, grid *t)
{
    scale_difference x = scale_compare(p, base);
    CLEANUP(str_free) str at = {0};
    if (!x.n) return;
    for (size_t i = 0; i < x.n; i++)
        str_addf(&at, "%s%.2g: %+.1f %% (%+.1f .. %+.1f)", i ? "; " : "", x.at[i].size, percent_of(x.at[i].d),
                 percent_of(x.at[i].low), percent_of(x.at[i].high));
    grid_footnote(t, "  %s against base, loss by parameters: %s", row, at.s);
    if (isnan(x.slope)) return;
    grid_footnote(
        t, "    for each doubling %+.1f %% (%+.1f .. %+.1f), p %.2g; expected at %.2g: %+.1f %% (%+.1f .. %+.1f)",
        percent_of(x.slope * log(2)), percent_of(x.slope_low * log(2)), percent_of(x.slope_high * log(2)), x.slope_p,
        x.next.size, percent_of(x.next.d), percent_of(x.next.low), percent_of(x.next.high));
    const scale_point *largest = &x.at[x.n - 1];
    if (!isnan(x.check.d))
        grid_footnote(t, "    check: the smaller sizes predict %+.1f %% (%+.1f .. %+.1f) at %.2g, found %+.1f %%: %s",
                      percent_of(x.check.d), percent_of(x.check.low), percent_of(x.check.high), x.check.size,
                      percent_of(largest->d),
                      largest->d >= x.check.low && largest->d <= x.check.high ? "within" : "outside");
    if (!isnan(x.turns)) grid_footnote(t, "    row and base swap order at about %.2g parameters", x.turns);
}

void footnote_scale(const gathered *g, grid *t)
{
    const text_list *rows = g->judged.sizes;
    size_t ppl = metric_named(g->metrics, g->n_metrics, metric_perplexity.name);
    if (!g->judged.n_sizes || ppl == g->n_metrics) return;
    CLEANUP(arena_free) arena a = {0};
    scale_points base = points_of(g, ppl, rows, &a);
    grid_footnote(t,
                  "Scale: loss (log %s) = a parameters^-exponent over %zu sizes, 95 %% intervals by a bootstrap of %d "
                  "draws; speed-up: parameters of base over parameters of the row, at the loss of base's largest size.",
                  g->headings[ppl], base.n_sizes, SCALE_DRAWS);
    for (const text_list *row = rows; row < rows + g->judged.n_sizes; row++) {
        scale_points p = points_of(g, ppl, row, &a);
        bool is_base = row == rows;
        scale_fit f = scale_fitted(&p, is_base ? NULL : &base, STATS_SEED);
        if (isnan(f.exponent))
            grid_footnote(t, "  %s: found runs of %zu sizes, expected three or more", row->at[0], p.n_sizes);
        else if (is_base)
            grid_footnote(t, "  %s: exponent %.3f (%.3f .. %.3f)", row->at[0], f.exponent, f.low, f.high);
        else
            grid_footnote(t, "  %s: exponent %.3f (%.3f .. %.3f), speed-up %.2g (%.2g .. %.2g)%s", row->at[0],
                          f.exponent, f.low, f.high, f.speedup, f.speedup_low, f.speedup_high, beyond(&p, &base, &a));
        if (!is_base) footnote_difference(row->at[0], &p, &base, t);
    }
}
