/* columns.c - computes and prints each column of a table; the list at the end has a row per column. */
#include "lab/report/columns.h"
#include "lab/report/cost.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the row ---- */

static const char *label_text(const place *p, arena *a)
{
    const read_row *row = p->row->row;
    return *row->group ? arena_printf(a, "(%s)", row->group) : row->name;
}
static const char *name_text(const place *p, arena *a) { return (void)a, p->row->row->name; }
static const char *group_text(const place *p, arena *a) { return (void)a, p->row->row->group; }
static const char *change_text(const place *p, arena *a) { return (void)a, p->row->row->change; }
static const char *same_as_text(const place *p, arena *a) { return (void)a, p->row->row->same_as; }
static const char *reason_text(const place *p, arena *a) { return (void)a, p->row->why_skipped; }

static const char *state_text(const place *p, arena *a)
{
    (void)a;
    const gathered_row *row = p->row;
    if (row->why_skipped) return "skipped";
    if (row->open || !row->row->n_runs) return row->done ? "partial" : "open";
    if (row->failed) return row->done ? "partial" : "failed";
    return "done";
}

static double seeds_number(const place *p)
{
    size_t most = 0;
    for (size_t m = 0; m < p->g->n_metrics; m++)
        if (p->row->of[m].n > most) most = p->row->of[m].n;
    return (double)most;
}
static double failed_number(const place *p) { return (double)p->row->failed; }
static double open_number(const place *p) { return (double)p->row->open; }
static double changed_number(const place *p) { return p->row->changed ? (double)p->row->changed : NAN; }

/* ---- a metric ---- */

static const measure *measure_at(const place *p) { return &p->row->of[p->i]; }
static double n_number(const place *p) { return (double)measure_at(p)->n; }
static double mean_number(const place *p) { return measure_at(p)->mean; }
static double sd_number(const place *p) { return measure_at(p)->sd; }
static double diverged_number(const place *p) { return (double)measure_at(p)->diverged; }

static void values_json(const place *p, str *out)
{
    const measure *x = measure_at(p);
    str_addc(out, '[');
    for (size_t i = 0; i < x->n; i++) {
        if (i) str_addc(out, ',');
        json_number(out, x->values[i]);
    }
    str_addc(out, ']');
}

static int decimals_for(const gathered *g, size_t metric) /* decimals of a column */
{
    /* if higher is better, the best mean shows whether values are fractions or percentages */
    bool best_is_most = metric_better(&g->facts[metric], 1, 0) > 0;
    double largest = 0, spread = 0;
    int most = 0;
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const measure *m = &g->rows[i].of[metric];
        int d = m->n ? metric_decimals(&g->facts[metric], m->mean) : 0;
        if (d > most) most = d;
        if (m->n) largest = fmax(largest, fabs(m->mean)), spread = fmax(spread, m->sd);
    }
    if (best_is_most && most) most = metric_decimals(&g->facts[metric], largest);
    while (spread > 1e-12 * largest && most < 9 && spread * pow(10, most) < 0.5) most++; /* the largest sd shows */
    return most;
}

/* "5.29", or "1.41e+15" from ten million on */
static const char *number_text(double v, int decimals, arena *a)
{
    return fabs(v) < 1e7 ? arena_printf(a, "%.*f", decimals, v) : arena_printf(a, "%.2e", v);
}

/* "5.29 ± 0.02", or why there is no number; mark: † or ‡, which table.c's notes explain. */
static const char *measure_of(const gathered_row *row, const measure *m, int decimals, const char *mark, arena *a)
{
    const char *sd = m->n > 1 ? arena_printf(a, " ± %s", number_text(m->sd, decimals, a)) : "";
    const char *more = m->diverged ? arena_printf(a, " (%zu diverged)", m->diverged) : "";
    if (row->failed) more = arena_printf(a, "%s (%zu failed)", more, row->failed);
    if (m->n) return arena_printf(a, "%s%s%s%s", number_text(m->mean, decimals, a), sd, mark, more);
    if (m->diverged) return "diverged";
    if (row->why_skipped) return "n/a";
    if (row->failed && !row->open) return "failed";
    return row->open ? "…" : NULL;
}

