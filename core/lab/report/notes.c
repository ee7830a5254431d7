/* notes.c - the statistical notes below a table. */
#include "lab/report/layout.h"
#include "text/metric/stats.h"
#include "lab/statistics/variances.h"
#include "base/cleanup.h"
#include <math.h>

/* Explains why no row has a difference from base. */
static void footnote_no_delta(const gathered *g, grid *t)
{
    const char *metric = g->headings[g->headline];
    const gathered_row *base = gathered_base(g);
    bool measured = false, open = false;
    if (!base || !base->of[g->headline].n) {
        grid_footnote(t, "No Δ: base has no %s%s.", metric, base && base->open ? " yet" : "");
        return;
    }
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const gathered_row *row = &g->rows[i];
        if (gathered_is_base(g, row)) continue;
        measured = measured || row->of[g->headline].n;
        open = open || row->open;
    }
    if (!measured) grid_footnote(t, "No Δ: only base's runs have %s%s.", metric, open ? " so far" : "");
}

static void footnote_refused(const gathered *g, grid *t)
{
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const comparison *c = &g->rows[i].against[g->headline];
        if (c->refused && !c->left_out && !g->rows[i].row->same_as)
            grid_footnote(t, "No Δ for %s: %s.", g->rows[i].row->name, c->refused);
    }
}

/* ---- one seed ---- */

/* Prints the detectable difference in units of the unknown standard deviation over seeds. */
static void footnote_unknown(grid *t)
{
    CLEANUP(str_free) str s = {0};
    for (size_t k = 0; k < N_LOOKS; k++) {
        arm side = arm_planned(look_seeds[k], 1);
        str_addf(&s, "%s%zu find %.1f", k ? ", " : "", look_seeds[k],
                 least_detectable(&side, &side, 0, INFINITY, 0.05, 0.8));
    }
    grid_footnote(t,
                  "Least detectable difference: unknown with one seed. Seeds per row, and the difference that they "
                  "find (power 80 %%), in standard deviations over seeds: %s.",
                  s.s);
}

/* Returns how many documents the headline metric's sentences come from; 0: not known. */
static size_t documents_of(const gathered *g)
{
    for (size_t i = 0; i < g->x.n_rows; i++)
        for (size_t k = 0; k < g->x.rows[i].n_runs; k++)
            for (size_t m = 0; m < g->x.rows[i].runs[k].n_results; m++) {
                const read_result *r = &g->x.rows[i].runs[k].results[m];
                if (r->documents && same(r->metric, g->metrics[g->headline])) return r->documents;
            }
    return 0;
}

/* Prints the sampling unit beside seeds: "9 documents", "sentences". */
static const char *drawn(const gathered *g, char out[64])
{
    size_t documents = documents_of(g);
    snprintf(out, 64, "%s", g->passage ? "windows of this passage only" : "sentences");
    if (documents) snprintf(out, 64, "%zu documents", documents);
    return out;
}

static void footnote_models(const gathered *g, grid *t)
{
    size_t h = (size_t)g->headline, single = 0, tested = 0, outside = 0;
    CLEANUP(str_free) str list = {0};
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const comparison *c = &g->rows[i].against[h];
        if (isnan(c->delta) || (c->n > 1 && c->n_base > 1) || g->rows[i].row->same_as) continue;
        single++;
        tested += !isnan(c->p_models);
        if (isnan(c->p_outside)) continue;
        outside++;
        if (c->p_outside < 0.05)
            str_addf(&list, "%s%s (p %.3f)", list.n ? ", " : "", g->rows[i].row->name, c->p_outside);
    }
    if (!single) return;
    grid_footnote(t, "One seed says nothing about a design: another seed of %s may differ as much.%s",
                  g->tests ? "the rows with one seed" : "any row",
                  tested ? ""
                         : " No test over sentences either: it needs per-sentence statistics of the same sentences, "
                           "with the same seed.");
    char over[64];
    if (tested)
        grid_footnote(t,
                      "p models concerns these models only: paired approximate randomisation of %s over %s, %d trials, "
                      "Holm over %zu row%s.%s",
                      g->headings[h], drawn(g, over), g->trials, tested, tested == 1 ? "" : "s",
                      !g->full && g->tests ? " `--stats full` shows it." : "");
    if (outside)
        grid_footnote(
            t, "Of %zu rows with one seed, these lie outside what base's seeds predict (5 %%, not adjusted): %s.",
            outside, list.n ? list.s : "none");
    if (!g->tests) footnote_unknown(t);
}

