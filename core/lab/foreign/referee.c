/* referee.c - warns of faults that a referee would find in imported runs, as far as the files show them. Warnings are
 * stored with the experiment; the table and the page print them. report/notes.c warns of single seeds and undetectable
 * differences in any experiment. */
#include "lab/foreign/foreign.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *headline_of(const foreign *f) { return f->metrics.at[f->headline]; }

static bool is_shown(const foreign *f, const outcome *o)
{
    return o->metric == f->headline && f->chosen[o->row] == o->config;
}

/* Warns about last and best evaluations: each run's best is optimistic, more so with more evaluations. */
static void ask_evaluation(foreign *f, const foreign_options *o)
{
    size_t curves = 0, least = SIZE_MAX, most = 0, base_config = f->chosen[f->base];
    const char *metric = headline_of(f);
    for (size_t i = 0; i < f->n_outcomes; i++) {
        const outcome *x = &f->outcomes[i];
        if (!is_shown(f, x) || x->n_points < 2) continue;
        curves++;
        if (x->n_points < least) least = x->n_points;
        if (x->n_points > most) most = x->n_points;
    }
    if (names_best(metric))
        foreign_warn(f,
                     "%s: by its name each run's best evaluation, selected by the reported score; the file lacks the "
                     "last one.",
                     metric);
    if (!curves || !f->direction[f->headline]) return;
    if (least != most)
        foreign_warn(f, "Runs have between %zu and %zu evaluations of %s%s.", least, most, metric,
                     o->best ? ": the best of more is higher by chance alone" : "");
    str turned = {0};
    double last0 = foreign_mean(f, f->base, base_config, f->headline, LAST),
           best0 = foreign_mean(f, f->base, base_config, f->headline, BEST);
    for (size_t r = 0; r < f->rows.n; r++) {
        double last = foreign_mean(f, r, f->chosen[r], f->headline, LAST) - last0,
               best = foreign_mean(f, r, f->chosen[r], f->headline, BEST) - best0;
        if (r != f->base && last * best < 0) str_addf(&turned, "%s%s", turned.n ? ", " : "", f->rows.at[r]);
    }
    if (o->best || turned.n)
        foreign_warn(
            f,
            "%s is each run's %s evaluation%s. With the %s one instead, base has %.4g, not %.4g; the sign of Δ turns "
            "for: %s.",
            metric, o->best ? "best" : "last", o->best ? ", selected by the reported score" : "",
            o->best ? "last" : "best", o->best ? last0 : best0, o->best ? best0 : last0,
            turned.n ? turned.s : "no row");
    str_free(&turned);
}

static void ask_length(foreign *f)
{
    int64_t least = INT64_MAX, most = -1;
    const char *shortest = "", *longest = "";
    for (size_t i = 0; i < f->n_outcomes; i++) {
        const outcome *x = &f->outcomes[i];
        if (!is_shown(f, x) || !x->n_points) continue;
        int64_t end = x->points[x->n_points - 1].step;
        if (end < least) least = end, shortest = f->rows.at[x->row];
        if (end > most) most = end, longest = f->rows.at[x->row];
    }
    if (most > least)
        foreign_warn(f, "Runs differ in length: %s ends at step %lld, %s at %lld.", shortest, (long long)least, longest,
                     (long long)most);
}

/* Warns of rows that differ from base in several settings: they do not show which one matters. */
static void ask_settings(foreign *f)
{
    str list = {0};
    size_t rows = 0;
    for (size_t r = 0; r < f->rows.n; r++) {
        size_t n = 0;
        for (size_t c = 0; c < f->s.columns.n; c++)
            if (r != f->base && f->r.of[c] == ROLE_SETTING && f->chosen[r] != SIZE_MAX &&
                f->chosen[f->base] != SIZE_MAX)
                n += !same(foreign_setting(f, f->chosen[r], c), foreign_setting(f, f->chosen[f->base], c));
        if (n < 2) continue;
        rows++;
        if (rows <= 5) str_addf(&list, "%s%s (%zu)", list.n ? ", " : "", f->rows.at[r], n);
    }
    if (rows)
        foreign_warn(f, "%zu row%s %s from base in more than one setting: %s%s.", rows, rows == 1 ? "" : "s",
                     rows == 1 ? "differs" : "differ", list.s, rows > 5 ? " ..." : "");
    str_free(&list);
}

static void ask_tuning(foreign *f)
{
    size_t *of = arena_alloc(&f->mem, (f->rows.n + 1) * sizeof *of), most = 0, least = SIZE_MAX;
    for (size_t c = 0; c < f->configs.n; c++) of[f->config_row[c]] += foreign_trials(f, c) > 0;
    for (size_t r = 0; r < f->rows.n; r++) {
        if (of[r] > most) most = of[r];
        if (of[r] < least) least = of[r];
    }
    if (most < 2) return;
    foreign_warn(
        f,
        "Rows have %zu to %zu configurations each; the one with the best %s is shown, selected by the reported "
        "score%s.",
        least, most, headline_of(f), least == most ? "" : "; rows with more had more chances");
}

/* Warns of runs that are missing or did not end: a row that fails more often than others looks better than it is. */
static void ask_ends(foreign *f)
{
    static const char *const ends[] = {"finished", "done", "completed", "complete", "success", "succeeded", "ok"};
    bool *used = xcalloc(f->s.n + 1, sizeof *used);
    size_t state = SIZE_MAX, empty = 0, first = 0, cut = 0;
    const char *how = "";
    for (size_t i = 0; i < f->n_seen; i++) used[f->seen[i].record] = true;
    for (size_t c = 0; c < f->s.columns.n; c++)
        if (!strcasecmp(f->s.columns.at[c], "state") || !strcasecmp(f->s.columns.at[c], "status")) state = c;
    for (size_t i = 0; i < f->s.n; i++) {
        if (!used[i] && !empty++) first = i;
        const char *word = used[i] ? sheet_cell(&f->s, i, state) : NULL;
        bool ended = !word;
        for (size_t k = 0; k < LENGTH(ends) && !ended; k++) ended = !strcasecmp(word, ends[k]);
        if (!ended && !cut++) how = word;
    }
    free(used);
    if (empty)
        foreign_warn(f, "%zu record%s no value of any metric and %s left out (the first: %s:%zu).", empty,
                     empty == 1 ? " has" : "s have", empty == 1 ? "is" : "are", f->s.records[first].file,
                     f->s.records[first].line);
    if (cut)
        foreign_warn(f, "%zu record%s of runs that did not end as planned (%s: %s%s).", cut, cut == 1 ? " is" : "s are",
                     f->s.columns.at[state], how, cut > 1 ? ", ..." : "");
}

void foreign_referee(foreign *f, const foreign_options *o)
{
    ask_ends(f);
    ask_evaluation(f, o);
    ask_length(f);
    ask_tuning(f);
    ask_settings(f);
    if (f->seeds_numbered)
        foreign_warn(f, "No column of seeds: a row's results were numbered in the file's order. They may not be "
                        "different seeds.");
}