static const char *measure_text(const place *p, arena *a)
{
    const char *mark = p->row->changed ? p->row->unsound ? "†‡" : "†" : p->row->unsound ? "‡" : "";
    return measure_of(p->row, measure_at(p), decimals_for(p->g, p->i), mark, a);
}

static const char *recorded_text(const place *p, arena *a)
{
    if (!p->row->recorded) return NULL;
    return measure_of(&(gathered_row){0}, &p->row->recorded_of[p->i], decimals_for(p->g, p->i), "", a);
}

/* ---- against base ---- */

static double delta_number(const place *p) { return p->c->delta; }
static double low_number(const place *p) { return p->c->low; }
static double high_number(const place *p) { return p->c->high; }
static double p_number(const place *p) { return p->c->p; }
static double p_equivalent_number(const place *p) { return p->c->p_equivalent; }
static const char *edge_text(const place *p, arena *a) { return (void)a, p->row->edge; }
static double exploratory_number(const place *p) { return p->row->row->exploratory || p->c->exploratory; }
static double c_failed_number(const place *p) { return (double)p->c->failed; }
static double c_failed_base_number(const place *p) { return (double)p->c->failed_base; }
static double p_adjusted_number(const place *p) { return p->c->p_adjusted; }
static double stream_level_number(const place *p) { return p->c->stream_level; }
static double v_number(const place *p) { return p->c->v; }
static double u_number(const place *p) { return p->c->u; }
static double df_number(const place *p) { return p->c->df; }
static double seed_sd_number(const place *p) { return p->c->seed_sd; }
static double detectable_number(const place *p) { return p->c->detectable; }
static double p_models_number(const place *p) { return p->c->p_models; }
static double p_outside_number(const place *p) { return p->c->p_outside; }
static double p_permutation_number(const place *p) { return p->c->p_permutation; }
static double beats_number(const place *p) { return p->c->beats.theta; }
static double beats_low_number(const place *p) { return p->c->beats.low; }
static double beats_high_number(const place *p) { return p->c->beats.high; }
static double c_n_number(const place *p) { return (double)p->c->n; }
static double c_n_base_number(const place *p) { return (double)p->c->n_base; }
static const char *unit_text(const place *p, arena *a)
{
    return (void)a, p->c->percent ? "percent change" : "difference";
}
static const char *rule_text(const place *p, arena *a)
{
    return (void)a, isnan(p->c->p) ? NULL : comparison_rule(p->c);
}
static const char *verdict_text(const place *p, arena *a) { return (void)a, p->c->verdict; }
static const char *refused_text(const place *p, arena *a) { return (void)a, p->c->refused; }

static void against_json(const place *p, str *out)
{
    if (isnan(p->c->delta) && !p->c->refused)
        str_add(out, "null");
    else
        columns_json(p, ONCE, AGAINST, out);
}

static void metrics_json(const place *p, str *out)
{
    str_addc(out, '{');
    for (size_t m = 0; m < p->g->n_metrics; m++) {
        json_key(out, p->g->metrics[m]);
        columns_json(&(place){p->g, p->row, m, &p->row->against[m]}, EACH_METRIC, JSON, out);
    }
    str_addc(out, '}');
}

static int decimals_against(const place *p) { return p->c->percent ? 1 : decimals_for(p->g, (size_t)p->g->headline); }

/* Prints "−20.1", or in percent "+8.2 %". */
static const char *print_delta(const place *p, double v, int digits, arena *a)
{
    return arena_printf(a, "%s%s", gathered_signed(v, decimals_against(p) + digits, a), p->c->percent ? " %" : "");
}

static const char *interval_text(const place *p, arena *a)
{
    const char *none = gathered_no_interval(p->c);
    if (none || isnan(p->c->low) || isnan(p->c->high)) return none;
    int decimals = decimals_against(p);
    return arena_printf(a, "%s .. %s", gathered_signed(p->c->low, decimals, a),
                        gathered_signed(p->c->high, decimals, a));
}