/* ---- the design ---- */

/* Returns the comparison with the median least detectable difference, typical of the table. NULL: none. */
static const comparison *typical(const gathered *g)
{
    AUTOFREE double *sorted = xcalloc(g->x.n_rows + 1, sizeof *sorted);
    const comparison *found = NULL;
    size_t n = 0;
    for (size_t i = 0; i < g->x.n_rows; i++)
        if (!isnan(g->rows[i].against[g->headline].p) && !g->rows[i].row->same_as)
            sorted[n++] = g->rows[i].against[g->headline].detectable;
    double middle = stats_median(sorted, n);
    for (size_t i = 0; i < g->x.n_rows && n; i++) {
        const comparison *c = &g->rows[i].against[g->headline];
        if (!isnan(c->p) && c->detectable == middle) found = c;
    }
    return found;
}

/* Returns the least detectable difference of this comparison with n seeds per side; 0: with its own seeds. An alpha of
 * 0.05 / tests is Holm's first step. */
static double detectable_with(const comparison *c, size_t n, double alpha)
{
    arm row = c->planned_row, base = c->planned_base;
    double more = n ? (double)(n - 1) / (double)(row.n - 1) : 1; /* n seeds in every row enlarge the pool, too */
    if (n) row.n = n, base.n = n > base.n ? n : base.n;
    return comparison_shown(c, least_detectable(&row, &base, c->u, c->most_df * more, alpha, 0.8));
}

static void footnote_detectable(const gathered *g, grid *t)
{
    const comparison *c = typical(g);
    if (!c) return;
    size_t least = c->n < c->n_base ? c->n : c->n_base;
    const char *unit = c->percent ? " %" : "";
    CLEANUP(str_free) str s = {0};
    str_addf(&s, "Least detectable difference in %s (power 80 %%, median over rows): %.3g%s with %zu seeds",
             g->headings[g->headline], c->detectable, unit, least);
    if (g->tests > 1)
        str_addf(&s, ", %.3g%s at Holm's first step over %zu rows", detectable_with(c, 0, 0.05 / (double)g->tests),
                 unit, g->tests);
    for (size_t k = 0; k < N_LOOKS; k++)
        if (look_seeds[k] > least)
            str_addf(&s, "; with %zu %.3g%s", look_seeds[k], detectable_with(c, look_seeds[k], 0.05), unit);
    if (g->tests > 1 && !c->percent && same(g->facts[g->headline].unit, "%") &&
        detectable_with(c, 0, 0.05 / (double)g->tests) > 100)
        str_addf(&s, "; the one at Holm's first step is above 100 %%, the largest possible difference: hardly any row "
                     "can pass it");
    grid_footnote(t, "%s.", s.s);
    if (least == 2)
        grid_footnote(t, "Two seeds rarely decide: only differences of ten standard deviations are detected four times "
                         "out of five.");
    double floor = comparison_shown(c, least_detectable_floor(c->u, 0.05, 0.8)), with = c->detectable;
    if (least >= 10 && floor > with / 2)
        grid_footnote(t,
                      "Sentence variance dominates: more seeds cannot reduce the least detectable difference below "
                      "%.3g%s, but more sentences can.",
                      floor, unit);
}

