/* referee.c - warns of faults that a referee would find in imported runs, as far as the files show them. Warnings are
 * stored with the experiment; the table and the page print them. report/notes.c warns of single seeds and undetectable
 * differences in any experiment. */
#include "lab/foreign/foreign.h"
#include <math.h>

static const char *headline_of(const foreign *f) { return f->metrics.at[f->headline]; }

/* Warns if runs have unlike numbers of evaluations, or if last and best evaluations differ in a Δ's sign. */
static void ask_evaluation(foreign *f, const foreign_options *o)
{
    size_t curves = 0, least = SIZE_MAX, most = 0;
    const char *metric = headline_of(f);
    for (size_t i = 0; i < f->n_outcomes; i++) {
        const outcome *x = &f->outcomes[i];
        if (x->metric != f->headline || x->n_points < 2) continue;
        curves++;
        if (x->n_points < least) least = x->n_points;
        if (x->n_points > most) most = x->n_points;
    }
    if (!curves || !f->direction[f->headline]) return;
    if (least != most)
        foreign_warn(f, "Runs have between %zu and %zu evaluations of %s%s.", least, most, metric,
                     o->best ? ": with more evaluations, the best one is better by chance alone" : "");
    CLEANUP(str_free) str turned = {0};
    double last0 = foreign_mean(f, f->base, LAST), best0 = foreign_mean(f, f->base, BEST);
    for (size_t r = 0; r < f->rows.n; r++) {
        double last = foreign_mean(f, r, LAST) - last0, best = foreign_mean(f, r, BEST) - best0;
        if (r != f->base && last * best < 0) str_addf(&turned, "%s%s", turned.n ? ", " : "", f->rows.at[r]);
    }
    if (o->best || turned.n)
        foreign_warn(f,
                     "%s is each run's %s evaluation%s. With each run's %s evaluation, base has %.4g, not %.4g; the "
                     "sign of Δ changes for: %s.",
                     metric, o->best ? "best" : "last", o->best ? ", chosen by the score that is reported" : "",
                     o->best ? "last" : "best", o->best ? last0 : best0, o->best ? best0 : last0,
                     turned.n ? turned.s : "no row");
}

static void ask_length(foreign *f)
{
    int64_t least = INT64_MAX, most = -1;
    const char *shortest = "", *longest = "";
    for (size_t i = 0; i < f->n_outcomes; i++) {
        const outcome *x = &f->outcomes[i];
        if (x->metric != f->headline || !x->n_points) continue;
        int64_t end = x->points[x->n_points - 1].step;
        if (end < least) least = end, shortest = f->rows.at[x->row];
        if (end > most) most = end, longest = f->rows.at[x->row];
    }
    if (most > least)
        foreign_warn(f, "Runs differ in length: %s ends at step %lld, %s at %lld.", shortest, (long long)least, longest,
                     (long long)most);
}

/* Warns of rows that differ from base in several settings: such a row does not show which setting matters. */
static void ask_settings(foreign *f)
{
    CLEANUP(str_free) str list = {0};
    size_t rows = 0;
    for (size_t r = 0; r < f->rows.n; r++) {
        size_t n = 0;
        for (size_t i = 0; i < f->columns.n_settings; i++)
            n +=
                !same(foreign_setting(f, r, f->columns.setting[i]), foreign_setting(f, f->base, f->columns.setting[i]));
        if (n < 2) continue;
        rows++;
        if (rows <= 5) str_addf(&list, "%s%s (%zu)", list.n ? ", " : "", f->rows.at[r], n);
    }
    if (rows)
        foreign_warn(f, "%zu row%s %s from base in more than one setting: %s%s.", rows, rows == 1 ? "" : "s",
                     rows == 1 ? "differs" : "differ", list.s, rows > 5 ? " ..." : "");
}

/* Names rows with a failed run. Such a row gets no verdict, because only its better runs have a score. */
static void ask_failed(foreign *f, const foreign_options *o)
{
    CLEANUP(str_free) str list = {0};
    size_t failed = 0, row = SIZE_MAX;
    for (size_t i = 0; i < f->n_outcomes; i++) {
        const outcome *x = &f->outcomes[i];
        if (x->metric != f->headline || isfinite(x->value)) continue;
        failed++;
        if (x->row != row) str_addf(&list, "%s%s", list.n ? ", " : "", f->rows.at[x->row]);
        row = x->row;
    }
    if (failed)
        foreign_warn(f, "%zu run%s without %s or did not end as planned; %s: %s.", failed,
                     failed == 1 ? " is" : "s are", headline_of(f),
                     o->failed_as ? "scored by --failed-as" : "no verdict without --failed-as", list.s);
}

void foreign_referee(foreign *f, const foreign_options *o)
{
    ask_failed(f, o);
    ask_evaluation(f, o);
    ask_length(f);
    ask_settings(f);
}