static const char *print_p(const place *p, double v, int digits, arena *a)
{
    (void)p;
    return v < 0.001 ? "<0.001" : arena_printf(a, "%.*f", digits, v);
}

static const char *holm_text(const place *p, arena *a)
{
    if (p->row->row->exploratory || p->c->exploratory) return "exploratory";
    return isnan(p->c->p_adjusted) ? NULL : print_p(p, p->c->p_adjusted, 3, a);
}

static const char *beats_text(const place *p, arena *a)
{
    const superiority *x = &p->c->beats;
    return isnan(x->theta) ? NULL : arena_printf(a, "%.2f .. %.2f", x->low, x->high);
}

static const char *print_fixed(const place *p, double v, int digits, arena *a)
{
    (void)p;
    return arena_printf(a, "%.*f", digits, v);
}

/* Prints a difference in the comparison's unit. */
static const char *print_difference(const place *p, double v, int digits, arena *a)
{
    return arena_printf(a, "%.*f", decimals_against(p) + digits, v);
}

/* Prints a value of the compared scale; logarithms as percent. */
static const char *print_scale(const place *p, double v, int digits, arena *a)
{
    return print_difference(p, p->c->percent ? 100 * v : v, digits, a);
}
static const char *print_root(const place *p, double v, int digits, arena *a)
{
    return print_scale(p, sqrt(v), digits, a);
}

/* ---- cost ---- */

static double parameters_number(const place *p) { return p->row->parameters; }
static double core_minutes_number(const place *p) { return gathered_budget(p->row, "core") / 60; }
static double future_seen_number(const place *p)
{
    double most = NAN;
    for (size_t i = 0; i < p->row->row->n_runs; i++) most = fmax(most, p->row->row->runs[i].future_seen);
    return most;
}
static double peak_memory_number(const place *p)
{
    double most = NAN;
    for (size_t i = 0; i < p->row->row->n_runs; i++) most = fmax(most, p->row->row->runs[i].peak_memory / 1e6);
    return most;
}
static double flops_number(const place *p) { return training_flops(p->row->row); }
static double paper_flops_number(const place *p) { return training_flops_by_formula(p->row->row, p->g->sustained); }

static const char *print_short(const place *p, double v, int digits, arena *a)
{
    (void)p, (void)digits;
    return arena_printf(a, "%.2g", v);
}

static double minutes_number(const place *p) { return gathered_minutes(p->row); }

static const char *print_millions(const place *p, double v, int digits, arena *a)
{
    (void)p;
    double m = v / 1e6;
    if (m < 0.01) return arena_printf(a, "%.2g", m);
    return arena_printf(a, "%.*f", m < 10 ? digits : digits - 1, m);
}

/* Prints "3.3e18", in the paper's notation. */
static const char *print_flops(const place *p, double v, int digits, arena *a)
{
    (void)p;
    if (!(v > 0)) return "";
    char text[32];
    snprintf(text, sizeof text, "%.*e", digits, v);
    size_t mantissa = strcspn(text, "e");
    return arena_printf(a, "%.*se%ld", (int)mantissa, text, strtol(text + mantissa + 1, NULL, 10));
}

/* ---- when a column is shown ---- */

static bool has_settings(const gathered *g) { return g->has_paper && !published_comes_first(g); }
static bool no_settings(const gathered *g) { return !has_settings(g); }

