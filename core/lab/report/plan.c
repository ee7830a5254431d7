#include "lab/report/plan.h"
#include "lab/config/spec.h"
#include "text/metric/stats.h"
#include <math.h>
#include <strings.h>

/* Estimates from existing runs: pooled over rows, on the compared scale. */
typedef struct {
    double sd, u;      /* sd: over seeds; u: variance of a comparison over sentences (median), 0: unknown */
    size_t rows, runs; /* rows with two seeds or more, and their runs */
    double seconds;    /* duration of a run; NaN: unknown */
    size_t timed;
    bool left_out; /* u is unknown, because a record left out the statistics */
} known;

/* Returns what more seeds do not reduce, as a variance of sentences that gives an equal 95 % interval; or NaN. */
static double fixed_part(const comparison *c)
{
    double half = howe_half_width(0, 1, c->u, c->choice, 0.05) / howe_half_width(0, 1, 1, 0, 0.05);
    return half * half;
}

static known estimate(const gathered *g, size_t metric, bool percent)
{
    known k = {.sd = NAN, .seconds = NAN};
    double squares = 0, df = 0, seconds = 0;
    for (size_t i = 0; g && i < g->x.n_rows; i++) {
        const measure *m = &g->rows[i].of[metric];
        if (g->rows[i].row->same_as) continue;
        double mean = 0;
        for (size_t s = 0; s < m->n; s++) mean += (percent ? log(m->values[s]) : m->values[s]) / (double)m->n;
        for (size_t s = 0; m->n > 1 && s < m->n; s++) {
            double d = (percent ? log(m->values[s]) : m->values[s]) - mean;
            squares += d * d;
        }
        if (m->n > 1) df += (double)(m->n - 1), k.rows++, k.runs += m->n;
        double own = gathered_budget(&g->rows[i], "wall");
        if (!isnan(own)) seconds += own, k.timed++;
    }
    if (df > 0) k.sd = sqrt(squares / df), k.u = fmax(0, gathered_median(g, metric, fixed_part));
    for (size_t i = 0; g && i < g->x.n_rows && !(k.u > 0); i++)
        k.left_out = k.left_out || g->rows[i].against[metric].left_out;
    if (k.timed) k.seconds = seconds / (double)k.timed;
    return k;
}

static void print_cost(str *out, size_t runs, double seconds)
{
    str_addf(out, "%zu runs", runs);
    if (isnan(seconds)) return;
    double all = (double)runs * seconds;
    if (all < 5400)
        str_addf(out, ", %.0f min", ceil(all / 60));
    else
        str_addf(out, ", %.1f h", all / 3600);
}

static void print_needed(const plan_task *t, const known *k, double effect, double alpha, const char *what, str *out)
{
    size_t n = seeds_needed(effect, k->sd, k->sd, k->u, alpha, 0.8);
    str_addf(out, "%s: ", what);
    if (!n) {
        double floor = least_detectable_floor(k->u, alpha, 0.8);
        if (floor < effect) {
            str_add(out, "more than 10,000 seeds per row\n");
            return;
        }
        str_addf(out,
                 "no number of seeds is enough: sentence variance alone hides the difference (%.1f times as many "
                 "sentences are needed)\n",
                 ceil(10 * floor * floor / (effect * effect)) / 10);
        return;
    }
    str_addf(out, "%zu seeds per row: ", n);
    print_cost(out, n * (t->rows + t->bases), k->seconds);
    str_addc(out, '\n');
}

static void print_power(const plan_task *t, const known *k, double effect, size_t n, size_t n0, str *out)
{
    str_addf(out, "%13zu   %7zu   %12.0f %%   %22.0f %%   ", n, n0,
             100 * power_of(effect, k->sd, k->sd, n, n0, k->u, 0.05),
             100 * power_of(effect, k->sd, k->sd, n, n0, k->u, 0.05 / (double)(t->rows ? t->rows : 1)));
    print_cost(out, n * t->rows + n0 * t->bases, k->seconds);
    str_addc(out, '\n');
}

int plan_print(const plan_task *t, str *out, err *e)
{
    const gathered *g = t->runs;
    size_t metric = g && t->metric ? metric_named(g->metrics, g->n_metrics, t->metric) : 0;
    if (g && !t->metric && g->headline >= 0) metric = (size_t)g->headline;
    bool has = g && metric < g->n_metrics;
    if (g && g->n_metrics && !has) {
        return fail(e, "%s has no metric \"%s\"%s", g->x.name, t->metric,
                    suggestion(t->metric, g->metrics, g->n_metrics, ""));
    }
    const char *name = t->metric ? t->metric : has ? g->metrics[metric] : "the metric";
    /* without runs, the name decides: perplexity is compared in percent */
    bool percent = has ? metric_in_percent(&g->facts[metric]) : !strcasecmp(name, metric_perplexity.name);
    known k = estimate(has ? g : NULL, metric, percent);
    if (!isnan(t->sd)) k.sd = percent ? log1p(t->sd / 100) : t->sd;
    if (isnan(k.sd))
        return fail(e,
                    "found no standard deviation over seeds for %s: run two seeds, name a similar experiment (--like "
                    "NAME), or give a value (--sd X)",
                    t->experiment);
    double effect = percent ? log1p(t->effect / 100) : t->effect, shown_sd = percent ? 100 * expm1(k.sd) : k.sd;
    const char *unit = percent ? " %" : "";
    str_addf(out, "%s: %zu row%s against base, to detect a difference of %g%s %s at 5 %% with power 80 %%\n",
             t->experiment, t->rows, t->rows == 1 ? "" : "s", t->effect, unit, name);
    if (isnan(t->sd))
        str_addf(out, "standard deviation over seeds %.3g%s, from %zu runs of %zu row%s of %s", shown_sd, unit, k.runs,
                 k.rows, k.rows == 1 ? "" : "s", g->x.name);
    else
        str_addf(out, "standard deviation over seeds %.3g%s, as given", shown_sd, unit);
    str_add(out, "; standard deviation that more seeds do not reduce (from sentences and choices of searches): ");
    if (k.left_out)
        str_add(out, "unknown, taken as 0, so the power shown is too high: the record left out the statistics per "
                     "sentence (`ablate record --statistics`)\n");
    else
        str_addf(out, "%.3g\n", percent ? 100 * sqrt(k.u) : sqrt(k.u));
    if (!isnan(k.seconds)) str_addf(out, "a run took %.0f s on average, one at a time\n", k.seconds);
    str_addc(out, '\n');
    print_needed(t, &k, effect, 0.05, "one row", out);
    if (t->rows > 1) print_needed(t, &k, effect, 0.05 / (double)t->rows, "over all rows (Holm's first step)", out);
    str_add(out, "\nseeds per row   of base   power, one row   power, Holm's first step   cost\n");
    for (size_t i = 0; i < N_LOOKS; i++) {
        size_t n = look_seeds[i], more = spec_base_auto(n, t->bases ? t->rows / t->bases : 0);
        print_power(t, &k, effect, n, n, out);
        if (more > n) print_power(t, &k, effect, n, more, out);
    }
    if (t->of_base > t->seeds) str_add(out, "as planned:\n"), print_power(t, &k, effect, t->seeds, t->of_base, out);
    str_addf(out,
             "\nseeds = 1..5, base = auto    gives base sqrt(rows) times a row's seeds, the second line of each pair\n"
             "seeds = until %g %s, at most 20    adds seeds only to undecided rows\n",
             t->effect, name);
    return 0;
}