static void footnote_design(const gathered *g, grid *t)
{
    const comparison *c = NULL;
    size_t shared = 0, crossed = 0, tests = 0;
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const comparison *x = &g->rows[i].against[g->headline];
        if (isnan(x->p) || g->rows[i].row->same_as) continue;
        c = x, tests++, shared += x->shared, crossed += x->crossed;
    }
    if (!c) return;
    CLEANUP(str_free) str over = {0};
    char units[64];
    if (crossed)
        str_addf(&over, "seeds and %s (crossed components, Howe's interval%s)", drawn(g, units),
                 documents_of(g) ? "; a document's sentences count as one"
                 : g->passage    ? "; windows of one text count as independent, which they are not"
                                 : "");
    else
        str_add(&over, "seeds (Welch)");
    grid_footnote(
        t,
        "Δ, interval and p: %s%s of the row's design against base, over %s; interval and p for each row alone, p Holm "
        "over %zu planned row%s.%s%s%s",
        g->headings[g->headline], c->percent ? ", change in percent," : "", str_text(&over), g->tests,
        g->tests == 1 ? "" : "s", shared ? " Variances are shared between rows (Smyth's prior)." : "",
        g->judged.n_conditions ? " Each row is compared with base under its condition; conditions share no variances."
                               : "",
        crossed && crossed < tests ? " Rows without per-sentence statistics of the same sentences: over seeds only."
                                   : "");
}

/* Names rows without p because some of their runs failed, and rows added after the first result. */
static void footnote_left_out(const gathered *g, grid *t)
{
    CLEANUP(str_free) str failed = {0}, late = {0}, of_base = {0};
    size_t last = NO_ROW, added = 0; /* last: base reported last; rows with one base are adjacent */
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const comparison *c = &g->rows[i].against[g->headline];
        const char *name = g->rows[i].row->name;
        if (g->rows[i].row->same_as || g->rows[i].base == i) continue;
        added = c->late_base > added ? c->late_base : added;
        if (c->failed_base && g->rows[i].base != last) {
            last = g->rows[i].base;
            const read_row *base = g->rows[last].row;
            str_addf(&of_base, "%sall rows, for %s (%zu)", of_base.n ? ", " : "", base->is_base ? "base" : base->name,
                     c->failed_base);
        }
        if (c->failed && !isnan(c->delta)) str_addf(&failed, "%s%s (%zu)", failed.n ? ", " : "", name, c->failed);
        if (c->exploratory && !isnan(c->delta)) str_addf(&late, "%s%s", late.n ? ", " : "", name);
    }
    if (of_base.n) str_addf(&failed, "%s%s", failed.n ? ", " : "", of_base.s);
    if (failed.n)
        grid_footnote(t,
                      "No interval, p or verdict where runs failed or diverged: %s. The runs that are left are a "
                      "selection; `failed_as` in [criterion] gives failed runs a value.",
                      failed.s);
    if (added)
        grid_footnote(t,
                      "Base got %zu further seed%s after the first results: base's mean includes them; differences, "
                      "intervals, p and verdicts do not.",
                      added, added == 1 ? "" : "s");
    if (!isnan(g->judged.criterion.failed_as))
        grid_footnote(t, "Failed and diverged runs count as %g in differences, intervals and p.",
                      g->judged.criterion.failed_as);
    if (late.n)
        grid_footnote(t, "Exploratory, added after the experiment's first result, so without Holm's p and verdict: %s.",
                      late.s);
}

enum { DEALS = 1000, LEAST_DEALT = 12 };