static bool any_row(const gathered *g, double (*number)(const place *))
{
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const gathered_row *row = &g->rows[i];
        place p = {g, row, 0, g->headline < 0 ? &comparison_none : &row->against[g->headline]};
        if (!isnan(number(&p))) return true;
    }
    return false;
}
static bool has_delta(const gathered *g) { return any_row(g, delta_number); }
static bool has_p(const gathered *g) { return any_row(g, p_number); }
static double only_exploratory(const place *p) { return exploratory_number(p) > 0 ? 1 : NAN; }
static bool has_holm(const gathered *g) { return has_p(g) || any_row(g, only_exploratory); }
static bool has_parameters(const gathered *g) { return any_row(g, parameters_number); }
static bool full(const gathered *g) { return g->full && has_delta(g); }
static bool on_page(const gathered *g) { return g->page && any_row(g, minutes_number); }
static bool has_core_minutes(const gathered *g) { return g->full && any_row(g, core_minutes_number); }
static bool has_peak_memory(const gathered *g) { return g->full && any_row(g, peak_memory_number); }
static double if_future_seen(const place *p) { return future_seen_number(p) > 0 ? 1 : NAN; }
static bool sees_future(const gathered *g) { return any_row(g, if_future_seen); }
/* if the table tests designs, only `full` shows the test of models */
static bool has_p_models(const gathered *g)
{
    return full(g) || (!g->full && !has_p(g) && any_row(g, p_models_number));
}

static bool has_verdict(const gathered *g)
{
    for (size_t i = 0; i < g->x.n_rows && g->headline >= 0; i++)
        if (g->rows[i].against[g->headline].verdict) return true;
    return false;
}

bool published_costs(const gathered *g)
{
    for (size_t k = 0; g->has_paper && k < g->paper.n_columns; k++)
        if (has_prefix(g->paper.columns[k], "FLOPs")) return true;
    return false;
}

static bool has_flops(const gathered *g) { return published_costs(g) || (g->full && any_row(g, flops_number)); }

/* ---- the list ---- */

