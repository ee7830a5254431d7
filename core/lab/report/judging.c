/* judging.c - notes on a table's design and analysis: criterion and verdicts, looks, matched budgets, searches. */
#include "lab/report/layout.h"
#include "base/cleanup.h"
#include <cjson/cJSON.h>
#include <math.h>

/* ---- criterion ---- */

static void footnote_verdicts(const gathered *g, grid *t)
{
    const comparison_criterion *k = &g->judged.criterion;
    if (!k->given || g->headline < 0) return;
    const char *name = *k->metric ? k->metric : g->metrics[g->headline];
    size_t shown = 0, full = 0, equivalent = 0;
    while (shown < g->n_metrics && !same(g->metrics[shown], name)) shown++;
    if (shown == g->n_metrics) return; /* the table has other metrics only */
    const char *metric = g->headings[shown];
    const char *unit = metric_in_percent(&g->facts[shown]) ? "%" : metric;
    CLEANUP(str_free) str margin = {0};
    if (k->margin > 0 && k->one_sided)
        str_addf(&margin, "; not worse: at most %g %s worse, by a one-sided test", k->margin, unit);
    else if (k->margin > 0)
        str_addf(&margin, "; equivalent: within ± %g %s by two one-sided tests", k->margin, unit);
    grid_footnote(t, "Criterion: %s, level %g after Holm, %zu or more seeds per row%s, not counting seeds of searches.",
                  metric, k->level, k->seeds, str_text(&margin));
    if (g->judged.until.most)
        grid_footnote(t,
                      "Rows that were undecided at a look (3, 5, 10 seeds) got more, up to %zu; p accounts for all "
                      "looks (weights 0.05, 0.15, 0.30, 0.50), with a target effect of %g %s.",
                      (size_t)g->judged.until.most, g->judged.until.effect, unit);
    for (size_t i = 0; i < g->x.n_rows; i++) {
        bool is = same(g->rows[i].against[shown].verdict, "equivalent");
        equivalent += is, full += is && same(g->facts[shown].unit, "%") && g->rows[i].of[shown].mean >= 99.95;
    }
    if (full)
        grid_footnote(t, "%zu of %zu equivalent rows are at 100 %%, the ceiling, where no difference can be seen.",
                      full, equivalent);
    for (size_t i = 0; i < g->n_old; i++)
        grid_footnote(t,
                      "Base has changed since the verdict on %s was stored (base was %.12s): `ablate run` judges anew.",
                      g->old_verdicts[i].key, g->old_verdicts[i].value);
}

/* ---- runs of other programs ---- */

void footnote_foreign(const gathered *g, grid *t)
{
    if (!g->foreign) return;
    grid_footnote(t, "Imported from %s: another program trained these runs; ablate knows only the files.",
                  g->judged.imported ? g->judged.imported : "");
    for (size_t i = 0; i < g->judged.warnings.n; i++) grid_footnote(t, "%s", g->judged.warnings.at[i]);
}

/* ---- matched budgets ---- */

/* Prints each row's remaining difference from base in the matched budget, from recorded values. */
static void footnote_match(const gathered *g, grid *t)
{
    const gathered_row *base = gathered_base(g);
    const char *by = g->judged.match;
    if (!*by || !base) return;
    CLEANUP(str_free) str s = {0};
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const gathered_row *row = &g->rows[i];
        double own = gathered_budget(row, by), of_base = gathered_budget(base, by);
        if (row == base || row->row->same_as || isnan(own) || isnan(of_base)) continue;
        str_addf(&s, "%s%s %+.1f %%", s.n ? ", " : "", row->row->name, 100 * (own / of_base - 1));
    }
    grid_footnote(t, "Matched to base by %s, solving for %s%s%s.", by, g->judged.match_key,
                  s.n ? "; remaining difference: " : "", str_text(&s));
}

void footnote_judging(const gathered *g, grid *t)
{
    footnote_verdicts(g, t);
    footnote_match(g, t);
}

/* ---- searches ---- */

static size_t candidates_of(const gathered *g, const char *row)
{
    int64_t most = 0; /* trials are numbered from 1 */
    for (size_t i = 0; i < g->n_trials; i++)
        if (same(g->trials_made[i].row, row) && g->trials_made[i].n > most) most = g->trials_made[i].n;
    return (size_t)most;
}

/* Writes {"lr":0.001} as lr = 0.001. */
static void add_assignments(const char *json, str *out)
{
    cJSON *all = cJSON_Parse(json);
    const cJSON *one;
    char number[32];
    cJSON_ArrayForEach(one, all) str_addf(out, "%s%s = %s", one == all->child ? "" : ", ", one->string,
                                          cJSON_IsNumber(one) ? format_real(one->valuedouble, number)
                                          : one->valuestring  ? one->valuestring
                                                              : "");
    cJSON_Delete(all);
}

void footnote_tuning(const gathered *g, grid *t)
{
    double seconds = 0, flops = 0;
    size_t least = SIZE_MAX, most = 0;
    if (!g->n_trials || g->foreign) return; /* footnote_foreign reports searches of other programs */
    CLEANUP(str_free) str s = {0}, fewest = {0}, open = {0};
    for (size_t i = 0; i < g->n_trials; i++) {
        const db_trial *x = &g->trials_made[i];
        seconds += isnan(x->seconds) ? 0 : x->seconds, flops += isnan(x->flops) ? 0 : x->flops;
        if (!same(x->outcome, "chosen") || x->seed != g->trials_made[0].seed) continue;
        str_addf(&s, "%s%s: ", s.n ? "; " : "", x->row);
        add_assignments(x->settings, &s);
        str_addf(&s, " of %zu", candidates_of(g, x->row));
    }
    for (size_t i = 0; i < g->x.n_rows; i++) {
        if (g->rows[i].row->same_as) continue;
        size_t n = candidates_of(g, g->rows[i].row->name);
        if (n < least) str_clear(&fewest), str_add(&fewest, g->rows[i].row->name), least = n;
        if (n > most) most = n;
    }
    for (size_t i = 0; i < g->x.n_rows && g->headline >= 0; i++) {
        const comparison *c = &g->rows[i].against[g->headline];
        if (g->rows[i].row->same_as || !(c->choice > c->v)) continue;
        str_addf(&open, "%s%s", open.n ? ", " : "; this noise exceeds the noise of seeds in: ", g->rows[i].row->name);
    }
    grid_footnote(t,
                  "Tuned on the dev set's %s with separate seeds, by successive halving: %s candidates. %zu trials, "
                  "%.0f s, %.2g floating-point operations; trials enter no mean (table `trial`). Intervals and p allow "
                  "for the noise of the choice (docs/statistics.md)%s.",
                  g->trials_made[0].metric, s.n ? s.s : "none chosen", g->n_trials, seconds, flops, str_text(&open));
    str_clear(&s);
    for (size_t i = 0; i < g->x.n_rows; i++)
        if (g->rows[i].edge) str_addf(&s, "%s%s (%s)", s.n ? "; " : "", g->rows[i].row->name, g->rows[i].edge);
    if (s.n)
        grid_footnote(
            t, "Best value at an end of the range; a better one may lie beyond: %s. `extend` in `tune` searches on.",
            s.s);
    if (least != most)
        grid_footnote(t,
                      "Rows were tuned unequally: %s with %zu candidates, others with up to %zu. A difference may come "
                      "from the search.",
                      str_text(&fewest), least, most);
}