/* For rows with many seeds, prints how often random groups of seeds differ: two of the row (A/A), or one of base. */
static void footnote_dealt(const gathered *g, grid *t)
{
    const metric *metric = &g->facts[g->headline];
    for (size_t i = 0; i < g->x.n_rows && g->full; i++) {
        const gathered_row *row = &g->rows[i], *base = row->base == NO_ROW ? NULL : &g->rows[row->base];
        CLEANUP(str_free) str s = {0};
        if (row->row->same_as || row->of[g->headline].n < LEAST_DEALT) continue;
        for (size_t k = 0; k < N_LOOKS; k++) {
            double alike = dealt_rejections(row->row, row->row, metric, look_seeds[k], DEALS, 0.05, STATS_SEED);
            double apart = row == base || !base
                               ? NAN
                               : dealt_rejections(row->row, base->row, metric, look_seeds[k], DEALS, 0.05, STATS_SEED);
            if (isnan(alike) && isnan(apart)) continue;
            str_addf(&s, "%s%zu against %zu:", s.n ? "; " : "", look_seeds[k], look_seeds[k]);
            if (!isnan(alike)) str_addf(&s, " A/A %.1f %%", 100 * alike);
            if (!isnan(apart)) str_addf(&s, "%s against base %.1f %%", isnan(alike) ? "" : ",", 100 * apart);
        }
        grid_footnote(t,
                      "%s: two groups of seeds drawn %d times (A/A: both from the row's %zu seeds); share of draws "
                      "with p of at most 0.05: %s.",
                      row->row->name, DEALS, row->of[g->headline].n, s.n ? s.s : "too few");
    }
}

/* Names the numbers that are missing because a record left out statistics. */
static void footnote_not_recorded(const gathered *g, grid *t)
{
    size_t left_out = 0, compared = 0;
    bool refused = false;
    CLEANUP(str_free) str rows = {0};
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const comparison *c = &g->rows[i].against[g->headline];
        if ((isnan(c->delta) && !c->left_out) || g->rows[i].row->same_as || g->rows[i].base == i) continue;
        compared++;
        if (!c->left_out) continue;
        left_out++, refused = refused || c->refused;
        str_addf(&rows, "%s%s", rows.n ? ", " : "", g->rows[i].row->name);
    }
    if (left_out)
        grid_footnote(t,
                      "No %sinterval, p or verdict in %s%s%s: they need the metric's statistics per sentence, which "
                      "the record left out (`ablate record --statistics`).",
                      refused ? "Δ, " : "", g->headings[g->headline], left_out < compared ? " for " : "",
                      left_out < compared ? rows.s : "");
}

/* Warns if most runs have their lowest dev perplexity at their last step. Counts runs that report the best step. */
static void footnote_unfinished(const gathered *g, grid *t)
{
    size_t runs = 0, falling = 0;
    for (size_t i = 0; i < g->x.n_rows && !g->foreign; i++)
        for (size_t k = 0; k < g->x.rows[i].n_runs && !g->x.rows[i].same_as; k++) {
            const read_run *run = &g->x.rows[i].runs[k];
            if (run->status != DB_DONE || !run->n_results || run->total_steps <= 0) continue;
            runs++;
            falling += same(run->results[0].how, "best") && run->results[0].step == run->total_steps;
        }
    if (2 * falling > runs)
        grid_footnote(t,
                      "Not trained to the end: the dev perplexity of %zu of %zu runs is lowest at the last step, so it "
                      "still falls. More steps may change the order of the rows.",
                      falling, runs);
}

/* Prints each danger of the data once, with the first row that has it. */
static void footnote_data(const gathered *g, grid *t)
{
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const read_row *row = &g->x.rows[i];
        size_t first = 0;
        while (!same(g->x.rows[first].data_check, row->data_check)) first++;
        if (row->data_check && first == i)
            grid_footnote(t, "Data of %s: %s.", row->is_base ? "base" : row->name, row->data_check);
    }
}

void footnote_statistics(const gathered *g, grid *t)
{
    bool has_delta = false;
    if (g->headline < 0) return;
    footnote_data(g, t);
    for (size_t i = 0; i < g->x.n_rows; i++) has_delta = has_delta || !isnan(g->rows[i].against[g->headline].delta);
    footnote_design(g, t);
    footnote_left_out(g, t);
    footnote_refused(g, t);
    footnote_not_recorded(g, t);
    if (!has_delta && g->x.n_rows > 1 && g->seeds_most) footnote_no_delta(g, t);
    footnote_models(g, t);
    footnote_detectable(g, t);
    footnote_dealt(g, t);
    footnote_unfinished(g, t);
}