/* clang-format off: a table. Name in CSV and JSON, heading for readers, unit, tables that have it, ... */
const column columns[] = {
    /* the row */
    {"row", "row", "", OWN | CSV, ONCE, "the row's group in parentheses, or its name", .text = label_text,
     .left = true},
    {"name", NULL, "", CSV | JSON, ONCE, "the row's name", .text = name_text, .left = true},
    {"group", NULL, "", JSON, ONCE, "the INI's section that made the row and other rows", .text = group_text},
    {"setting", "%s", "", OWN, EACH_SETTING, "a setting of the paper's Table 3; blank where base has the same value",
     .text = setting_text, .shown = has_settings},
    {"other", "other", "", OWN, ONCE, "other settings that the row changes", .text = other_text, .shown = has_settings,
     .left = true},
    {"change", "change", "", OWN | CSV | JSON, ONCE, "the settings that the row changes", .text = change_text,
     .shown = no_settings, .left = true},
    {"same_as", NULL, "", JSON, ONCE, "the row whose runs are shown here again, or null", .text = same_as_text},
    {"state", NULL, "", CSV | JSON, ONCE, "done, partial, open, failed or skipped", .text = state_text, .left = true},
    {"reason", NULL, "", JSON | IF_ANY, ONCE, "why the row is skipped", .text = reason_text},
    {"plugin_changed", NULL, "runs", JSON | IF_ANY, ONCE, "done runs with a plugin that has changed since",
     .number = changed_number},
    {"at_edge", NULL, "", JSON | IF_ANY, ONCE, "keys whose best value is the lowest or highest tried",
     .text = edge_text},
    {"n", "n", "runs", READERS | CSV | JSON, ONCE, "runs with a value; the largest number of all metrics",
     .number = seeds_number, .print = print_fixed},
    {"failed", NULL, "runs", CSV | JSON, ONCE, "failed runs", .number = failed_number},
    {"open", NULL, "runs", JSON, ONCE, "runs that are queued, running or were killed", .number = open_number},
    /* each metric */
    {"metrics", NULL, "", JSON, ONCE, "an object for each metric", .json = metrics_json},
    {"n", NULL, "runs", JSON, EACH_METRIC, "runs with a number", .number = n_number},
    {"mean", "%s", NULL, READERS | CSV | JSON, EACH_METRIC,
     "mean over runs; with the standard deviation in text, md and latex", .number = mean_number, .text = measure_text},
    {"sd", NULL, NULL, CSV | JSON, EACH_METRIC, "sample standard deviation over runs", .number = sd_number},
    {"diverged", NULL, "runs", CSV | JSON, EACH_METRIC, "runs whose number is not finite", .number = diverged_number},
    {"values", NULL, NULL, JSON, EACH_METRIC, "the runs' numbers, by seed", .json = values_json},
    {"against_base", NULL, "", JSON, EACH_METRIC, "the comparison with base in this metric, or null",
     .json = against_json},
    /* against base */
    {"n", NULL, "runs", AGAINST, ONCE, "the row's runs in the comparison", .number = c_n_number},
    {"n_base", NULL, "runs", AGAINST, ONCE, "base's runs in the comparison", .number = c_n_base_number},
    {"unit", NULL, "", AGAINST, ONCE, "unit of delta, low, high and least_detectable: percent change or difference",
     .text = unit_text},
    {"rule", NULL, "", AGAINST, ONCE, "how the interval is computed", .text = rule_text},
    {"refused", NULL, "", AGAINST, ONCE, "why there is no comparison, or null", .text = refused_text},
    {"delta", "Δ %s", "unit", READERS | CSV | JSON | AGAINST, ONCE, "the row's mean less base's",
     .number = delta_number, .print = print_delta, .shown = has_delta},
    {"interval", "95 % interval", "unit", READERS, ONCE, "95 % interval of the difference of the designs",
     .text = interval_text, .shown = has_p},
    {"low", NULL, "unit", CSV | JSON | AGAINST, ONCE, "lower end of the 95 % interval", .number = low_number},
    {"high", NULL, "unit", CSV | JSON | AGAINST, ONCE, "upper end of the 95 % interval", .number = high_number},
    {"p", NULL, "", AGAINST, ONCE, "p of the difference of the designs, for this row alone", .number = p_number},
    {"p_adjusted", NULL, "", AGAINST, ONCE, "p after Holm over the planned rows", .number = p_adjusted_number},
    {"p_equivalent", NULL, "", AGAINST, ONCE,
     "p of equivalence within the criterion's margin, corrected for repeated looks and several rows (Holm)",
     .number = p_equivalent_number},
    {"failed", NULL, "runs", AGAINST, ONCE, "the row's failed and diverged runs without a value",
     .number = c_failed_number},
    {"failed_base", NULL, "runs", AGAINST, ONCE, "base's failed and diverged runs without a value",
     .number = c_failed_base_number},
    {"p", "p", "", READERS | CSV | JSON, ONCE,
     "p of the difference of the designs; below 0.05 if the interval excludes 0", .number = p_number, .print = print_p,
     .digits = 3, .shown = has_p},
    {"p_holm", "p Holm", "", READERS | CSV | JSON, ONCE, "p after Holm over the planned rows, or \"exploratory\"",
     .number = p_adjusted_number, .text = holm_text, .print = print_p, .digits = 3, .shown = has_holm},
    {"exploratory", NULL, "", CSV | JSON | AGAINST, ONCE,
     "1 for a row added after the experiment's first result, else 0", .number = exploratory_number},
    {"verdict", "verdict", "", READERS | AGAINST, ONCE,
     "by the criterion: better, worse, equivalent, undecided or exploratory", .text = verdict_text,
     .shown = has_verdict, .left = true},
    {"stream_level", "level in stream", "", READERS | AGAINST, ONCE,
     "the level that p is compared with if rows are added without a fixed end (ablate gate)",
     .number = stream_level_number, .print = print_short, .shown = full},
    {"p_models", "p models", "", READERS | CSV | JSON | AGAINST, ONCE,
     "p of a test over sentences, about these models only, after Holm", .number = p_models_number, .print = print_p,
     .digits = 3, .shown = has_p_models},
    {"p_outside_base", "p outside", "", READERS | AGAINST, ONCE,
     "p of the row's single run as a draw from the distribution of base's seeds", .number = p_outside_number,
     .print = print_p, .digits = 3, .shown = full},
    {"p_permutation", "p permutation", "", READERS | AGAINST, ONCE, "exact p over seeds",
     .number = p_permutation_number, .print = print_p, .digits = 3, .shown = full},
    {"beats_base", "P(A > B)", "", READERS | AGAINST, ONCE, "probability that a run of the row beats a run of base",
     .number = beats_number, .print = print_fixed, .digits = 2, .shown = full},
    {"beats_interval", "95 % of P", "", READERS, ONCE, "95 % interval of P(A > B)", .text = beats_text, .shown = full},
    {"beats_base_low", NULL, "", AGAINST, ONCE, "lower end of the 95 % interval of beats_base",
     .number = beats_low_number},
    {"beats_base_high", NULL, "", AGAINST, ONCE, "upper end of the 95 % interval of beats_base",
     .number = beats_high_number},
    {"seed_sd", "sd of seeds", "scale", READERS | AGAINST, ONCE,
     "standard deviation over seeds, without the part that sentences cause", .number = seed_sd_number,
     .print = print_scale, .digits = 1, .shown = full},
    {"variance_seeds", "√V", "scale²", READERS | AGAINST, ONCE, "variance that seeds cause in the difference",
     .number = v_number, .print = print_root, .digits = 1, .shown = full},
    {"variance_sentences", "√U", "scale²", READERS | AGAINST, ONCE, "variance that sentences cause in the difference",
     .number = u_number, .print = print_root, .digits = 1, .shown = full},
    {"df", NULL, "", AGAINST, ONCE, "degrees of freedom of the variance of seeds", .number = df_number},
    {"least_detectable", "detectable", "unit", READERS | AGAINST, ONCE,
     "smallest difference that these seeds detect four times in five", .number = detectable_number,
     .print = print_difference, .digits = 1, .shown = full},
    /* cost, and the published row */
    {"params", "params (M)", "", READERS | CSV | JSON, ONCE, "parameters; in millions in text, md and latex",
     .number = parameters_number, .print = print_millions, .digits = 2, .shown = has_parameters},
    {"verdict", NULL, "", CSV, ONCE, "the verdict by the criterion", .text = verdict_text},
    {"minutes", "minutes", "minutes", READERS, ONCE,
     "time of the row's shortest run, which other work delayed least; shown on pages", .number = minutes_number,
     .print = print_fixed, .digits = 1, .shown = on_page},
    {"core_minutes", "core minutes", "minutes", READERS | CSV | JSON | IF_ANY, ONCE,
     "mean processor time of a run, over all its attempts and threads; with several ranks, the first rank's",
     .number = core_minutes_number, .print = print_fixed, .digits = 1, .shown = has_core_minutes},
    {"future_seen", "future seen", "", READERS | CSV | JSON | IF_ANY, ONCE,
     "largest relative change that later tokens cause in an earlier loss; above 0 the trained model sees the future",
     .number = future_seen_number, .print = print_short, .shown = sees_future},
    {"flops", "FLOPs counted", "FLOPs", READERS | CSV | JSON | IF_ANY, ONCE,
     "operations counted in a traced update, times the number of updates", .number = flops_number, .print = print_flops,
     .digits = 1, .shown = has_flops},
    {"peak_memory", "memory", "MB", READERS | CSV | JSON | IF_ANY, ONCE,
     "peak host memory of a run's process, the largest of its runs; without the GPU's memory",
     .number = peak_memory_number, .print = print_fixed, .shown = has_peak_memory},
    {"flops_by_time", "FLOPs by the paper's formula", "FLOPs", READERS, ONCE, "training time x sustained rate",
     .number = paper_flops_number, .print = print_flops, .digits = 1, .shown = published_costs},
    {"recorded", "recorded %s", NULL, READERS, EACH_RECORDED, "mean over the recorded runs of the row",
     .text = recorded_text},
    {"paper_%s", "paper %s", "", READERS | CSV, EACH_PUBLISHED, "the paper's figure", .text = published_cell},
    {"published", NULL, "", JSON | IF_ANY, ONCE, "the paper's row, an object, or null", .json = published_json},
    {0},
};
/* clang-format on */
